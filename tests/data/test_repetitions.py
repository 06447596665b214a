from __future__ import annotations

from pathlib import Path

import pytest
from sklearn.model_selection import train_test_split

from plant_plugin.config import load_config
from plant_plugin.data.documents import SPLIT_SEED, load_corpus
from plant_plugin.data.repetitions import drawn_apart
from plant_plugin.data.text import Documents


def documents(texts: list[str]) -> Documents:
    return Documents(texts, [["A"] for _ in texts])


def test_texts_that_differ_are_drawn_as_scikit_learn_draws() -> None:
    texts = documents([f"text {number}" for number in range(50)])
    for size in (0.2, 7):
        assert [*drawn_apart(texts, size, SPLIT_SEED)] == train_test_split(
            range(50), test_size=size, random_state=SPLIT_SEED
        )
    assert not texts.note


def test_no_text_is_on_both_sides() -> None:
    texts = documents([f"text {number % 30}" for number in range(50)])
    staying, drawn = drawn_apart(texts, 0.2, SPLIT_SEED)
    assert sorted(staying + drawn) == [*range(50)]
    assert not {texts.texts[place] for place in staying} & {texts.texts[place] for place in drawn}
    assert len({texts.texts[place] for place in drawn}) == 6
    assert texts.note == ("training documents with the text of another: 20; validation is drawn text by text")


def test_one_text_alone_cannot_be_split() -> None:
    with pytest.raises(ValueError, match="n_samples=1"):
        drawn_apart(documents(["same"] * 9), 0.2, SPLIT_SEED)


def test_documents_to_measure_on_that_training_has_are_counted(tmp_path: Path) -> None:
    for name, texts in (
        ("train", ("one", "two", "three")),
        ("valid", ("two", "four")),
        ("test", ("one", "three", "five")),
    ):
        (tmp_path / f"{name}.txt").write_text("".join(f"A\t{text}\n" for text in texts), encoding="utf-8")
    files = {f"{key}_file": str(tmp_path / f"{name}.txt")
             for key, name in (("training", "train"), ("val", "valid"), ("test", "test"))}  # fmt: skip
    corpus = load_corpus(load_config("plant.yml", files))
    notes = [split.note for split in corpus.splits]
    what, end = "documents with the text of a training document", "what is measured on these is too good"
    assert not notes[0]
    assert notes[1:] == [f"validation {what}: 1; {end}", f"test {what}: 2; {end}"]
