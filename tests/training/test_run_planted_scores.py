"""The strategy that trains no network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.config import Config
from plant_plugin.errors import CheckpointError, ConfigError, Interrupted
from plant_plugin.model.predictor import Predictor
from plant_plugin.relevance import ridge
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.training import promises
from plant_plugin.training.run import run
from plant_plugin.training.weights import WITHOUT_NETWORK

Made = Callable[..., Config]
SCORES = {"strategy": "planted_scores", "planted_scores__model": "ridge"}


def log_odds(predictor: Predictor, scores: np.ndarray) -> np.ndarray:
    """The logits that planted scores are without a network."""
    made = predictor.log_odds
    sums = np.float32(WITHOUT_NETWORK) * scores - np.float32(made.offset)
    return np.where(sums > 0, made.slope_above, made.slope_below) * sums + made.at_offset


def texts_of(config: Config) -> list[str]:
    return [line.split("\t")[1] for line in Path(config.test_file).read_text(encoding="utf-8").splitlines()]


def test_its_logits_are_the_linear_scores(made: Made) -> None:
    config = made(**SCORES)
    result = run(config)
    folder = Path(config.checkpoint_dir)
    assert (result["model"], result["strategy"]) == ("PLANT", "planted_scores")
    assert not {"relevance", "stage1", "stage2"} & result["time_s"].keys()
    assert result["metrics"]["P@1"] > 0.9
    assert result["planted_scores"]["weight"] == WITHOUT_NETWORK

    predictor, texts = Predictor.load(folder, device="cpu"), texts_of(config)
    linear = predictor.planted_scores
    assert linear is not None
    expected = log_odds(predictor, linear.scores(texts))
    np.testing.assert_allclose(predictor.logits(texts), expected, atol=1e-5)

    again = run(made(**SCORES, eval=True, checkpoint_path=str(folder), result_dir=str(folder.parent / "again")))
    assert again["metrics"] == pytest.approx(result["metrics"], abs=1e-6)


def test_auto_says_what_it_takes_and_why(
    made: Made, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    auto = {**SCORES, "planted_scores__model": "auto"}
    folders = [Path(made().result_dir) / name for name in ("few", "many")]
    few = run(made(**auto, result_dir=str(folders[0]), silent=False))
    monkeypatch.setattr(ridge, "EXACT_DOCUMENTS", 2)
    many = run(made(**auto, result_dir=str(folders[1]), silent=False))
    told = capfd.readouterr()
    assert "planted scores: model ridge, of " in told.out + told.err
    assert "planted scores: model label_ridge, of " in told.out + told.err
    assert min(few["metrics"]["P@1"], many["metrics"]["P@1"]) > 0.9


def test_names_are_weighed_without_a_network(made: Made) -> None:
    config = made(**SCORES)
    names = Path(config.training_file).parent / "label_names.tsv"
    names.write_text("".join(f"L{label}\tsign{label}x\n" for label in range(12)), encoding="utf-8")
    assert run(config)["planted_scores"]["name_weight"] >= 0


def test_explanations_name_terms_and_their_words(made: Made) -> None:
    config = made(**SCORES)
    run(config)
    predictor = Predictor.load(Path(config.checkpoint_dir), device="cpu")
    text = "filler1 sign3x filler2 sign3x"
    (evidence,) = predictor.explain(text, labels=["L3"]).labels
    assert evidence.predicted
    assert evidence.terms[0][0] == "sign3x"
    assert [text[passage.start : passage.end] for passage in evidence.passages] == ["sign3x filler2 sign3x"]
    assert evidence.contribution is not None
    words = float(evidence.contribution.sum())
    assert words + evidence.bias + evidence.elsewhere + evidence.planted == pytest.approx(
        evidence.scored.logit, abs=1e-4
    )
    assert set(evidence.contribution.argsort()[2:]) == {1, 3}

    shown = CliRunner().invoke(plant, ["label", str(config.checkpoint_dir), "L3", "--device", "cpu"])
    assert shown.exit_code == 0, shown.output
    assert "by planted scores\n  sign3x" in shown.output
    assert "by learned attention" not in shown.output


def test_validation_documents_are_not_needed(made: Made) -> None:
    config = made(**SCORES, val_file=None, val_size=0)
    result = run(config)
    chosen = {
        "adjustment": 0,
        "weight": WITHOUT_NETWORK,
        "name_weight": 0,
        "linear_weight": 1,
        "sentence_weight": 0,
        "bend": 0.5,
    }
    assert result["planted_scores"] == chosen


def test_a_weight_of_zero_would_predict_nothing(made: Made) -> None:
    with pytest.raises(ConfigError, match=r"planted_scores\.weight.*nothing to predict with"):
        made(**SCORES, planted_scores__weight=0.0)


def test_a_model_of_another_strategy_is_not_taken_for_it(made: Made, tmp_path: Path) -> None:
    config = made(**SCORES)
    run(config)
    trained = str(config.checkpoint_dir)
    with pytest.raises(ConfigError, match=r"strategy.*there are no planted scores"):
        made(strategy="planted_scores")
    with pytest.raises(ConfigError, match=r"checkpoint_path.*no network to start from"):
        made(**SCORES, checkpoint_path=trained)
    with pytest.raises(CheckpointError, match="NoNetwork, the configuration names PLANT"):
        run(made(eval=True, checkpoint_path=trained, result_dir=str(tmp_path / "other")))


def test_the_tokens_of_a_language_model_do_no_harm(made: Made, tiny_language_model: Path) -> None:
    config = made(**SCORES, network_config={"lm_weight": str(tiny_language_model)})
    of_words = made(**SCORES, result_dir=str(tiny_language_model.parent / "words"))
    result = run(config)
    assert result["metrics"] == pytest.approx(run(of_words)["metrics"], abs=1e-6)
    linear = PlantedScores.load(Path(config.checkpoint_dir), result["hashes"]["labels"])
    predictor, texts = Predictor.load(Path(config.checkpoint_dir), device="cpu"), texts_of(config)
    expected = log_odds(predictor, linear.scores(texts))
    np.testing.assert_allclose(predictor.logits(texts), expected, atol=1e-5)


def test_an_interrupted_run_goes_on_and_an_ended_one_is_read(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:

    config = made(**SCORES)
    with monkeypatch.context() as patch:
        patch.setattr(promises, "report", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(Interrupted):
            run(config)
    resumed = made(**SCORES, resume=str(config.checkpoint_dir))
    result = run(resumed)
    assert result["metrics"]["P@1"] > 0.9
    assert run(resumed)["metrics"] == result["metrics"]
