"""Whether explanations name the words that coders marked: on a task whose labels have words of their own."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from made_up_task import evidence_of, made_config, write_spans

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.errors import DataError
from plant_plugin.evaluation.plausibility import MEASURES
from plant_plugin.model.passages import EVIDENCE_THRESHOLD
from plant_plugin.model.plausibility import marked_pairs, plausibility
from plant_plugin.model.word_strength import word_strengths
from plant_plugin.report.logs import write_log_config
from plant_plugin.training.run import run as train

NOTE = "filler1, filler2 SIGN3x!\nfiller3 12 sign5x filler7 sign3x"


@pytest.fixture(scope="module")
def marked(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the splits and their evidence."""
    folder = tmp_path_factory.mktemp("marked")
    for split in ("valid", "test"):
        (folder / f"{split}.txt").write_bytes((task / f"{split}.txt").read_bytes())
        write_spans(folder / f"{split}_evidence.tsv", evidence_of(task / f"{split}.txt")[1])
    return folder


def test_every_order_of_the_words(predictor: Predictor) -> None:
    columns = [predictor.column_of[label] for label in ("L3", "L5")]
    words, found = word_strengths(predictor, NOTE, columns)
    assert [NOTE[start:end] for start, end in words.spans] == [
        "filler1", "filler2", "SIGN3x", "filler3", "12", "sign5x", "filler7", "sign3x",
    ]  # fmt: skip
    assert list(found) == [
        "contribution", "attention", "attention without prior", "gradient × input", "MIG", "linear",
    ]  # fmt: skip
    explanation = predictor.explain(NOTE, ["L3", "L5"])
    own = {evidence.scored.label: evidence.measures for evidence in explanation.labels}
    for order in ("contribution", "attention", "MIG"):
        for row, label in enumerate(("L3", "L5")):
            expected = own[label][order]
            if order == "contribution":  # an explanation has it in log odds
                expected = expected * (found[order][row].max() / expected.max())
            np.testing.assert_allclose(np.delete(found[order][row], 4), expected, atol=1e-6)  # "12" was not read
            assert found[order][row, 4] == 0
    for order in ("contribution", "attention", "gradient × input", "MIG", "linear"):
        assert found[order][0].argmax() in (2, 7), order
        assert found[order][1].argmax() == 5, order


# over one table of embedded words; the first PLANT looks words up in several, and so has no such row


def test_the_words_of_labels_are_found(predictor: Predictor, task: Path) -> None:
    chosen = marked_pairs(predictor, *evidence_of(task / "valid.txt"))
    pairs = marked_pairs(predictor, *evidence_of(task / "test.txt"))
    counts = np.arange(len(predictor.labels))
    found = {one.order: one for one in plausibility([(pairs, chosen)], counts)}
    for order in ("contribution", "attention", "MIG", "linear"):
        assert found[order].measures["F1"][0] > 0.9, order
        assert found[order].measures["hit@1"][0] > 0.9, order
    assert found["random"].measures["AP"][0] < 0.4
    for one in found.values():
        assert set(one.measures) == set(MEASURES)
        assert all(low <= mean <= high for mean, low, high in one.measures.values())
        assert set(one.bins) == {"0", "1-5", "6-10", "11-50"}
    bins = [np.isin(pairs.columns, columns).mean() for columns in ([0], [1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11])]
    means = [found["random"].bins[name]["AP"][0] for name in ("0", "1-5", "6-10", "11-50")]
    assert np.dot(bins, means) == pytest.approx(found["random"].measures["AP"][0])


PLANTED = {"CAML": ("PlantedCAML", {"num_filter_per_size": 16}), "BiGRU-LWAN": ("PlantedBiGRULWAN", {"rnn_dim": 16})}


@pytest.mark.parametrize("name", ["CAML", pytest.param("BiGRU-LWAN", marks=pytest.mark.integration)])
def test_networks_of_libmultilabel_by_our_names(
    untrained: Callable[..., Path], marked: Path, name: str, tmp_path: Path
) -> None:
    """CAML and BiGRU-LWAN do not show their attention; ours are the same functions (tests/networks) and do."""
    model_name, options = PLANTED[name]
    for prior in ("none", "additive"):
        network = {**options, "embed_dim": 16, "planted_prior": prior}
        files = [str(marked / "test_evidence.tsv"), "--validation", str(marked / "valid_evidence.tsv")]
        out = tmp_path / f"{prior}.json"
        shown = command(str(untrained(model_name=model_name, network_config=network)), *files, "--out", str(out))
        assert shown.exit_code == 0, shown.output
        orders = {one["order"]: one["measures"]["AP"][0] for one in json.loads(out.read_text())["orders"]}
        assert {"contribution", "attention", "gradient × input", "MIG", "random"} <= orders.keys()
        assert ("attention without prior" in orders) == (prior == "additive")
    assert orders["attention"] > 0.8 > orders["attention without prior"]  # the prior alone knows anything yet


@pytest.mark.integration
def test_the_network_as_stage_1_leaves_it(task: Path, marked: Path, tmp_path: Path) -> None:
    """A run without a second stage is the row of stage 1 alone."""
    config = made_config(task, stage1__epochs=6, stage2__epochs=0, result_dir=str(tmp_path / "runs"))
    train(config)
    files = [str(marked / "test_evidence.tsv"), "--validation", str(marked / "valid_evidence.tsv")]
    out = tmp_path / "found.json"
    shown = command(str(config.checkpoint_dir), *files, "--out", str(out))
    assert shown.exit_code == 0, shown.output
    orders = {one["order"]: one["measures"]["AP"][0] for one in json.loads(out.read_text())["orders"]}
    assert orders["attention without prior"] > orders["random"] + 0.2  # it ranks what stage 1 taught it


@pytest.mark.integration
def test_a_model_without_a_second_training_is_read_once(
    trained: Path, marked: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    own = {"val_file": str(marked / "valid.txt"), "test_file": str(marked / "test.txt")}
    write_log_config(run / "logs.json", own)
    read: list[Path] = []
    original = Predictor.load.__func__  # type: ignore[attr-defined]

    def counted(cls: type[Predictor], folder: Path, **options: Any) -> Predictor:
        read.append(folder)
        found: Predictor = original(cls, folder, **options)
        return found

    monkeypatch.setattr(Predictor, "load", classmethod(counted))
    shown = CliRunner().invoke(plant, ["plausibility", str(run), "--device", "cpu"])
    assert shown.exit_code == 0, shown.output
    assert read == [run]
    shutil.copytree(trained, run / "first_pass")
    shown = CliRunner().invoke(plant, ["plausibility", str(run), "--device", "cpu"])
    assert shown.exit_code == 0, shown.output
    assert read == [run, run, run / "first_pass"]


def test_pairs_that_cannot_be_measured(predictor: Predictor) -> None:
    texts, marked = ["sign1x , filler2", "sign2x"], [{"L1": [(0, 6)], "L2": [(7, 8)]}, {"new": [(0, 6)]}]
    pairs = marked_pairs(predictor, texts, marked)
    assert (len(pairs), pairs.unknown, pairs.wordless) == (1, 1, 1)
    assert pairs.marked[0].tolist() == [True, False]
    with pytest.raises(DataError, match="no document has evidence"):
        marked_pairs(predictor, texts[1:], marked[1:])


def command(*arguments: str) -> Result:
    return CliRunner().invoke(plant, ["plausibility", *arguments, "--device", "cpu"])


def test_the_command(trained: Path, marked: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    files = [str(marked / "test_evidence.tsv"), "--validation", str(marked / "valid_evidence.tsv")]
    shown = command(str(trained), *files, "--out", str(out), "--write-threshold")
    try:
        assert shown.exit_code == 0, shown.output
        assert re.search(r"^contribution +0\.\d\d +\d+\.\d \[\d", shown.stdout, re.MULTILINE)
        assert "11-50 training documents" in shown.stdout
        found = json.loads(out.read_text())
        assert found["documents"] == 40
        assert found["orders"][0]["order"] == "contribution"
        assert "sign" not in out.read_text()
        explained = CliRunner().invoke(
            plant,
            ["explain", str(trained), "--json", "--label", "L3", "--device", "cpu"],
            input="filler1 sign3x filler2",
        )
        [label] = json.loads(explained.stdout)["labels"]
        assert [passage["text"] for passage in label["passages"]] == ["sign3x"]
    finally:
        (trained / EVIDENCE_THRESHOLD).unlink(missing_ok=True)
    kept = Path(files[0]).read_bytes()
    over = command(str(trained), *files, "--out", files[0])
    assert over.exit_code == 2
    assert "test_evidence.tsv: this is read, and would be replaced" in over.output
    assert Path(files[0]).read_bytes() == kept
    (tmp_path / "model.zip").write_bytes(b"")
    packed = command(str(tmp_path / "model.zip"), *files, "--write-threshold")
    assert "model.zip: one file is not written into" in packed.output  # said before anything is measured
    missing = command(str(trained))
    assert missing.exit_code == 2
    assert "there is no evidence file" in missing.output
    assert "--validation" in missing.output
