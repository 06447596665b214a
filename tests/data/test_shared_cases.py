"""Small files of kinds that people bring: each case of ``../shared/cases`` is read, or refused with what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.data.tables import read_any
from plant_plugin.errors import DataError

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="../shared/cases is absent")


@pytest.mark.parametrize(
    ("file", "labels"),
    [
        ("csv_comma_no_space/t.csv", [["I10", "E11.9"], ["I10"]]),
        ("csv_multiword_label_split/t.csv", [["food_safety", "public_health"], ["public_health"]]),
        ("csv_pipe/t.csv", [["I10", "E11.9"], ["I10"]]),
        ("csv_semicolon/t.csv", [["I10"]]),
        ("csv_semicolon/sep.csv", [["I10"]]),
        ("pecos_text2text/t.txt", [["0"], ["1", "2"]]),
        ("utf16_csv/t.csv", [["I10"]]),
    ],
)
def test_what_is_plain_is_read(file: str, labels: list[list[str]]) -> None:
    assert read_any(CASES / file).labels == labels


@pytest.mark.parametrize(
    ("file", "what"), [("header_not_known/t.txt", "line 1: .*header"), ("txt_comma_space/t.txt", "--label_separator")]
)
def test_the_rest_is_refused(file: str, what: str) -> None:
    with pytest.raises(DataError, match=rf"(?s){what}"):
        read_any(CASES / file)


def test_labels_alike_and_columns_of_stats() -> None:
    stats = CliRunner().invoke(plant, ["stats", str(CASES / "labels_alike" / "t.txt")])
    assert "'E11.9' and 'E11.9\\u200b' and 'E119'" in stats.output
    table = str(CASES / "stats_no_column_flag" / "t.csv")
    assert "--text_column names it; one of note, codes" in CliRunner().invoke(plant, ["stats", table]).output
    named = CliRunner().invoke(plant, ["stats", table, "--labels_column", "codes", "--text_column", "note"])
    assert named.exit_code == 0


def test_texts_without_spaces_and_decomposed_texts(tmp_path: Path) -> None:
    chinese = CASES / "chinese_without_spaces" / "train.txt"
    result = CliRunner().invoke(plant, ["train", str(chinese), "--strategy", "planted_scores", "--result_dir",
                                        str(tmp_path / "cut")])  # fmt: skip
    assert "the texts have no spaces between words: each of their characters is a word" in result.output
    assert result.exit_code == 0, result.output
    shutil.copytree(CASES / "nfd_text", tmp_path / "nfd")
    trained = CliRunner().invoke(plant, ["train", str(tmp_path / "nfd" / "train.txt"), "--strategy", "planted_scores",
                                         "--silent", "--result_dir", str(tmp_path / "runs")])  # fmt: skip
    assert trained.exit_code == 0, trained.output
    [run] = (tmp_path / "runs").iterdir()
    outputs = [CliRunner().invoke(plant, ["predict", str(run), str(tmp_path / "nfd" / f"{form}.txt")]).stdout
               for form in ("nfc", "nfd")]  # fmt: skip
    assert outputs[0] == outputs[1]
    assert '"R50"' in outputs[0]
