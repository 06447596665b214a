from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from tiny_language_models import write_language_model

from plant_plugin.cli import plant

pytest.importorskip("peft", reason="needs the extra llm")


def told(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(plant, ["doctor", "--config", *arguments])
    return done.exit_code, done.output


def test_a_preset_needs_no_connection_and_no_data() -> None:
    code, text = told("plant_llm_mimic3.yml", "--labels", "8929", "--documents", "47723")
    assert code == 0, text
    assert "47,723 documents of 4,096 sub-words, 8,929 labels, 8 a batch, on a GPU" in text
    for part in ("weights of the language model", "inputs of the layers", "label attention", "checkpoint", "H200"):
        assert part in text


def test_labels_and_documents_are_counted(tmp_path: Path) -> None:
    write_language_model("bert", tmp_path / "bert")
    (tmp_path / "train.txt").write_text("A B\tone\nB C\ttwo\nC\tthree\n")
    values = {"model_name": "PLANT", "training_file": str(tmp_path / "train.txt"),
              "network_config": {"lm_weight": str(tmp_path / "bert"), "pool_size": 8}}  # fmt: skip
    (tmp_path / "c.yml").write_text(yaml.safe_dump(values))
    code, text = told(str(tmp_path / "c.yml"), "--tokens", "100", "--cpu")
    assert code == 0, text
    assert "3 documents of 100 sub-words, 3 labels, 16 a batch, on a processor" in text
    assert "H200" not in text
    code, text = told(str(tmp_path / "c.yml"))
    assert code == 2
    assert "give --tokens" in text


def test_what_is_not_worked_out() -> None:
    code, text = told("plant_demo.yml")
    assert code == 2
    assert "over a language model only" in text
    flags = ("--labels", "5", "--documents", "9", "--tokens", "10")
    assert told("plant_eurlex57k.yml", *flags)[0] == 2
