"""A method by itself trains on anybody's table: nothing but the file is named."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny_language_models import write_language_model, write_tokenizer

from plant_plugin.cli import libmultilabel

pytestmark = pytest.mark.integration

LABELS = 6


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """The folder of mine.csv and test.csv, whose texts hold a sign of each of their labels."""
    draw = random.Random(1)
    for name, documents in (("mine", 200), ("test", 40)):
        rows = ["text,labels\n"]
        for _ in range(documents):
            labels = draw.sample(range(LABELS), draw.choice((1, 1, 2)))
            words = [f"sign{label}x" for label in labels] * 3 + [f"filler{draw.randrange(40)}" for _ in range(20)]
            draw.shuffle(words)
            rows.append(f"{' '.join(words)},{' '.join(f'L{label}' for label in labels)}\n")
        (tmp_path / f"{name}.csv").write_text("".join(rows))
    return tmp_path


@pytest.mark.parametrize("method", ["linear", "caml", "bigru_lwan", "laat", "plm_icd"])
def test_a_method_needs_only_the_training_file(method: str, tables: Path) -> None:
    flags = ["--config", f"{method}.yml", "--training_file", tables / "mine.csv", "--test_file", tables / "test.csv"]
    flags += ["--result_dir", tables / "runs", "--cpu", "--silent"]
    if method == "plm_icd":  # its own comes from the hub
        folder = Path(write_language_model("bert", tables / "bert", positions=140, words=200))
        write_tokenizer([tables / "mine.csv"], folder, padding=True)
        flags += ["--network_config.lm_weight", folder, "--max_seq_length", 60]
    if method != "linear":
        flags += ["--epochs", 8 if method != "laat" else 2, "--learning_rate", 0.003]
    done = CliRunner().invoke(libmultilabel, [str(flag) for flag in flags])
    assert done.exit_code == 0, done.output
    [folder] = (tables / "runs").iterdir()
    result = json.loads((folder / "result.json").read_text())
    assert result["metrics"]["P@1"] > (0.2 if method == "plm_icd" else 0.6)
    assert (folder / "word_vectors.txt").is_file() is (method in ("caml", "bigru_lwan"))
