"""Texts of scripts that put no spaces between words, from training to explanations and evidence."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.model.word_strength import PHRASES

# What stands between signs, and the sign of each label; two of the Chinese signs differ in a numeral alone.
SCRIPTS = {
    "Chinese": (
        ["患者入院", "建议随访", "病史多年", "CT显示", "今日出院"],
        {"I34": "二尖瓣反流", "I36": "三尖瓣反流", "J18": "肺炎"},
    ),
    "Japanese": (
        ["患者は", "入院した", "検査の結果", "外来で", "経過は"],
        {"C34": "肺がん", "E11": "糖尿病", "I10": "高血圧"},
    ),
    "Thai": (["ผู้ป่วย", "มาโรงพยาบาล", "ตรวจพบ", "วันนี้", "รักษา"], {"R50": "ไข้สูง", "R05": "ไอเรื้อรัง", "E11": "เบาหวาน"}),
    "Burmese": (["လူနာ", "ဆေးရုံတက်", "ယနေ့", "စစ်ဆေး", "ကုသ"], {"R50": "ဖျားနာ", "R05": "ချောင်းဆိုး", "E11": "ဆီးချို"}),
}


def documents(script: str) -> list[tuple[str, str, int]]:
    """Label, text and where the label's sign stands in it."""
    others, signs = SCRIPTS[script]
    drawn = random.Random(0)
    made = []
    for number in range(60):
        label = sorted(signs)[number % 3]
        before, after = "".join(drawn.sample(others, 3)), "".join(drawn.sample(others, 2))
        made.append((label, f"{before}{signs[label]}{after}。", len(before)))
    return made


@pytest.mark.parametrize("script", SCRIPTS)
def test_places_are_those_of_the_text(script: str, tmp_path: Path) -> None:
    _, signs = SCRIPTS[script]
    made = documents(script)
    (tmp_path / "train.txt").write_text("".join(f"{label}\t{text}\n" for label, text, _ in made[:48]))
    (tmp_path / "train_evidence.tsv").write_text(
        "".join(f"{row}\t{label}\t{at}-{at + len(signs[label])}\n" for row, (label, _, at) in enumerate(made[:48]))
    )
    command = ["train", str(tmp_path / "train.txt"), "--strategy", "planted_scores", "--seed", "1", "--result_dir",
               str(tmp_path / "runs"), "--cache_dir", str(tmp_path / "cache")]  # fmt: skip
    trained = CliRunner().invoke(plant, command)
    assert trained.exit_code == 0, trained.output
    [run] = (tmp_path / "runs").iterdir()
    assert json.loads((run / "vocabulary.json").read_text())["splitter"] == "characters"
    predictor = Predictor.load(run)
    for label, text, at in made[48:]:
        [prediction] = predictor.predict([text], top=1)
        assert prediction.labels[0].label == label
        explanation = predictor.explain(text, [label])
        [evidence] = explanation.labels
        assert explanation.text == text
        words = [text[start:end] for start, end in explanation.words.tolist()]
        assert "".join(words) == text.rstrip("。")
        sign = range(at, at + len(signs[label]))
        marked = explanation.words[evidence.measures[PHRASES] > 0].tolist()
        assert marked
        assert {place for word in marked for place in range(*word)} <= set(sign)
        terms = {re.sub("[ …]", "", term) for term, value in evidence.terms if value > 0}
        assert any(set(term) <= set(signs[label]) for term in terms)


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
    assert "each of their characters is a word" in trained.output
    [run] = (tmp_path / "runs").iterdir()
    assert json.loads((run / "result.json").read_text())["metrics"]["P@1"] > 0.9
    note = tmp_path / "note.txt"
    note.write_text("患者入院，糖尿病多年。", encoding="utf-8")
    predicted = CliRunner().invoke(plant, ["predict", str(run), str(note), "--top", "1"])
    assert json.loads(predicted.stdout)["labels"][0]["label"] == "E11"
    explained = CliRunner().invoke(plant, ["explain", str(run), str(note), "--label", "E11", "--json"])
    [label] = json.loads(explained.stdout)["labels"] if explained.exit_code == 0 else [{}]
    assert label["planted_terms"][0]["term"] in {"糖 尿", "尿 病", "糖 尿 病", "糖", "尿"}
