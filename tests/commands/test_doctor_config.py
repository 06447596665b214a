from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from tiny_language_models import write_language_model

from plant_plugin.cli import plant
from plant_plugin.commands import doctor
from plant_plugin.config import load_config
from plant_plugin.config.methods import read_configuration
from plant_plugin.data.documents import read_documents

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


def test_an_extra_that_a_configuration_wants_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None if name == "peft" else object())
    flags = ("--labels", "50", "--documents", "9", "--words", "9")
    code, text = told("plant_llm_mimic3.yml", *flags)
    assert code == 1
    assert "!! extra llm       peft not installed (language models" in text
    code, text = told("plant_mimic3.yml", *flags)
    assert code == 0, text
    assert "\n  extra llm       peft not installed" in text


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
    (tmp_path / "train.csv").write_text("note,labels\none,A;B\ntwo,C\n")
    as_table = {**values, "training_file": str(tmp_path / "train.csv"), "text_column": "note"}
    (tmp_path / "t.yml").write_text(yaml.safe_dump(as_table))
    assert "2 documents of 100 sub-words, 3 labels" in told(str(tmp_path / "t.yml"), "--tokens", "100", "--cpu")[1]


def test_word_level_encoders(tmp_path: Path) -> None:
    flags = ("--labels", "8929", "--documents", "47723", "--words", "52000")
    code, text = told("plant_mimic3.yml", *flags, "--cpu")
    assert code == 0, text
    assert "47,723 documents of 2,500 words, 8,929 labels, 32 a batch, on a processor" in text
    assert f"{52000 * 200 + 2 * 3 * 256 * (200 + 256 + 2):,} of the words and encoder" in text
    for part in ("gradients and Adam", "label attention", "main memory"):
        assert part in text
    on_gpu = told("plant_mimic3.yml", *flags)[1]
    assert "relevance, at most" in on_gpu
    # 2,500 words of each document, by hand: the encoder's weights, 256 scores; all scores once and of 1,000 thrice more
    encoder, positions = 3 * 2 * 2 * 3 * 256 * (200 + 256 + 2), 47723 * 2500
    stages = positions * (encoder + 3 * 2 * 512 * 256), positions * (encoder + 4 * 512 * (8929 + 3 * 1000))
    said = f"arithmetic      {stages[0]:.3g} and {stages[1]:.3g} operations an epoch of stage 1 and of stage 2 at most"
    assert said in text
    assert said in on_gpu
    hours = re.search(
        r"an epoch +([\d.]+) h and ([\d.]+) h on this processor, if 20% are reached of the (\S+) op", text
    )
    assert hours is not None
    assert float(hours[2]) / float(hours[1]) == pytest.approx(stages[1] / stages[0], rel=0.1)
    assert float(hours[2]) == pytest.approx(stages[1] / float(hours[3]) / 0.2 / 3600, rel=0.1)
    in_turn = (1.37e-4 + 32 * 5.8e-6) * 2500 * 1492  # batches of 32
    minutes = [(operations / 312e12 / 0.35 + in_turn) / 60 for operations in stages]
    assert f"{minutes[0]:.1f} min and {minutes[1]:.1f} min on one A100" in on_gpu
    assert f"; {in_turn / 60:.1f} min of it word by word, as an H100 took" in on_gpu
    (tmp_path / "train.txt").write_text("A B\tone two\nB C\ttwo 3\nC\tthree\n")
    (tmp_path / "vectors.txt").write_text("2 4\none 1 2 3 4\ntwo 1 2 3 4\n")
    values = {"model_name": "PLANT", "training_file": str(tmp_path / "train.txt"),
              "network_config": {"encoder": "cnn", "hidden_size": 8, "filter_sizes": [3], "pool_size": 8}}  # fmt: skip
    (tmp_path / "c.yml").write_text(yaml.safe_dump({**values, "embed_file": str(tmp_path / "vectors.txt")}))
    code, text = told(str(tmp_path / "c.yml"), "--cpu")
    assert code == 0, text
    assert "3 documents of 500 words, 3 labels" in text
    # 5 words are read, not 3 · 500; all 3 labels are ranked and get a gradient
    stages = [5 * 3 * (2 * 8 * (3 * 4 + 1) + of_label * 3 * 8) for of_label in (2, 4)]
    assert f"arithmetic      {stages[0]:.3g} and {stages[1]:.3g} operations an epoch of stage 1 and of" in text
    assert f"{5 * 4 + 8 * (3 * 4 + 1)} of the words and encoder" in text
    (tmp_path / "words.txt").write_text("one\ntwo\n")
    more = {"vocab_file": str(tmp_path / "words.txt"), "embed_file": "glove.6B.50d"}
    (tmp_path / "c.yml").write_text(yaml.safe_dump({**values, **more}))
    assert f"{4 * 50 + 8 * (3 * 50 + 1):,} of the words and encoder" in told(str(tmp_path / "c.yml"))[1]


def test_missing_files_and_what_makes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, text = told("plant_mimic3_50.yml")
    assert code == 2
    assert "built-in" not in text
    assert "training_file: there is no file of your own to count" in text
    code, text = told("planted_caml_mimic3_50.yml")
    assert code == 1
    for said in (
        "!! files           no such file: training_file: data/MIMIC-50/train.txt, val_file: ",
        "embed_file: data/MIMIC-50/embeddings.txt\n      plant prepare mimic3 --raw mimic-iii --out data --splits caml",
        "\n      plant embeddings data/MIMIC-50/train.txt --out data/MIMIC-50/embeddings.txt\n",
        "ok torch ",
        "only for PLANT, without freeze_encoder and registered encoders\n      try it: --limit_train_batches 2",
    ):
        assert said in text
    folder = tmp_path / "data" / "MIMIC-50"
    folder.mkdir(parents=True)
    for name in ("train.txt", "valid.txt", "test.txt"):
        (folder / name).write_text("".join(f"A{number} B\tone two three\n" for number in range(20)))
    code, text = told("plant_mimic3_50.yml", "--cpu")
    assert code == 0, text
    assert "ok files           all that it names are there" in text
    assert "names           none of labels beside the training file" in text
    assert "main memory     0.00 GiB at most for the documents" in text
    (folder / "label_names.tsv").write_text("B\tbeta\n")
    assert "names  " not in told("plant_mimic3_50.yml", "--cpu")[1]
    code, text = told("plm_icd_mimic3_50.yml")
    assert code == 0, text
    assert "models/RoBERTa-base-PM-M3-Voc-distill-align-hf is neither here nor a preset" in text


def test_what_does_not_fit_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = ("plant_mimic3.yml", "--labels", "8929", "--documents", "47723", "--words", "52000")
    disk = shutil.disk_usage(Path.cwd())
    machine = {"_gpu": "Small, 2048 MiB\nSmall, 2048 MiB", "free_and_total_memory": (5 << 30, 8 << 30)}
    for name, free in machine.items():
        monkeypatch.setattr(doctor, name, lambda free=free: free)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: disk._replace(free=1 << 30))
    code, text = told(*flags)
    assert code == 0, text
    marked = [line for line in text.splitlines() if line.startswith("!!")]
    assert [line.split()[1] for line in marked] == ["memory", "disk"]  # the planted scores take 1.8 GiB of 5
    assert marked[0].endswith("besides the libraries' own, but 2.0 are there")
    assert "a smaller batch_size with more accumulate" in text
    assert "1.80 GiB at most for planted scores, label by label" in text
    assert "10 and 20 at most" in text
    monkeypatch.setattr(doctor, "free_and_total_memory", lambda: (3 << 30, 8 << 30))
    text = told("plant_cpu_eurlex57k.yml", "--labels", "4108", "--documents", "45000", "--words", "90000", "--cpu")[1]
    assert "main" in [line.split()[1] for line in text.splitlines() if line.startswith("!!")]
    assert "for planted scores, 45,000 documents at once" in text
    assert "planted_scores.model label_ridge" in text


def test_the_relevance_is_bounded_by_the_words_of_a_labels_documents(tmp_path: Path) -> None:
    """By hand: A has 2 words, B 2 + 4, of which it may keep 5, C 1; 16 bytes each."""
    (tmp_path / "train.txt").write_text("A B\tone two\nB\tthree four five six seven\nC\tone\n")
    values = {"model_name": "PLANT", "training_file": str(tmp_path / "train.txt"), "relevance": {"top": 5},
              "network_config": {"encoder": "cnn", "hidden_size": 8, "filter_sizes": [3], "pool_size": 8}}  # fmt: skip
    (tmp_path / "c.yml").write_text(yaml.safe_dump(values))
    read = read_documents(str(tmp_path / "train.txt"), load_config(str(tmp_path / "c.yml")))
    assert doctor._entries(read.labels, [2, 4, 1], 5) == 2 + 5 + 1
    flags = ("plant_yso.yml", "--labels", "670000", "--documents", "500000", "--words", "100000", "--cpu")
    assert "39.94 GiB at most for the relevance of words" in told(*flags)[1]
    bound = 500_000 * 5 * 150 * 16 / 2**30
    assert f"{bound:.2f} GiB at most for the relevance of words" in told(*flags, "--tokens", "150", "--each", "5")[1]


def test_what_is_not_worked_out(tmp_path: Path) -> None:
    alone = tmp_path / "alone.yml"
    packaged = read_configuration("plant_demo.yml")[0]
    alone.write_text(yaml.safe_dump({**packaged, "strategy": "planted_scores", "planted_scores": {"model": "ridge"}}))
    flags = ("--labels", "5", "--documents", "9", "--tokens", "10")
    for config, exit_code, said in (
        ("laat_demo.yml", 0, "only for PLANT, without freeze_encoder"),
        (str(alone), 0, "only for PLANT, without freeze_encoder"),
        ("plant_demo.yml", 2, "give --words"),
    ):
        code, text = told(config, *flags)
        assert code == exit_code, text
        assert said in text
    assert "--limit_train_batches" in told("laat_demo.yml")[1]
    assert "--limit_train_batches" not in told("linear_demo.yml")[1]  # it trains without batches
    (tmp_path / "wrong.yml").write_text("model_name: PLANT\nstage2: {los: bce}\n")
    code, text = told(str(tmp_path / "wrong.yml"))
    assert code == 2
    assert "there is no such key" in text
    assert "give --labels and --documents" in told("plant_demo.yml")[1]
