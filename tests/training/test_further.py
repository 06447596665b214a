"""``plant train --from``: a run goes on with more documents, from files or from a desk."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from marked_task import marked_config, write_marked_split, write_marked_splits
from safetensors.torch import load_file

from plant_plugin.cli import plant
from plant_plugin.config import Config
from plant_plugin.model.predictor import Predictor
from plant_plugin.relevance.planted_scores import read_weights
from plant_plugin.report.logs import logged_config, write_log_config
from plant_plugin.report.record import Further, read_further
from plant_plugin.training import weights
from plant_plugin.training.further import few_are_new, further
from plant_plugin.training.run import run


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """A run that knows the labels of half of the made-up files, but for one that was left out."""
    folder = tmp_path_factory.mktemp("old")
    write_marked_splits(folder)
    config = marked_config(folder, batch_size=16, stage2__epochs=3, result_dir=str(folder / "runs"))
    run(config)
    return config


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """Ten documents, one with a label that nobody knows."""
    write_marked_split(tmp_path, "new", 10, 7)
    path = tmp_path / "new.txt"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(["NEW " + lines[0].replace("filler", "unheardof"), *lines[1:]]))
    (tmp_path / "new_evidence.tsv").write_text("")
    return path


def train(*arguments: object) -> Result:
    return CliRunner().invoke(plant, ["train", *map(str, arguments), "--silent"])


def test_what_is_trained_on_is_said_once(tmp_path: Path) -> None:
    done = train("new.txt", "--training_file", "other.txt")
    assert "--training_file: FILE is what is trained on" in done.output


@pytest.mark.integration
def test_a_run_goes_on_with_new_documents_labels_and_words(old: Config, new: Path, tmp_path: Path) -> None:
    done = train("--from", old.checkpoint_dir, new, "--result_dir", tmp_path / "runs", "--stage2.learning_rate", 1e-9)
    assert done.exit_code == 0, done.output
    [made] = (tmp_path / "runs").iterdir()
    before, after = (Predictor.load(folder, device="cpu") for folder in (old.checkpoint_dir, made))
    assert sorted({*before.labels, "NEW"}) == after.labels
    before_it = {"folder": str(old.checkpoint_dir), "new": 10, "waiting": 0, "reads": False}
    assert read_further(made) == before_it
    documents = made / "documents" / "train.txt"
    assert documents.read_text().startswith(new.read_text().replace(" \n", "\n"))
    assert len(documents.read_text().splitlines()) == 100
    assert stat.S_IMODE(documents.stat().st_mode) == 0o600
    # with a rate of nearly nothing the weights are the old ones, in their new places
    was, is_now = (load_file(folder / "model.safetensors") for folder in (old.checkpoint_dir, made))
    rows = [after.labels.index(label) for label in before.labels]
    table = "head.label_embeddings"
    torch.testing.assert_close(is_now[table][rows], was[table], atol=1e-5, rtol=0)
    torch.testing.assert_close(is_now[table][after.labels.index("NEW")], was[table].mean(dim=0), atol=1e-5, rtol=0)
    words = [(before.tokens.id_of[word], after.tokens.id_of[word]) for word in ("filler3", "sign1x")]
    name = next(name for name in was if name.startswith("backbone.embedding"))
    for one, other in words:
        torch.testing.assert_close(is_now[name][other], was[name][one], atol=1e-5, rtol=0)
    again = train("--from", made, new, "--result_dir", tmp_path / "again")
    assert again.exit_code == 0, again.output
    [third] = (tmp_path / "again").iterdir()
    assert len((third / "documents" / "train.txt").read_text().splitlines()) == 100  # what is known stands there once


@pytest.mark.integration
def test_few_new_documents_leave_the_network_and_its_weights_as_they_are(old: Config, tmp_path: Path) -> None:
    """Until more have come than it was trained on: then it reads all that it has not read, and all is chosen anew."""
    deliveries = []
    for number, documents in enumerate((60, 30, 1)):
        write_marked_split(tmp_path, f"new{number}", documents, 10 + number)
        path = tmp_path / f"new{number}.txt"
        path.write_text(f"NEW{number} {path.read_text()}")
        deliveries.append(path)
    folder, was = Path(old.checkpoint_dir), load_file(Path(old.checkpoint_dir) / "model.safetensors")
    planted = read_weights(folder)
    for number, (path, known) in enumerate(
        zip(deliveries, ((60, 0, False), (30, 60, False), (1, 90, True)), strict=True)
    ):
        done = train("--from", folder, path, "--result_dir", tmp_path / f"runs{number}")
        assert done.exit_code == 0, done.output
        [folder] = (tmp_path / f"runs{number}").iterdir()
        facts = read_further(folder)
        assert facts is not None
        assert (facts["new"], facts["waiting"], facts["reads"]) == known
        assert f"NEW{number}" in Predictor.load(folder, device="cpu").labels
        now = load_file(folder / "model.safetensors")
        tables = {name for name in was if name.startswith("backbone") and torch.equal(was[name], now[name])}
        few = not known[2]
        assert (tables == {name for name in was if name.startswith("backbone")}) is few
        assert read_weights(folder) == planted or not few
    assert json.loads((folder / "result.json").read_text())["counts"]["dropped_training_labels"] == 0


def test_documents_that_are_known_as_they_are_are_not_new(old: Config, tmp_path: Path) -> None:
    lines = Path(str(old.training_file)).read_text().splitlines(keepends=True)
    evidence = Path(str(old.evidence.training_file)).read_text().splitlines(keepends=True)
    for name, kept in (("same", evidence), ("less", evidence[1:])):
        (tmp_path / f"{name}.txt").write_text("".join(lines[:3]))
        own = [line for line in kept if int(line.split("\t")[0]) < 3]
        (tmp_path / f"{name}_evidence.tsv").write_text("".join(own))
        settings = further(Path(old.checkpoint_dir), tmp_path / f"{name}.txt", {"result_dir": str(tmp_path)})
        facts = read_further(settings.checkpoint_dir)
        assert facts is not None
        assert facts["new"] == {"same": 0, "less": 1}[name]
        assert len(Path(str(settings.training_file)).read_text().splitlines()) == len(lines)
        assert few_are_new(facts)
    asked = {"result_dir": str(tmp_path / "asked"), "stage2.epochs": 1}
    settings = further(Path(old.checkpoint_dir), tmp_path / "less.txt", asked)
    assert not few_are_new(read_further(settings.checkpoint_dir))


def test_new_documents_of_one_text_are_all_taken(old: Config, tmp_path: Path) -> None:
    path = tmp_path / "alike.txt"
    path.write_text("L1\tnothing new\nL2\tnothing  new\nL3\tnothing new\n")
    config = further(Path(old.checkpoint_dir), path, {"result_dir": str(tmp_path / "runs")})
    lines = Path(str(config.training_file)).read_text().splitlines()
    assert lines[:3] == ["L1\tnothing new", "L2\tnothing new", "L3\tnothing new"]
    facts = read_further(config.checkpoint_dir)
    assert facts is not None
    assert facts["new"] == 3


@pytest.mark.integration
def test_names_of_labels_come_with_the_documents(tmp_path: Path, new: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "NAME_WEIGHTS", (2.0,))
    write_marked_splits(tmp_path)
    (tmp_path / "label_names.tsv").write_text("L1\tsign1x\nNEW\tunheardof\n")
    config = marked_config(tmp_path, stage2__epochs=1, result_dir=str(tmp_path / "a"))
    run(config)
    new = new.rename(tmp_path / "more.txt")
    done = train("--from", config.checkpoint_dir, new, "--result_dir", tmp_path / "b")
    assert done.exit_code == 0, done.output
    [made] = (tmp_path / "b").iterdir()
    assert (made / "documents" / "label_names.tsv").read_text().startswith("L1")
    assert read_weights(made)["name_weight"] == 2


def test_what_a_desk_has_finished_is_learned(old: Config, new: Path, tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
    desk = tmp_path / "desk.sqlite"
    for words in (["add-coder", desk, "ana"], ["add-documents", desk, new, "--coded-by", "ana"]):
        assert CliRunner().invoke(plant, ["desk", *map(str, words)]).exit_code == 0
    done = train("--from", old.checkpoint_dir, desk, "--result_dir", tmp_path / "runs")
    assert done.exit_code == 0, done.output
    [made] = (tmp_path / "runs").iterdir()
    assert "NEW" in Predictor.load(made, device="cpu").labels
    assert np.isfinite(list(json.loads((made / "thresholds.json").read_text()).values())).all()


@pytest.mark.integration
def test_both_trainings_of_refit_go_on_and_drawn_validation_documents_stay_so(new: Path, tmp_path: Path) -> None:
    write_marked_splits(tmp_path)
    runs, drawn = tmp_path / "old", {"val_file": None, "evidence__val_file": None, "val_size": 20}
    config = marked_config(tmp_path, result_dir=str(runs), refit="train+val", stage2__epochs=1, **drawn)
    run(config)
    done = train("--from", config.checkpoint_dir, new, "--result_dir", tmp_path / "runs")
    assert done.exit_code == 0, done.output
    [made] = (tmp_path / "runs").iterdir()
    was, is_now = (set((made / "documents" / f"{name}.txt").read_text().splitlines()) for name in ("valid", "train"))
    assert (len(was), len(is_now), len(was & is_now)) == (20, 80, 0)
    assert "NEW" in Predictor.load(made, device="cpu").labels
    assert (made / "first_pass" / "model.safetensors").is_file()


def test_the_network_reads_new_documents_and_as_many_old_ones(old: Config) -> None:
    from plant_plugin.report.run import Run
    from plant_plugin.training.inputs import Inputs, prepare, rows_read_again

    documents = prepare(old, Run(Path(old.checkpoint_dir), silent=True, tests=False))
    facts: Further = {"folder": str(old.checkpoint_dir), "new": 5, "waiting": 0, "reads": True}
    rows = rows_read_again(documents, facts, old.seed)
    train_batches, _ = Inputs(documents, rows=rows).stage_batches(old.batch_size, old)
    parents = documents.training.parents or range(len(documents.training))
    seen = [parents[row] for batch in train_batches for row in batch["document"].tolist()]
    assert {*range(5)} < set(seen)
    assert len(set(seen)) == 10


@pytest.mark.integration
def test_a_label_that_loses_its_last_document_keeps_its_row(tmp_path: Path) -> None:
    """Else a new one, with which labels are as many as before, would get the weights of others."""
    write_marked_splits(tmp_path)
    path = tmp_path / "train.txt"
    first, *rest = path.read_text().splitlines(keepends=True)
    path.write_text("".join([f"AAA {first}", *rest]))
    config = marked_config(tmp_path, stage2__epochs=1, result_dir=str(tmp_path / "runs"))
    run(config)
    new = tmp_path / "new.txt"
    new.write_text(f"NEW {first}")
    done = train(
        "--from", config.checkpoint_dir, new, "--result_dir", tmp_path / "more", "--stage2.learning_rate", 1e-9
    )
    assert done.exit_code == 0, done.output
    [made] = (tmp_path / "more").iterdir()
    before, after = (Predictor.load(folder, device="cpu").labels for folder in (config.checkpoint_dir, made))
    assert after == sorted({*before, "NEW"})
    was, now = (load_file(Path(folder) / "model.safetensors") for folder in (config.checkpoint_dir, made))
    rows = [after.index(label) for label in before]
    torch.testing.assert_close(now["head.label_embeddings"][rows], was["head.label_embeddings"], atol=1e-5, rtol=0)


def test_files_of_another_reader_are_read_by_it(tmp_path: Path) -> None:
    """From then on everything is LibMultiLabel's text."""
    write_marked_splits(tmp_path)
    for split in ("train", "valid", "test"):
        lines = [line.split("\t") for line in (tmp_path / f"{split}.txt").read_text().splitlines()]
        rows = (json.dumps({"labels": labels.split(), "text": text}) + "\n" for labels, text in lines)
        (tmp_path / f"{split}.data").write_text("".join(rows))
        config = {f"{name}_file": str(tmp_path / f"{file}.data") for name, file in
                  (("training", "train"), ("val", "valid"), ("test", "test"))}  # fmt: skip
    config = marked_config(tmp_path, data_format="jsonl", stage2__epochs=1, result_dir=str(tmp_path / "runs"), **config,
                           evidence__training_file=None, evidence__val_file=None)  # fmt: skip
    run(config)
    write_marked_split(tmp_path, "new", 10, 7)
    went_on = further(Path(config.checkpoint_dir), tmp_path / "new.txt", {"result_dir": str(tmp_path / "more")})
    assert went_on.data_format == "txt"
    for file, name in ((went_on.val_file, "valid"), (went_on.test_file, "test")):
        assert Path(str(file)).read_text() == (tmp_path / f"{name}.txt").read_text()


def test_a_stopped_run_goes_on_with_its_own_documents(old: Config, new: Path, tmp_path: Path) -> None:
    folder = Path(str(old.checkpoint_dir))
    first = further(folder, new, {"result_dir": str(tmp_path / "more")})
    before = (first.checkpoint_dir / "documents" / "train.txt").read_bytes()
    new.write_text("NEWER a text that came since\n")
    again = further(folder, new, {"resume": str(first.checkpoint_dir)})
    assert (again.hash(), again.checkpoint_dir) == (first.hash(), first.checkpoint_dir)
    assert (first.checkpoint_dir / "documents" / "train.txt").read_bytes() == before


def test_what_is_missing_is_said_and_nothing_stays(old: Config, new: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    shutil.copytree(old.checkpoint_dir, gone)
    write_log_config(gone / "logs.json", {**logged_config(gone), "training_file": "nowhere.txt"})
    runs = tmp_path / "runs"
    refused = train("--from", gone, new, "--result_dir", runs)
    assert refused.exit_code
    assert "nowhere.txt" in refused.output
    refused = train("--from", tmp_path, new, "--result_dir", runs)
    assert "no complete PLANT model" in refused.output
    refused = train("--from", old.checkpoint_dir, new, "--result_dir", runs, "--network_config.hidden_size", 20)
    assert refused.exit_code
    assert "another network" in refused.output
    assert "--from" in train("--from", old.checkpoint_dir, new, "-c", "plant.yml").output
    shutil.copytree(old.checkpoint_dir, renamed := tmp_path / "renamed")
    labels = (renamed / "labels.txt").read_text()
    (renamed / "labels.txt").write_text(labels.swapcase())
    refused = train("--from", renamed, new, "--result_dir", runs)
    assert "labels.txt: changed since the model was saved" in refused.output
    assert not runs.exists() or not list(runs.iterdir())


def test_as_many_labels_but_others_are_refused(old: Config, new: Path, tmp_path: Path) -> None:
    """Their rows would go to other labels."""
    known = (old.checkpoint_dir / "labels.txt").read_text().splitlines()
    (tmp_path / "labels.txt").write_text("\n".join(["A0", *known[:-1]]))
    to_other = ("--label_file", tmp_path / "labels.txt", "--result_dir", tmp_path / "runs")
    done = train("--from", old.checkpoint_dir, new, *to_other)
    assert done.exit_code != 0
    assert f"it knows {len(known)} labels too, but others" in done.output
