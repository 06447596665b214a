from __future__ import annotations

import shutil
from pathlib import Path

import named_notes
import pytest
from made_up_task import made_config

from plant_plugin import Predictor
from plant_plugin.errors import CheckpointError, DataError
from plant_plugin.model.label_update import update_names
from plant_plugin.training.run import run


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Planted scores and names, trained on made-up notes without marks."""
    made = tmp_path_factory.mktemp("named")
    named_notes.write(made)
    config = made_config(made, strategy="planted_scores", planted_scores__model="ridge", label_set="named")
    run(config)
    return Path(config.checkpoint_dir)


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "model"))


def table(path: Path, rows: list[tuple[str, str]]) -> str:
    path.write_text("".join(f"{label}\t{name}\ten\n" for label, name in rows), encoding="utf-8")
    return str(path)


def test_new_codes_can_be_said_and_those_that_are_gone_no_more(folder: Path, tmp_path: Path) -> None:
    before = Predictor.load(folder, device="cpu")
    names = before.open_labels
    assert names is not None
    unseen, seen = names.added[0], names.labels[int(names.seen.argmax())]
    rows = [(row.label, row.name) for row in names.rows if row.label not in (unseen, seen)]
    rows[0] = (rows[0][0], "an altogether other name")
    new = table(tmp_path / "new.tsv", [*rows, ("NEW1", "torsion of testis")])
    looked_at = update_names(folder, [new], write=False)
    assert Predictor.load(folder, device="cpu").labels == before.labels
    changes = update_names(folder, [new])
    assert changes == looked_at
    assert (changes.new, changes.renamed, changes.gone, changes.kept) == (["NEW1"], [rows[0][0]], [unseen], [seen])
    after = Predictor.load(folder, device="cpu")  # its manifest holds
    assert {"NEW1", seen} <= set(after.labels)
    assert unseen not in after.labels
    text = "filler1 filler2 torsion of the testis filler3"
    best = [each for each in after.predict([text], top=10)[0].labels if not each.seen]
    assert best[0].label == "NEW1"
    assert best[0].name == "torsion of testis"


def test_what_is_no_list_of_names_changes_nothing(folder: Path, tmp_path: Path) -> None:
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    for content in ("", "no tab here\n"):
        (tmp_path / "bad.tsv").write_text(content)
        with pytest.raises(DataError):
            update_names(folder, [str(tmp_path / "bad.tsv")])
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == files


def test_a_model_of_only_trained_labels_is_told(folder: Path, tmp_path: Path) -> None:
    for name in ("open_labels.json", "open_labels.npz"):
        (folder / name).unlink()
    with pytest.raises(CheckpointError):
        update_names(folder, [table(tmp_path / "names.tsv", [("A", "a name")])])
