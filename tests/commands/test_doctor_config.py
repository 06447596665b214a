from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from tiny_language_models import write_language_model

from plant_plugin.cli import plant
from plant_plugin.config.yaml_file import find_config

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


def test_word_level_encoders(tmp_path: Path) -> None:
    flags = ("--labels", "8929", "--documents", "47723", "--words", "52000")
    code, text = told("plant_mimic3.yml", *flags, "--cpu")
    assert code == 0, text
    assert "47,723 documents of 2,500 words, 8,929 labels, 8 a batch, on a processor" in text
    assert f"{52000 * 200 + 2 * 3 * 256 * (200 + 256 + 2):,} of the words and encoder" in text
    for part in ("gradients and Adam", "label attention", "main memory"):
        assert part in text
    assert "relevance, at most" in told("plant_mimic3.yml", *flags)[1]
    (tmp_path / "train.txt").write_text("A B\tone two\nB C\ttwo 3\nC\tthree\n")
    (tmp_path / "vectors.txt").write_text("2 4\none 1 2 3 4\ntwo 1 2 3 4\n")
    values = {"model_name": "PLANT", "training_file": str(tmp_path / "train.txt"),
              "network_config": {"encoder": "cnn", "hidden_size": 8, "filter_sizes": [3], "pool_size": 8}}  # fmt: skip
    (tmp_path / "c.yml").write_text(yaml.safe_dump({**values, "embed_file": str(tmp_path / "vectors.txt")}))
    code, text = told(str(tmp_path / "c.yml"), "--cpu")
    assert code == 0, text
    assert "3 documents of 500 words, 3 labels" in text
    assert f"{5 * 4 + 8 * (3 * 4 + 1)} of the words and encoder" in text
    (tmp_path / "words.txt").write_text("one\ntwo\n")
    more = {"vocab_file": str(tmp_path / "words.txt"), "embed_file": "glove.6B.50d"}
    (tmp_path / "c.yml").write_text(yaml.safe_dump({**values, **more}))
    assert f"{4 * 50 + 8 * (3 * 50 + 1):,} of the words and encoder" in told(str(tmp_path / "c.yml"))[1]


def test_what_is_not_worked_out(tmp_path: Path) -> None:
    alone = tmp_path / "alone.yml"
    packaged = yaml.safe_load(find_config("plant_demo.yml").read_text())
    alone.write_text(yaml.safe_dump({**packaged, "strategy": "planted_scores", "planted_scores": {"model": "ridge"}}))
    flags = ("--labels", "5", "--documents", "9", "--tokens", "10")
    for config, said in (
        ("laat_demo.yml", "for PLANT without freeze_encoder only"),
        (str(alone), "strategy: planted_scores"),
        ("plant_demo.yml", "give --words"),
    ):
        code, text = told(config, *flags)
        assert code == 2
        assert said in text
    assert "give --labels and --documents" in told("plant_demo.yml")[1]
