"""What a run takes of main memory, by formulas, and the refusal of what does not fit."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
import scipy.sparse as sp

from plant_plugin.config import Config, load_config
from plant_plugin.config.sections import Settings
from plant_plugin.errors import DataError, PlantError
from plant_plugin.networks.footprint import plan_of, words_footprint
from plant_plugin.report import machine
from plant_plugin.report.machine import free_and_total_memory
from plant_plugin.training import memory
from plant_plugin.training.memory import GIB, Need, Shape, refuse, relevance_entries, run_needs, table_needs
from plant_plugin.training.run import run

Made = Callable[..., Config]
# Documents, labels, words of labels that relevance may keep, bytes of texts, tokens, words: what has run on 23 GB.
HAVE_RUN = {
    "plant_yso.yml": (Shape(24_512, 15_289, 20_000_000, 20_000_000), 300, 60_000),
    "plant_eurlex57k.yml": (Shape(45_000, 4_193, 4_193 * 4000, 200_000_000), 500, 100_000),
    "plant_mimic3.yml": (Shape(47_723, 8_929, 8_929 * 4000, 480_000_000), 2500, 52_000),
}


@pytest.mark.parametrize("name", HAVE_RUN)
def test_what_has_run_is_not_refused(name: str, tmp_path: Path) -> None:
    for key in ("training_file", "val_file", "test_file"):
        (tmp_path / f"{key}.txt").write_text("A\tone\n")
    files = {key: str(tmp_path / f"{key}.txt") for key in ("training_file", "val_file", "test_file")}
    settings = load_config(name, {**files, "cpu": True})
    shape, tokens, words = HAVE_RUN[name]
    needs = run_needs(settings, shape, tokens, words)
    assert [need.step.partition(",")[0] for need in needs] == [
        "planted scores", "the relevance of words", "training the network", "validation and test",
    ]  # fmt: skip
    refuse(needs, 20 * GIB)


def test_what_steps_leave_behind_is_counted(made: Made) -> None:
    """By hand: two weights of 8 bytes a label, 12 labels, twice behind the fit; 30 words of labels of 16 bytes."""
    settings = made(planted_scores__model="label_ridge", planted_scores__top=2, planted_scores__ngrams=3)
    shape = Shape(100, 12, 30, 1000)
    tables = table_needs(settings, shape)
    assert tables["planted_scores"].bytes == 2.5 * 12 * 2 * 8 + 3000 * 100 + 4.5 * 3 * 1000
    assert tables["planted_scores"].stays == 2 * 12 * 2 * 8
    scores, relevance, network, test = run_needs(settings, shape, 25, 77)
    assert scores == tables["planted_scores"]
    assert relevance.bytes == 384 + 30 * 16
    own = words_footprint(plan_of(settings, 25, 12, on_gpu=False), 77, 16)
    assert network.bytes == 384 + 480 + own.total
    assert test.bytes > 384 + 480 + 8 * 4 * 12 * settings.eval_batch_size
    exact = table_needs(replace(settings, planted_scores=replace(settings.planted_scores, model="ridge")), shape)
    assert exact["planted_scores"].bytes == 4 * 12 * 2 * 8 + 4 * 100**2 + 4.5 * 3 * 1000
    assert not table_needs(made(strategy="end_to_end", network_config__planted_prior="none"), shape)


def test_a_label_keeps_no_more_words_than_its_documents_have(made: Made) -> None:
    labels = sp.csr_array(np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0]], dtype=np.float32))
    lengths = np.array([4, 9, 100])
    assert relevance_entries(labels, lengths, made(), 1000) == 4 + 13
    assert relevance_entries(labels, lengths, made(relevance__top=6), 1000) == 4 + 6
    assert relevance_entries(labels, lengths, made(), 5) == 4 + 5
    assert relevance_entries(labels, lengths, made(relevance__association="any"), 50) == 3 * 50


def test_one_error_names_step_bytes_and_keys() -> None:
    needs = [Need("one", 2 * GIB, 0, "fix one"), Need("two", 5 * GIB, 0, "a smaller two"), Need("three", 1, 0, "no")]
    refuse(needs, 5 * GIB)
    with pytest.raises(PlantError) as caught:
        refuse(needs, 5 * GIB - 1)
    assert caught.value.message.startswith("memory: two: 5.0 GiB of memory at most, and 5.0 GiB are free\n")
    assert "a smaller two; or go on with --check_memory false" in caught.value.message


def test_a_run_is_refused_before_anything_is_computed_and_goes_on_if_asked_to(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = made(planted_scores__model="ridge")
    monkeypatch.setattr(memory, "free_and_total_memory", lambda: (100_000, GIB))
    with pytest.raises(PlantError, match=r"memory: .*, and 0\.0 GiB are free"):
        run(config)
    assert not config.checkpoint_dir.exists() or not any(config.checkpoint_dir.glob("relevance*"))
    assert run(replace(config, check_memory=False))["metrics"]


def cgroup(folder: Path, *, limit: str, used: int, names: tuple[str, str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(limit)
    (folder / names[1]).write_text(str(used))
    (folder / "memory.stat").write_text(f"anon 1\n{names[2]} 1000\n")


@pytest.mark.parametrize("version", [1, 2])
def test_a_control_group_has_less_than_its_machine(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, base = machine.CGROUP_FILES[version], tmp_path / "memory" if version == 1 else tmp_path
    (tmp_path / "own").write_text(f"{'4:memory' if version == 1 else '0:'}:/job/step\n7:cpu:/other\n")
    monkeypatch.setattr(machine, "CGROUPS", tmp_path)
    monkeypatch.setattr(machine, "OWN_CGROUPS", tmp_path / "own")
    there = psutil.virtual_memory()
    assert free_and_total_memory()[1] == there.total  # of no group anything is to be seen
    cgroup(base / "job/step", limit="max", used=5000, names=names)
    cgroup(base / "job", limit="50000", used=21000, names=names)
    assert free_and_total_memory() == (30_000, 50_000)
    cgroup(base, limit="9000", used=21000, names=names)
    assert free_and_total_memory() == (0, 9000)
    monkeypatch.setattr(machine, "OWN_CGROUPS", tmp_path / "none")
    assert free_and_total_memory()[1] == there.total


def test_the_weights_of_the_network_stay_while_validation_is_scored(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("A\tone\n")
    files = {key: str(tmp_path / "train.txt") for key in ("training_file", "val_file", "test_file")}
    changes = {**files, "cpu": True, "strategy": "end_to_end", "planted_scores.model": "none"}
    changes |= {"network_config.planted_prior": "none"}
    settings = load_config("plant_demo.yml", changes)
    training, validation = run_needs(settings, Shape(1000, 60, 0), 100, 50_000)
    rows = memory.ROWS * 4 * 60 * settings.eval_batch_size
    weights = memory.network_footprint(settings, 100, 60, 50_000, on_gpu=False).parameters
    assert training.step == "training the network"
    assert validation.bytes == rows + 4 * weights


def test_vectors_are_measured_as_they_are_read(made: Made, tmp_path: Path) -> None:
    lines = "2 3\nword 1 2 3\nother 1 2 3\n"
    (tmp_path / "plain.txt").write_text(lines)
    with gzip.open(tmp_path / "packed.txt.gz", "wt") as stream:
        stream.write(lines)
    plain, packed = (
        memory.network_footprint(made(embed_file=str(tmp_path / name)), 100, 60, 50_000, on_gpu=False)
        for name in ("plain.txt", "packed.txt.gz")
    )
    assert plain == packed
    (tmp_path / "empty.txt").touch()
    with pytest.raises(DataError, match="holds no vectors"):
        run(made(embed_file=str(tmp_path / "empty.txt")))


def test_a_language_model_without_a_formula_is_trained_all_the_same(tmp_path: Path) -> None:
    pytest.importorskip("transformers").GPT2Config(n_embd=128, n_layer=1, n_head=2).save_pretrained(tmp_path)
    settings = Settings(
        model_name="PLANT", cpu=True, strategy="end_to_end", network_config={"lm_weight": str(tmp_path)}
    )
    assert [need.step for need in run_needs(settings, Shape(1000, 60, 0), 100, 50_000)] == ["validation and test"]
