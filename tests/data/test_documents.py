from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from plant_plugin.config import load_config
from plant_plugin.config.options import EvidenceOptions
from plant_plugin.data.documents import Corpus, Split, label_hash, load_corpus
from plant_plugin.errors import DataError


def configuration(folder: Path, train: str = "", val: str | None = None, test: str | None = None, **keys):
    """The keys that load_corpus reads; contents are written to files of the folder."""
    values = {
        "training_file": None, "val_file": None, "test_file": None, "label_file": None, "val_size": 0.2,
        "merge_train_val": False, "data_format": "txt", "remove_no_label_data": False, "include_test_labels": False,
        "allow_bad_lines": False, "text_column": "text", "labels_column": "labels", "label_separator": None,
        "encoding": None, "cache_dir": str(folder / "cache"), "eval": False,
    }  # fmt: skip
    for key, content in (("training_file", train), ("val_file", val), ("test_file", test)):
        if content is not None and not (key == "training_file" and keys.get("eval")):
            (folder / key).write_text(content, encoding="utf-8")
            values[key] = str(folder / key)
    return SimpleNamespace(**{"evidence": EvidenceOptions(), **values, **keys})


TRAIN = "".join(f"l{number % 4} common\tword{number}\n" for number in range(20))


def test_files_given(tmp_path: Path) -> None:
    config = configuration(tmp_path, "b a\tx\n\tempty\n", "c\ty\n", "d a\tz\nd\tq\n")
    corpus = load_corpus(config)
    assert corpus.label_names == ["a", "b", "c"]
    assert corpus.train.texts == ["x", "empty"]
    assert corpus.val is not None
    assert corpus.val.texts == ["y"]
    assert corpus.counts == {
        "read": 5, "dropped": 0, "without_labels": 1,
        "labels_unseen_in_training": 1, "dropped_labels": 2, "dropped_training_labels": 0,
    }  # fmt: skip
    assert corpus.test is not None
    np.testing.assert_array_equal(corpus.label_matrix(corpus.train).toarray(), [[1, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(corpus.label_matrix(corpus.test).toarray(), [[1, 0, 0], [0, 0, 0]])
    assert corpus.label_matrix(corpus.test).dtype == np.float32


def test_include_test_labels(tmp_path: Path) -> None:
    corpus = load_corpus(configuration(tmp_path, "a\tx\n", "b\ty\n", "d\tz\n", include_test_labels=True))
    assert corpus.label_names == ["a", "b", "d"]
    assert corpus.counts["dropped_labels"] == 0
    assert corpus.counts["labels_unseen_in_training"] == 1


def test_include_test_labels_without_test_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="test file"):
        load_corpus(configuration(tmp_path, "a\tx\n", "b\ty\n", include_test_labels=True))


def test_label_file(tmp_path: Path) -> None:
    (tmp_path / "labels").write_text("z\n a \n\nz\n", encoding="utf-8")
    corpus = load_corpus(configuration(tmp_path, "a b\tx\n", "b\ty\n", label_file=str(tmp_path / "labels")))
    assert corpus.label_names == ["a", "z"]
    assert corpus.counts["dropped_training_labels"] == 2


@pytest.mark.parametrize(("content", "told"), [(None, "no such file"), (b"\xff", "not valid UTF-8")])
def test_label_file_unreadable(tmp_path: Path, content: bytes | None, told: str) -> None:
    if content:
        (tmp_path / "labels").write_bytes(content)
    with pytest.raises(DataError, match=f"labels.*{told}"):
        load_corpus(configuration(tmp_path, "a\tx\n", "b\ty\n", label_file=str(tmp_path / "labels")))


def test_label_file_empty(tmp_path: Path) -> None:
    (tmp_path / "labels").write_text("\n")
    with pytest.raises(DataError, match="label set is empty"):
        load_corpus(configuration(tmp_path, "a\tx\n", "b\ty\n", label_file=str(tmp_path / "labels")))


@pytest.mark.parametrize(("val_size", "expected"), [(0.2, 4), (0.01, 1), (5, 5), (5.0, 5)])
def test_val_size(tmp_path: Path, val_size: float, expected: int) -> None:
    corpus = load_corpus(configuration(tmp_path, TRAIN, val_size=val_size))
    assert corpus.val is not None
    assert len(corpus.val) == expected
    assert len(corpus.train) == 20 - expected
    assert set(corpus.val.texts).isdisjoint(corpus.train.texts)


@pytest.mark.parametrize("val_size", [20, 25, 1.5])
def test_val_size_leaves_nothing(tmp_path: Path, val_size: float) -> None:
    with pytest.raises(DataError, match="validation documents left"):
        load_corpus(configuration(tmp_path, TRAIN, val_size=val_size))


def test_no_validation_at_all(tmp_path: Path) -> None:
    assert load_corpus(configuration(tmp_path, TRAIN, val_size=0)).val is None
    merged = load_corpus(configuration(tmp_path, TRAIN, "v\tlast\n", merge_train_val=True))
    assert merged.val is None
    assert merged.train.texts[-1] == "last"
    assert len(merged.train) == 21
    assert "v" in merged.label_names


def test_remove_no_label_data_spares_test(tmp_path: Path) -> None:
    files = ("a\tx\n\tgone\n", "b\ty\n\tgone\n", "\tstays\na\tz\n")
    corpus = load_corpus(configuration(tmp_path, *files, remove_no_label_data=True))
    assert [len(split) for split in corpus.splits] == [1, 1, 2]


def test_validation_file_without_labels_is_emptied(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no validation documents left"):
        load_corpus(configuration(tmp_path, "a\tx\n", "\ty\n", remove_no_label_data=True))


@pytest.mark.parametrize("remove", [True, False])
def test_no_label_in_training(tmp_path: Path, remove: bool) -> None:
    with pytest.raises(DataError, match="no training document"):
        load_corpus(configuration(tmp_path, "\tx\n\ty\n", "a\tz\n", remove_no_label_data=remove))


def test_test_file_without_documents(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no document"):
        load_corpus(configuration(tmp_path, "a\tx\n", "b\ty\n", "\n"))


def test_training_file_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no training file"):
        load_corpus(configuration(tmp_path, training_file=None))


def test_allow_bad_lines_reaches_the_reader(tmp_path: Path) -> None:
    train = "a\tx\nb\ty\ttail\n" + TRAIN
    with pytest.raises(DataError, match="line 2"):
        load_corpus(configuration(tmp_path, train))
    corpus = load_corpus(configuration(tmp_path, train, allow_bad_lines=True))
    assert corpus.counts["dropped"] == 1
    assert corpus.counts["read"] == 21


def test_eval_takes_the_label_set_of_the_checkpoint(tmp_path: Path) -> None:
    corpus = load_corpus(configuration(tmp_path, test="a b\tx\n", eval=True))
    assert len(corpus.train) == 0
    assert corpus.val is None
    known = corpus.with_labels(["b", "z"])
    assert known.counts["dropped_labels"] == 1
    np.testing.assert_array_equal(known.label_matrix(known.splits[1]).toarray(), [[1, 0]])


def test_hashes() -> None:
    def split(texts: list[str], labels: list[list[str]]) -> Split:
        return Split(texts, labels, name="train")

    first = split(["ab", "c"], [["l"], []])
    assert first.hash() == split(["ab", "c"], [["l"], []]).hash()
    others = [split(["a", "bc"], [["l"], []]), split(["ab", "c"], [[], ["l"]]), split(["c", "ab"], [[], ["l"]])]
    assert len({first.hash(), *(other.hash() for other in others)}) == 4
    assert split(["ab"], [["c"]]).hash() != split(["a"], [["bc"]]).hash()
    assert label_hash(["a", "b"]) != label_hash(["b", "a"])


def test_duplicate_labels_count_once() -> None:
    corpus = Corpus(Split(["x"], [["b", "a", "b"]], name="train"), None, None, ["a", "b"])
    np.testing.assert_array_equal(corpus.label_matrix(corpus.train).toarray(), [[1, 1]])


@pytest.mark.integration
@pytest.mark.parametrize("keys", [{}, {"val_size": 7}, {"merge_train_val": True}, {"remove_no_label_data": True}])
@pytest.mark.parametrize("with_ids", [True, False])
def test_same_corpus_as_libmultilabel(tmp_path: Path, keys: dict, with_ids: bool) -> None:
    from libmultilabel.nn.data_utils import load_datasets, load_or_build_label

    lines = [*TRAIN.splitlines(), "\tnothing", "z.1 é\tlast"]
    train = "".join(f"d{row}\t{line}\n" if with_ids else f"{line}\n" for row, line in enumerate(lines))
    config = configuration(tmp_path, train, test=train, **keys)
    corpus = load_corpus(config)
    theirs = load_datasets(
        config.training_file, config.test_file, None, config.val_size, config.merge_train_val, False,
        config.remove_no_label_data,
    )  # fmt: skip
    assert [split.name for split in corpus.splits] == list(theirs)
    for split in corpus.splits:
        assert split.texts == [document["text"] for document in theirs[split.name]]
        assert split.labels == [document["label"] for document in theirs[split.name]]
        if split.ids is not None:
            assert split.ids == [document["index"] for document in theirs[split.name]]
    assert corpus.label_names == load_or_build_label(theirs)


@pytest.mark.parametrize("ending", ["txt", "csv", "jsonl"])
def test_a_stated_encoding_is_that_of_every_text_file(tmp_path: Path, ending: str) -> None:
    lines = {"txt": "I10\thipertensión %d\n", "csv": "I10,hipertensión %d\n",
             "jsonl": '{"labels": ["I10"], "text": "hipertensión %d"}\n'}  # fmt: skip
    rows = "".join(lines[ending] % number for number in range(5))
    file = tmp_path / f"train.{ending}"
    file.write_text("labels,text\n" * (ending == "csv") + rows, encoding="latin-1")
    keys = {"training_file": str(file), "model_name": "PLANT", "network_config.encoder": "cnn"}
    corpus = load_corpus(load_config(None, {**keys, "encoding": "latin-1"}))
    assert {text.split()[0] for text in corpus.train.texts} == {"hipertensión"}
    with pytest.raises(DataError, match="UTF-8"):
        load_corpus(load_config(None, keys))
    with pytest.raises(DataError, match="there is no encoding 'latin-x'"):
        load_corpus(load_config(None, {**keys, "encoding": "latin-x"}))
