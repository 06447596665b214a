"""Lines of other programs, read by every command that reads documents, or refused with what to do."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.data.foreign_formats import as_text_format
from plant_plugin.data.foreign_lines import check_columns, fasttext_document, is_fasttext
from plant_plugin.data.tables import Columns, Table, read_any
from plant_plugin.errors import DataError

FASTTEXT = "\n__label__sauce __label__food-safety How  much\tpot?\n\nbread __label__dough rises\nnothing here\n"


@pytest.mark.parametrize("name", ["cooking.train", "cooking.txt", "cooking.txt.gz"])
def test_fasttext_is_known_by_its_content(name: str, tmp_path: Path) -> None:
    content = FASTTEXT.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    documents = read_any(tmp_path / name)
    assert documents.labels == [["sauce", "food-safety"], ["dough"], []]
    assert documents.texts == ["How much pot?", "bread rises", "nothing here"]
    of_prediction = list(Table(tmp_path / name, columns=Columns(labels=None)))
    assert [document.text for document in of_prediction] == documents.texts
    assert CliRunner().invoke(plant, ["stats", str(tmp_path / name)]).exit_code == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("__label__a b\n__label__ secret\n", "line 2: a label without a name"),
        ("__label__a,__label__b secret\n", "line 1: two labels without a space"),
        ('"__label__a secret"\n', "line 1: the line is quoted"),
        ("secret text\t<http://a/b> <http://a/c>\n", "line 1: URIs where the text should be"),
        ("secret\thttp://a/b\n", "line 1: URIs"),
        ("__label__a, secret\n", "line 1: a comma after a label"),
        ("__label__a x\n__LABEL__b secret\n", "line 2: a label whose prefix has other capitals"),
        ("labels\ttext\n", "line 1: a header"),
    ],
)
def test_what_is_not_read_is_named(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        read_any(tmp_path / "raw.txt")
    assert "secret" not in str(caught.value)


def test_other_lines_stay_as_they_are() -> None:
    for lines in (["a\tb __label__c\n"], ["\n", "a\tb\n"], []):
        assert list(as_text_format(iter(lines), "x")) == lines
    assert not is_fasttext("a\t__label__b")
    assert is_fasttext("__label__b\ta")
    assert fasttext_document("#a x #a #b", "#") == (["a", "b"], "x")
    check_columns(["a", "see http://a/b"], "x")
