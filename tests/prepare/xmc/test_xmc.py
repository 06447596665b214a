from __future__ import annotations

import gzip
import importlib.util
import json
import random
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from made_up_xmc import TEST, TRAIN, WRITERS, joined, read_back, text_lines

from plant_plugin.cli import plant
from plant_plugin.commands.configurations import text_of
from plant_plugin.data.xmc_sparse import read_pairs, read_xmc
from plant_plugin.errors import DataError, PlantError
from plant_plugin.prepare.xmc.xmc import PROPENSITIES, prepare_xmc, propensities_of

SHAPES = pytest.mark.parametrize("shape", WRITERS)


def written(shape: str, tmp_path: Path) -> Path:
    folder = tmp_path / shape
    folder.mkdir()
    spaces = shape != "attention_xml"
    WRITERS[shape](folder, TRAIN if spaces else joined(TRAIN), TEST if spaces else joined(TEST))
    return folder


@SHAPES
def test_every_shape_gives_the_same_documents(shape: str, tmp_path: Path) -> None:
    made = prepare_xmc(written(shape, tmp_path), tmp_path / "out")
    expected = [joined(split) if shape == "attention_xml" else split for split in (TRAIN, TEST)]
    assert [read_back(tmp_path / "out", split) for split in ("train", "test")] == expected
    counts = made["counts"]
    assert counts["shape"] == shape
    assert (counts["train"], counts["train_without_labels"], counts["train_without_text"]) == (3, 1, 0)
    assert (counts["test"], counts["test_without_labels"], counts["test_without_text"]) == (2, 0, 1)
    assert (counts["labels"], counts["labels_in_training"], counts["test_labels_unseen_in_training"]) == (3, 2, 1)


@SHAPES
def test_two_runs_are_alike_and_a_dry_run_tells_the_same(shape: str, tmp_path: Path) -> None:
    source = written(shape, tmp_path)
    told = prepare_xmc(source, tmp_path / "none", dry_run=True)
    assert not (tmp_path / "none").exists()
    assert told == prepare_xmc(source, tmp_path / "one")
    prepare_xmc(source, tmp_path / "two")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


@pytest.mark.skipif(importlib.util.find_spec("xclib") is None, reason="needs pyxclib")
@pytest.mark.filterwarnings("ignore")  # it warns where the last labels of the header are not used
@pytest.mark.parametrize("seed", range(20))
def test_pyxclib_reads_the_same_labels(seed: int, tmp_path: Path) -> None:
    """With lines that hold labels alone, features alone or nothing: pyxclib leaves the last kind out of one shape."""
    from xclib.data import data_utils

    draw = random.Random(seed)
    rows = [
        (draw.sample(range(5), draw.randint(0, 3)), sorted(draw.sample(range(4), draw.randint(0, 2))))
        for _ in range(draw.randint(1, 9))
    ]
    rows[draw.randrange(len(rows))] = ([4], [0])
    sparse = [",".join(map(str, labels)) + " " + " ".join(f"{f}:0.5" for f in features) for labels, features in rows]
    text_lines(tmp_path / "sparse.txt", [f"{len(rows)} 4 5", *sparse])
    text_lines(tmp_path / "pairs.txt", [f"{len(rows)} 5", *(" ".join(f"{n}:1" for n in labels) for labels, _ in rows)])
    ours = [row.labels for row in read_xmc(tmp_path / "sparse.txt") if row.labels or row.features]
    theirs = data_utils.read_data(str(tmp_path / "sparse.txt"))[1]
    assert [sorted(labels) for labels in ours] == [sorted(row.indices.tolist()) for row in theirs]
    ours = list(read_pairs(tmp_path / "pairs.txt"))
    theirs = data_utils.read_sparse_file(str(tmp_path / "pairs.txt"), safe_read=False)
    assert [sorted(labels) for labels in ours] == [sorted(row.indices.tolist()) for row in theirs]


def test_what_is_read_is_not_replaced(tmp_path: Path) -> None:
    content = b"1 2 1\n0 0:1 1:2\n"
    for name in ("train.txt", "test.txt"):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "words.txt").write_text("a\nb\n")
    with pytest.raises(PlantError, match=r"/test\.txt: this is read"):
        prepare_xmc(tmp_path, tmp_path, vocabulary=tmp_path / "words.txt")
    assert (tmp_path / "train.txt").read_bytes() == content


def test_a_vocabulary_makes_texts_of_bags(tmp_path: Path) -> None:
    text_lines(tmp_path / "in" / "train.txt", ["3 3 2", "1,0 0:2 2:1", " 1:0.5 2:3", "1"])
    text_lines(tmp_path / "in" / "test.txt", ["1 3 2", "0 1:1"])
    text_lines(tmp_path / "words.txt", ["fever", "cough", "ankle"])
    prepare_xmc(tmp_path / "in", tmp_path / "out", vocabulary=tmp_path / "words.txt")
    # Whole numbers are counts; other values say no more than that the word is there.
    assert (tmp_path / "out" / "train.txt").read_text() == "0 1\tfever fever ankle\n\tcough ankle\n1\t\n"
    assert (tmp_path / "out" / "label_names.tsv").read_text() == "0\t0\n1\t1\n"
    text_lines(tmp_path / "words.txt", ["fever", "cough"])
    with pytest.raises(DataError, match=r"words.txt: 2 words for 3 features"):
        prepare_xmc(tmp_path / "in", tmp_path / "out", vocabulary=tmp_path / "words.txt")


def test_title_and_content_and_their_line_breaks(tmp_path: Path) -> None:
    source = written("json", tmp_path)
    entry = {"uid": "1", "title": "A\ttitle", "content": "two\r\nlines", "target_ind": [1, 0, 1]}
    with gzip.open(source / "tst.json.gz", "wt") as stream:
        stream.write(json.dumps(entry) + "\n" + json.dumps({"title": "T", "target_ind": []}))
    prepare_xmc(source, tmp_path / "out")
    assert (tmp_path / "out" / "test.txt").read_text() == "0 1\tA title two  lines\n\tT\n"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("EURLex-4K", "default"), ("LF-WikiSeeAlso-320K", "wikipedia"), ("Wikipedia-500K", "wikipedia"),
        ("wiki10-31k", "default"), ("LF-AmazonTitles-131K", "amazon"),
    ],
)  # fmt: skip
def test_propensities_by_name(name: str, kind: str, tmp_path: Path) -> None:
    assert propensities_of(name) == kind
    written("json", tmp_path).rename(tmp_path / name)
    prepare_xmc(tmp_path / name, tmp_path / "out")
    a, b = PROPENSITIES[kind]
    assert f"propensity_a: {a}\npropensity_b: {b}\n" in (tmp_path / "out" / "propensity.yml").read_text()


def test_the_command(tmp_path: Path) -> None:
    source = written("npz", tmp_path)
    done = CliRunner().invoke(plant, ["prepare", "xmc", str(source), str(tmp_path / "o"), "--propensities", "amazon"])
    assert done.exit_code == 0, done.output
    assert "propensity_a: 0.6" in (tmp_path / "o" / "propensity.yml").read_text()
    assert "nobody" not in done.output


def test_another_encoding(tmp_path: Path) -> None:
    source = written("npz", tmp_path)
    (source / "X.tst.txt").write_bytes("Fi\xe8vre\nx\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"not valid UTF-8"):
        prepare_xmc(source, tmp_path / "out")
    (source / "X.trn.txt").write_bytes(b"a\nb\nc\n")
    prepare_xmc(source, tmp_path / "out", encoding="latin-1")
    assert "Fièvre" in (tmp_path / "out" / "test.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "UTF-8", "utf_8_sig"])
@SHAPES
def test_every_file_of_every_shape_is_of_the_encoding(shape: str, encoding: str, tmp_path: Path) -> None:
    train, test = [(["fièvre"], "café"), (["été"], "b")], [(["été"], "über")]
    source = tmp_path / shape
    source.mkdir()
    WRITERS[shape](source, train, test)
    for path in source.rglob("*.*"):
        if path.suffix != ".npz" and path.is_file():
            packed = path.suffix == ".gz"
            text = (gzip.decompress(path.read_bytes()) if packed else path.read_bytes()).decode()
            text = re.sub(r"\\u(....)", lambda match: chr(int(match[1], 16)), text)
            content = text.encode(encoding)
            path.write_bytes(gzip.compress(content) if packed else content)
    prepare_xmc(source, tmp_path / "out", encoding=encoding)
    assert [read_back(tmp_path / "out", split) for split in ("train", "test")] == [train, test]
    if encoding in ("latin-1", "cp1252"):
        with pytest.raises(DataError, match=r"not valid UTF-8[\s\S]*--encoding") as caught:
            prepare_xmc(source, tmp_path / "other")
        assert "iconv" not in str(caught.value)


def test_a_vocabulary_is_of_the_encoding_too(tmp_path: Path) -> None:
    for split in ("train", "test"):
        text_lines(tmp_path / "in" / f"{split}.txt", ["1 2 2", "1,0 0:2 1:1"])
    (tmp_path / "words.txt").write_bytes("fièvre\ntoux\n".encode("latin-1"))
    prepare_xmc(tmp_path / "in", tmp_path / "out", vocabulary=tmp_path / "words.txt", encoding="latin-1")
    assert (tmp_path / "out" / "test.txt").read_text(encoding="utf-8") == "0 1\tfièvre fièvre toux\n"


@pytest.mark.parametrize("encoding", ["nothing", "hex", "undefined", "a\0b"])
def test_what_is_no_encoding(encoding: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no encoding"):
        prepare_xmc(written("json", tmp_path), tmp_path / "out", encoding=encoding)


def test_headers_with_tabs(tmp_path: Path) -> None:
    for split in ("train", "test"):
        text_lines(tmp_path / "in" / f"{split}.txt", ["1\t2\t2", "1,0 0:2\t1:1"])
    text_lines(tmp_path / "words.txt", ["a", "b"])
    prepare_xmc(tmp_path / "in", tmp_path / "out", vocabulary=tmp_path / "words.txt")
    assert (tmp_path / "out" / "test.txt").read_text() == "0 1\ta a b\n"
    source = written("pairs", tmp_path)
    (source / "trn_X_Y.txt").write_text((source / "trn_X_Y.txt").read_text().replace("3 3", "3\t3", 1))
    assert prepare_xmc(source, tmp_path / "pairs_out")["counts"]["train"] == 3


def spoil_json(line: bytes) -> bytes:
    return gzip.compress(b'{"target_ind": [0]}\n' + line + b"\n", mtime=0)


@pytest.mark.parametrize(
    ("shape", "name", "content", "message"),
    [
        ("sparse", "some_train.txt", b"3 3 3\n0 0:1\n4 0:1\n1 0:1\n", r"line 3: a label outside the 3 labels"),
        ("sparse", "some_train.txt", b"3 3 3\n0 0:1\n1 3:1\n1 0:1\n", r"line 3: a feature outside the 3 features"),
        ("sparse", "some_train.txt", b"3 3 3\n0 0:1\n1 x:1\n1 0:1\n", r"line 3: not of the format"),
        ("sparse", "some_train.txt", b"3 3 3\n0 0:1\n1 0:1\n", r"documents: 2, and the first line says 3"),
        ("sparse", "some_train.txt", b"1 3 3\n0 0:1\n1 0:1\n", r"more than the 1 documents"),
        ("sparse", "some_train.txt", b"3 3 4\n0 0:1\n1 0:1\n1 0:1\n", r"numbers of labels differ: train 4, test 3"),
        ("sparse", "some_train.txt", b"0 0:1\n1 0:1\n1 0:1\n", r"only a file for test"),
        ("sparse", "other_train.txt", b"1 3 3\n0 0:1\n", r"several files for train: other_train.txt, some_train.txt"),
        ("sparse", "test_raw_texts.txt", b"one\n", r"texts: 1, lists of labels: 2"),
        ("pairs", "trn_X_Y.txt", b"3 3\n0:1\n1:1 3:1\n\n", r"line 3: a label outside the 3 labels"),
        ("pairs", "trn_X_Y.txt", b"3 3\n0:1\nsecret\n\n", r"line 3: not of the format"),
        ("pairs", "trn_X_Y.txt", b"3\n0:1\n", r"line 1: the first line has to be the numbers of documents and columns"),
        ("pairs", "raw_data/tst_raw_texts.txt", b"secret\nb\nc\n", r"texts: 3, lists of labels: 2"),
        ("pairs", "lbl_raw_texts.txt", b"secret\n", r"names: 1, labels: 3"),
        ("npz", "X.trn.txt", b"a\nb\n", r"texts: 2, lists of labels: 3"),
        ("npz", "Y.trn.npz", b"secret", r"Y.trn.npz: not a sparse matrix"),
        ("attention_xml", "train_labels.txt", b"a\nb\n", r"texts: 3, lists of labels: 2"),
        ("json", "trn.json.gz", spoil_json(b'{"title": "secret'), r"trn.json.gz, line 2: broken JSON"),
        ("json", "trn.json.gz", spoil_json(b"[1]"), r"line 2: broken JSON"),
        ("json", "trn.json.gz", spoil_json(b'{"title": "secret"}'), r"line 2: no list target_ind"),
        ("json", "trn.json.gz", spoil_json(b'{"target_ind": ["1"]}'), r"line 2: no list target_ind"),
        ("json", "trn.json.gz", spoil_json(b'{"target_ind": [3]}'), r"line 2: label 3, but lbl.json.gz has 3 labels"),
        ("json", "trn.json.gz", spoil_json(b'{"target_ind": [1]}')[:-9], r"the compressed file is cut off"),
        ("json", "trn.json.gz", gzip.compress(b"", mtime=0), r"no train documents"),
    ],
)  # fmt: skip
def test_bad_input(shape: str, name: str, content: bytes, message: str, tmp_path: Path) -> None:
    source = written(shape, tmp_path)
    (source / name).write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        prepare_xmc(source, tmp_path / "out")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("shape", "name", "message"),
    [
        ("json", "lbl.json.gz", r"lbl.json.gz is missing"),
        ("json", "tst.json.gz", r"tst.json is missing"),
        ("npz", "X.trn.txt", r"labels without texts"),
        ("sparse", "some_test.txt", r"only a file for train"),
        ("pairs", "trn_X_Y.txt", r"none of the shapes"),
    ],
)
def test_missing_files(shape: str, name: str, message: str, tmp_path: Path) -> None:
    source = written(shape, tmp_path)
    (source / name).unlink()
    with pytest.raises(DataError, match=message):
        prepare_xmc(source, tmp_path / "out")
    with pytest.raises(DataError, match="no such folder"):
        prepare_xmc(tmp_path / "none", tmp_path / "out")


NUMBERED = pytest.mark.parametrize("shape", [shape for shape in WRITERS if shape != "attention_xml"])


@NUMBERED
def test_filters_of_test_documents_come_along(shape: str, tmp_path: Path) -> None:
    source = written(shape, tmp_path)
    without = prepare_xmc(source, tmp_path / "without")
    assert "test_filter" not in without["counts"]
    assert not (tmp_path / "without" / "test_filter.txt").exists()
    text_lines(source / "filter_labels_test.txt", ["0 2", "1 0", "1 2"])
    made = prepare_xmc(source, tmp_path / "out")
    assert made["counts"] == {**without["counts"], "test_filter": 3}
    assert (tmp_path / "out" / "test_filter.txt").read_text() == "0\t2\n1\t0\n1\t2\n"
    sources = json.loads((tmp_path / "out" / "provenance.json").read_text())["sources"]
    assert "filter_labels_test.txt" in json.dumps(sources)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0 2", "2 0"], r"filter_labels_test.txt, line 2: not one of 2 test documents and one of 3 labels"),
        (["0 3"], r"line 1: not one of 2"),
        (["0 -1"], r"line 1: not one of 2"),
        (["0 2", "0"], r"line 2: not of the format"),
        (["secret 2"], r"line 1: not of the format"),
    ],
)
def test_filters_of_other_data(lines: list[str], message: str, tmp_path: Path) -> None:
    source = written("json", tmp_path)
    text_lines(source / "filter_labels_test.txt", lines)
    with pytest.raises(DataError, match=message) as caught:
        prepare_xmc(source, tmp_path / "out")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_filters_need_labels_by_number(tmp_path: Path) -> None:
    source = written("attention_xml", tmp_path)
    text_lines(source / "filter_labels_test.txt", ["0 2"])
    with pytest.raises(DataError, match="numbers labels, which are names here"):
        prepare_xmc(source, tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "archive"), [("eurlex4k", "EUR-Lex"), ("wiki10_31k", "Wiki10-31K"), ("amazon670k", "Amazon-670K")]
)
@pytest.mark.parametrize("model", ["plant", "linear"])
def test_configurations_read_what_is_written_and_have_its_propensities(model: str, name: str, archive: str) -> None:
    text = text_of(f"{model}_{name}")
    assert f"# first: plant prepare xmc {archive} data/{name}\n" in text
    found = yaml.safe_load(text)
    propensities = found.get("propensity_a", 0.55), found.get("propensity_b", 1.5)
    assert propensities == PROPENSITIES[propensities_of(archive)]
    assert (found["training_file"], found["test_file"]) == (f"data/{name}/train.txt", f"data/{name}/test.txt")
