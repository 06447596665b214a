"""Texts without spaces between words, from training to explanations."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.config import load_config
from plant_plugin.data.documents import load_corpus
from plant_plugin.data.unspaced import WORD, WordPattern, is_unspaced, without_spaces
from plant_plugin.data.word_tokens import WordTokens, words_of
from plant_plugin.errors import DataError

SCRIPTS = {
    "Chinese": ("高血压病史多年建议随访", ["高", "血", "压"]),
    "Japanese": ("患者は高血圧のため入院した", ["患", "者", "は"]),
    "Thai": ("ผู้ป่วยมีอาการไข้และไอเรื้อรัง", ["ผู้", "ป่", "ว"]),
    "Lao": ("ຄົນເຈັບມີອາການໄຂ້ແລະໄອ", ["ຄົ", "ນ", "ເ"]),
    "Khmer": ("អ្នកជំងឺមានអាការៈក្តៅខ្លួន", ["អ្", "ន", "ក"]),
    "Burmese": ("လူနာတွင်အဖျားနှင့်ချောင်းဆိုးရှိသည်", ["လူ", "နာ", "တွ"]),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_letter_with_its_marks_is_a_word(script: str) -> None:
    text, first = SCRIPTS[script]
    assert is_unspaced(text)
    assert words_of(text)[:3] == first
    assert "".join(WORD.findall(text)) == text  # nothing is lost
    tokens = WordTokens.build([text])
    assert [text[start:end] for start, end in tokens.spans(text, 100)] == words_of(text)


def test_texts_with_spaces_are_read_as_ever() -> None:
    spaced = "high blood pressure", "hipertensión arterial", "kidney 肾", "고혈압 환자의 병력", "ارتفاع ضغط الدم", ""
    for text in (*spaced, "高血压 病史 多年 建议 随访", "肺炎 伴 咳嗽", "ผู้ป่วย มี อาการ ไข้ และ ไอ"):
        assert not is_unspaced(text)
        assert WordPattern(r"\w+").findall(text) == re.findall(r"\w+", text)
    assert words_of("kidney 肾 and liver") == ["kidney", "肾", "and", "liver"]


def test_numbers_and_latin_words_among_letters_stay_whole() -> None:
    assert words_of("患者血压180mmHg，服用aspirin三年") == [
        *"患者血压",
        "180mmhg",
        *"服用",
        "aspirin",
        "年",
    ]  # numbers are no words


def test_a_file_is_told_by_most_of_its_texts() -> None:
    assert without_spaces([text for text, _ in SCRIPTS.values()])
    assert not without_spaces(["高血压病史多年建议随访", "one", "two"])
    assert not without_spaces([])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up Chinese notes: each label has a word of three letters that no other has."""
    folder, drawn = tmp_path_factory.mktemp("chinese"), random.Random(0)
    signs = {"I10": "高血压", "J18": "肺炎症", "E11": "糖尿病", "N18": "肾衰竭", "K29": "胃黏膜"}
    others = "患者入院检查医生建议随访治疗观察记录病史多年服药手术恢复良好饮食睡眠正常"
    for name, number in (("train", 80), ("valid", 30), ("test", 30)):
        lines = []
        for _ in range(number):
            labels = drawn.sample(sorted(signs), drawn.randint(1, 2))
            parts = [
                "".join(drawn.choices(others, k=8)),
                *(signs[label] + "".join(drawn.choices(others, k=6)) for label in labels),
            ]
            lines.append(f"{' '.join(labels)}\t{'，'.join(parts)}。\n")
        (folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    return folder


def test_training_prediction_and_explanation_read_letters(files: Path, tmp_path: Path) -> None:
    flags = ["--strategy", "planted_scores", "--result_dir", str(tmp_path / "runs")]
    trained = CliRunner().invoke(plant, ["train", str(files / "train.txt"), *flags])
    assert trained.exit_code == 0, trained.output
    assert "each letter is read as a word" in trained.output
    [run] = (tmp_path / "runs").iterdir()
    assert json.loads((run / "result.json").read_text())["metrics"]["P@1"] > 0.9
    note = tmp_path / "note.txt"
    note.write_text("患者入院，糖尿病多年。", encoding="utf-8")
    predicted = CliRunner().invoke(plant, ["predict", str(run), str(note), "--top", "1"])
    assert json.loads(predicted.stdout)["labels"][0]["label"] == "E11"
    explained = CliRunner().invoke(plant, ["explain", str(run), str(note), "--label", "E11", "--json"])
    [label] = json.loads(explained.stdout)["labels"] if explained.exit_code == 0 else [{}]
    assert label["planted_terms"][0]["term"] in {"糖 尿", "尿 病", "糖 尿 病", "糖", "尿"}


def test_libmultilabels_own_models_are_told(files: Path) -> None:
    config = load_config(None, {"training_file": str(files / "train.txt"), "linear": True})
    with pytest.raises(DataError, match="the texts have no spaces between words"):
        load_corpus(config)
