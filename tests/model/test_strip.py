"""A model without the rare words of its training documents still predicts."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from made_up_task import made_config, write_language_model, write_splits

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.training.run import run

RARE, KEPT = "zyxrareword", "zyxkeptword"  # in two training documents, in four
LEAST = 4


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("strip")
    write_splits(folder)
    lines = (folder / "train.txt").read_text().splitlines()
    of_label = [row for row, line in enumerate(lines) if "L3" in line.partition("\t")[0].split()]
    for place, row in enumerate(of_label[:LEAST]):
        lines[row] += f" {KEPT} {RARE}" if place < 2 else f" {KEPT}"
    (folder / "train.txt").write_text("\n".join(lines) + "\n")
    write_language_model(folder)
    return folder


def stripped(model: Path, out: Path, *options: str, least: int = LEAST) -> Result:
    arguments = ["strip", str(model), "--out", str(out), "--min-documents", str(least), *options]
    return CliRunner().invoke(plant, arguments)


def trained(task: Path, out: Path, **changes: Any) -> Path:
    changes = {"stage1__epochs": 1, "stage2__epochs": 1, "planted_scores__model": "ridge", **changes}
    config = made_config(
        task, planted_scores__weight=2.0, result_dir=str(out),
        predict_out_path=None, **changes,
    )  # fmt: skip
    run(config)
    return Path(config.checkpoint_dir)


@pytest.fixture(scope="module")
def model(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(task, tmp_path_factory.mktemp("runs"), evidence__mine=True)


def holding(folder: Path, word: str) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()}


def test_rare_words_are_in_no_file_and_others_predict_as_before(model: Path, tmp_path: Path) -> None:
    assert holding(model, RARE) == {
        "vocabulary.json", "planted_scores_terms.json", "planted_scores_marked.json"
    }  # fmt: skip
    outcome = stripped(model, tmp_path / "out")
    assert outcome.exit_code == 0, outcome.output
    assert holding(tmp_path / "out", RARE) == set()
    assert holding(tmp_path / "out", KEPT) == holding(model, RARE)
    before, after = (Predictor.load(folder, device="cpu") for folder in (model, tmp_path / "out"))
    known = [f"sign3x filler1 {KEPT} sign3x filler2", "sign5x filler7"]
    terms = set(json.loads((model / "planted_scores_terms.json").read_text()))
    gone = terms - set(json.loads((tmp_path / "out" / "planted_scores_terms.json").read_text()))
    assert f"filler1 {RARE}" in gone or any(RARE in term for term in gone)
    for text in known:
        words = text.split()
        if not gone & {*words, *map(" ".join, itertools.pairwise(words))}:
            np.testing.assert_array_equal(after.logits([text]), before.logits([text]))
    np.testing.assert_allclose(after.logits(["sign3x"]), before.logits(["sign3x"]))
    # a removed word is one that the model never knew
    np.testing.assert_array_equal(after.logits([f"sign3x {RARE}"]), after.logits(["sign3x neverseen"]))
    assert not np.array_equal(before.logits([f"sign3x {RARE}"]), before.logits(["sign3x neverseen"]))
    number = before.tokens.words.index(RARE)  # type: ignore[union-attr]
    assert not after.network.backbone.embedding.weight[number].any()  # type: ignore[union-attr]
    assert not after.relevance[:, [number]].nnz  # type: ignore[index]
    assert before.relevance[:, [number]].nnz  # type: ignore[index]
    assert RARE not in str(after.explain(f"sign3x {RARE}", top=3).labels[0].terms)


def test_every_table_of_words_is_cleared(task: Path, tmp_path: Path) -> None:
    sizes = {"embed_dim": 8, "hidden_size": 12, "num_layers": 2, "ranker_size": 8, "ranker_hidden": 8}
    first = trained(task, tmp_path / "runs", model_name="PLANTL2R", network_config=sizes, strategy="end_to_end")
    assert stripped(first, tmp_path / "out").exit_code == 0
    number = Predictor.load(first, device="cpu").tokens.words.index(RARE)  # type: ignore[union-attr]
    tables = Predictor.load(tmp_path / "out", device="cpu").network.word_tables()
    assert [bool(table[number].any()) for table in tables] == [False, False]  # of the encoder and of the ranker
    assert all(table.any() for table in tables)


def test_the_shortlist_stays(task: Path, tmp_path: Path) -> None:
    source = trained(task, tmp_path / "runs", shortlist__size=3)
    assert stripped(source, tmp_path / "out", least=2).exit_code == 0
    before, after = (json.loads((folder / "config.json").read_text()) for folder in (source, tmp_path / "out"))
    assert before["shortlist"] == after["shortlist"] == 3


def test_a_stripped_model_is_a_whole_model_folder(model: Path, tmp_path: Path) -> None:
    stripped(model, tmp_path / "out")
    again = stripped(tmp_path / "out", tmp_path / "again", "--training-file", str(model.parents[1] / "none.txt"))
    assert again.exit_code == 2  # no such file
    for command in (["label", str(tmp_path / "out"), "L3"], ["predict", str(tmp_path / "out"), "-"]):
        outcome = CliRunner().invoke(plant, command, input="sign3x\n")
        assert outcome.exit_code == 0, outcome.output
    assert not {"logs.json", "result.json", "per_document.npz", "run.json"} & {
        path.name for path in (tmp_path / "out").iterdir()
    }


def test_over_a_language_model_its_tokenizer_stays(task: Path, tmp_path: Path) -> None:
    options = {"lm_weight": str(task / "bert"), "num_heads": 2, "pool_size": 8}
    model = trained(task, tmp_path / "runs", network_config=options, max_seq_length=24)
    outcome = stripped(model, tmp_path / "out")
    assert outcome.exit_code == 0, outcome.output
    assert "0 words" in outcome.output
    before, after = (Predictor.load(folder, device="cpu") for folder in (model, tmp_path / "out"))
    assert len(after.planted_scores.linear.terms) < len(before.planted_scores.linear.terms)  # type: ignore[union-attr]
    np.testing.assert_allclose(after.logits(["sign3x"]), before.logits(["sign3x"]), rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda task, out: {"least": 49}, "choose 2 to 48"),
        (lambda task, out: out.mkdir(), "it is there already"),
        (lambda task, out: (task / "train.txt").write_text("L1\tsign1x\n"), "was not trained on only this file"),
    ],
)
def test_what_cannot_be_stripped(
    model: Path, task: Path, tmp_path: Path, change: Callable[[Path, Path], Any], told: str
) -> None:
    text = (task / "train.txt").read_text()
    options = change(task, tmp_path / "out")
    try:
        outcome = stripped(model, tmp_path / "out", **(options if isinstance(options, dict) else {}))
    finally:
        (task / "train.txt").write_text(text)
    assert outcome.exit_code == 2
    assert told in outcome.output
    assert not list(tmp_path.rglob("*.safetensors"))
