from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from plant_plugin.data.tables import read_any
from plant_plugin.data.text import text_lines
from plant_plugin.errors import DataError

# Well-formed files, with what the format's corners look like; the integration test below gives them to LibMultiLabel.
WELL_FORMED = {
    "two columns": b"a b\ttext one\nb\ttext two\n",
    "three columns": b"7\ta\tx\n8\tb c\ty\n",
    "blank lines": b"a b\ttext one\n\n   \nb\ttext two\n\n",
    "windows line ends": b"a\tx\r\nb\ty\r\n",
    "old line ends": b"a\tx\rb\ty\r",
    "byte order mark": b"\xef\xbb\xbfa\tx\nb\ty\n",
    "empty text": b"a\t\nb\ty\n",
    "empty label list": b"\tx\nb\ty\n",
    "nothing but a TAB": b"a\tx\n\t\nb\ty\n",
    "space around": b" a\t x \nb\ty\n",
    "id with space": b" q\ta\tx\nw\tb\ty\n",
    "no last line end": b"a\tx\nb\ty",
    "quotes": b'a\t"x\nb\ty"z\n',
    "hashes": b"#a\tx # y\n# b\ty\n",
    "other line separators stay": "a\té\u2028z\x85q\x0b\x0cv\nb\tñ\n".encode(),
    "hard space": "\u00a0a\tx\nb\ty\n".encode(),
}


def write(folder: Path, content: bytes, name: str = "train.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_two_columns(tmp_path: Path) -> None:
    documents = read_any(write(tmp_path, b"a b\ttext  one\n\n   \n\tno label\n"))
    assert documents.texts == ["text  one", "no label"]
    assert documents.labels == [["a", "b"], []]
    assert documents.ids is None
    assert (len(documents), documents.dropped, documents.without_labels) == (2, 0, 1)


def test_three_columns_and_values_stay_strings(tmp_path: Path) -> None:
    documents = read_any(write(tmp_path, b"007\t038.9\t12\n008\t250.00\t1e3\n009\tNA\tnull\n"))
    assert documents.ids == ["007", "008", "009"]
    assert documents.labels == [["038.9"], ["250.00"], ["NA"]]
    assert documents.texts == ["12", "1e3", "null"]


@pytest.mark.parametrize(("ending", "compress"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_compressed(tmp_path: Path, ending: str, compress) -> None:
    content = "a\té\nb\ty\n".encode()
    documents = read_any(write(tmp_path, compress(content), f"train.txt.{ending}"))
    assert documents.texts == ["é", "y"]


@pytest.mark.parametrize(("ending", "compress"), [("gz", gzip.compress), ("xz", lzma.compress)])
@pytest.mark.parametrize("damage", ["cut", "plain", "flipped"])
def test_corrupt_compressed_file(tmp_path: Path, ending: str, compress, damage: str) -> None:
    whole = compress(b"".join(b"a\tword%d secret\n" % number for number in range(2000)))
    middle = len(whole) // 2
    content = {
        "cut": whole[:middle],
        "plain": b"a\tsecret\n",
        "flipped": whole[:middle] + bytes(255 - byte for byte in whole[middle : middle + 40]) + whole[middle + 40 :],
    }[damage]
    with pytest.raises(DataError, match="cut off or not") as caught:
        read_any(write(tmp_path, content, f"train.txt.{ending}"))
    assert "secret" not in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_any(tmp_path / "none.txt")


def test_folder_instead_of_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_any(tmp_path, form="txt")


@pytest.mark.parametrize("content", [b"", b"\n  \n\n", b"\xef\xbb\xbf"])
def test_empty_file(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match="no document"):
        read_any(write(tmp_path, content))


@pytest.mark.parametrize(("content", "found"), [(b"\nonly secret text\n", 1), (b"\ni\ta\tx\tsecret\n", 4)])
@pytest.mark.parametrize("allow", [True, False])
def test_first_line_of_wrong_width(tmp_path: Path, content: bytes, found: int, allow: bool) -> None:
    with pytest.raises(DataError, match=f"line 2: .*found {found}") as caught:
        read_any(write(tmp_path, content), allow_bad_lines=allow)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("header", ["labels\ttext", "id\tLabels\tText"])
def test_a_header_is_no_document(tmp_path: Path, header: str) -> None:
    document = "7\ta\tsecret" if header.startswith("id") else "a\tsecret"
    with pytest.raises(DataError, match="line 1: a header"):
        read_any(write(tmp_path, f"{header}\n{document}\n".encode()))


BAD_LINES = b"a\tx\nb\ty secret\ttail\nc\tz\nsecret\n"


def test_tab_inside_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2: columns: 3, and the first line has 2") as caught:
        read_any(write(tmp_path, BAD_LINES))
    assert "secret" not in str(caught.value)
    assert "--allow_bad_lines" in str(caught.value)


def test_an_encoding_that_nobody_knows_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(DataError, match="there is no encoding 'nonsense'"),
        text_lines(write(tmp_path, b""), encoding="nonsense"),
    ):
        pass


def test_allow_bad_lines_drops_and_counts(tmp_path: Path) -> None:
    documents = read_any(write(tmp_path, BAD_LINES), allow_bad_lines=True)
    assert documents.texts == ["x", "z"]
    assert (len(documents), documents.dropped) == (2, 2)


@pytest.mark.parametrize("allow", [True, False])
def test_invalid_utf8_names_the_line(tmp_path: Path, allow: bool) -> None:
    with pytest.raises(DataError, match="line 3: not valid UTF-8") as caught:
        read_any(write(tmp_path, b"a\tx\n\nb\tsecret caf\xe9\n"), allow_bad_lines=allow)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None  # the decoder's own message holds the bytes


@pytest.mark.integration
@pytest.mark.parametrize("name", WELL_FORMED)
def test_same_documents_as_libmultilabel(tmp_path: Path, name: str) -> None:
    from libmultilabel.nn.data_utils import _load_raw_data

    path = write(tmp_path, WELL_FORMED[name])
    theirs = _load_raw_data(str(path), is_test=True, tokenize_text=False)
    ours = read_any(path)
    assert ours.texts == [document["text"] for document in theirs]
    assert ours.labels == [document["label"] for document in theirs]
    if ours.ids is not None:
        assert ours.ids == [document["index"] for document in theirs]
