"""``choose: true`` on small files: what is found, tried, written down and run."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from made_up_task import write_splits

from plant_plugin.cli import plant
from plant_plugin.config import Config, load_config
from plant_plugin.data.documents import Corpus, Split
from plant_plugin.data.tables import read_any
from plant_plugin.errors import ConfigError
from plant_plugin.training import choose
from plant_plugin.training.choose import Trial, language_of, settle
from plant_plugin.training.pace import Pace, StagePace
from plant_plugin.training.run import run

Make = Callable[..., Config]
SMALL = {"network_config.hidden_size": 16, "network_config.embed_dim": 16, "network_config.pool_size": 8, "cpu": True}


def taking(seconds: float) -> Callable[[Config], Pace]:
    """Stands for the measuring: an epoch of either stage takes so many seconds."""
    stage = StagePace(1, 8, seconds, 0.0, 0.0)
    return lambda config: Pace(0.0, {"stage1": stage, "stage2": stage}, 1)


@pytest.fixture
def mine(tmp_path: Path) -> Make:
    write_splits(tmp_path)

    def make(**changes: Any) -> Config:
        given = {"training_file": str(tmp_path / "train.txt"), "result_dir": str(tmp_path / "runs"), "silent": True}
        given |= {"cache_dir": str(tmp_path / "cache"), "predict_out_path": "", **SMALL}
        given |= {name.replace("__", "."): value for name, value in changes.items()}
        return load_config("plant.yml", {key: value for key, value in given.items() if value != "leave"})

    return make


def test_the_network_is_chosen_where_nothing_is_said_of_it(mine: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    as_it_is = dict.fromkeys((name.replace(".", "__") for name in SMALL if name != "cpu"), "leave")
    monkeypatch.setattr("plant_plugin.config.choice.FEW", 100)  # the made-up documents are 120
    config = settle(mine(**as_it_is))
    assert (config.model_name, config.stage1.learning_rate) == ("LAAT", 0.01)
    assert config.network_config["planted_prior"] == "additive"
    assert "encoder" not in config.network_config
    monkeypatch.setattr(choose, "measure", taking(8 * 1e-6))
    in_time = settle(mine(**as_it_is, minutes=1))
    assert (in_time.stage1.epochs, in_time.stage2.epochs) == (config.stage1.epochs, config.stage2.epochs)
    assert in_time.stage1.epochs > in_time.stage2.epochs
    others = (
        {"strategy": "end_to_end"},
        {"shortlist__size": 5},
        {"network_config__hidden_size": 16, "network_config__pool_size": 8},
    )
    for said in others:
        other = settle(mine(**{**as_it_is, **said}))
        assert (other.model_name, other.network_config["encoder"]) == ("PLANT", "cnn")
        assert (other.stage1.learning_rate, other.learning_rate) == (None, 0.003)


def test_the_settled_file_is_the_same_run_again(mine: Make, tmp_path: Path) -> None:
    config = settle(mine())
    (tmp_path / "again.yml").write_text(config.settled, encoding="utf-8")
    again = load_config(tmp_path / "again.yml")
    assert not config.choose
    assert again.hash() == config.hash()
    assert again.data_name == tmp_path.name
    assert Path(str(again.test_file)) == tmp_path / "test.txt"
    assert again.settled == ""


def test_it_says_what_it_chose_in_ten_lines(mine: Make, capsys: pytest.CaptureFixture[str]) -> None:
    settle(mine(silent=False))
    lines = capsys.readouterr().err.splitlines()
    assert 5 <= len(lines) <= 10
    assert lines[0].startswith("120 documents in unknown, 12 labels, no evidence")
    assert all(": " in line for line in lines[1:])


def test_what_a_user_gives_stays(mine: Make) -> None:
    given = {"stage2__epochs": 1, "max_seq_length": 77, "val_size": 0.3, "val_file": None, "evidence__mine": True}
    config = settle(mine(**given, planted_scores__lead=3, data_name="own"))
    assert (config.stage2.epochs, config.max_seq_length, config.val_size) == (1, 77, 0.3)
    assert (config.val_file, config.evidence.mine, config.planted_scores.lead) == (None, True, 3)
    assert config.data_name == "own"


def test_a_network_without_planted_scores_gets_no_phrases(mine: Make, tmp_path: Path) -> None:
    (tmp_path / "train_evidence.tsv").write_text("")
    config = settle(mine(planted_scores__model="none"))
    assert config.evidence.training_file is None
    assert config.planted_scores.model == "none"


def test_evidence_and_names_beside_the_file_are_found(mine: Make, tmp_path: Path) -> None:
    first = (tmp_path / "train.txt").read_text().split("\t")[0].split()[0]
    (tmp_path / "train_evidence.tsv").write_text(f"0\t{first}\t0-4\n")
    (tmp_path / "valid_evidence.tsv").write_text("")
    (tmp_path / "label_names.tsv").write_text(f"{first}\ta name\n")
    config = settle(mine())
    assert config.evidence.training_file == str(tmp_path / "train_evidence.tsv")
    assert config.evidence.val_file == str(tmp_path / "valid_evidence.tsv")
    assert "names of labels lie beside" in config.settled


def test_evidence_and_batch_size_that_are_given_are_what_it_decides_by(mine: Make, tmp_path: Path) -> None:
    first = (tmp_path / "train.txt").read_text().split("\t")[0].split()[0]
    (tmp_path / "marks.tsv").write_text(f"0\t{first}\t0-4\n")
    config = settle(mine(evidence__training_file=str(tmp_path / "marks.tsv")))
    assert (config.evidence.mine, config.stage2.epochs) == (False, 3)
    assert ", evidence; chosen" in config.settled
    assert "60 steps an epoch" in settle(mine(batch_size=2, evidence__mine=False)).settled


def test_each_process_would_decide_by_its_own_clock(mine: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="each process would decide by its own clock"):
        run(mine())


def test_the_test_file_is_not_looked_at(mine: Make, tmp_path: Path) -> None:
    before = settle(mine()).settled
    (tmp_path / "test.txt").write_text("L0\tsome other words\n")
    assert settle(mine()).settled == before


def test_repeated_texts_are_told(mine: Make, tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text(path.read_text() * 2)
    assert "120 texts stand there again" in settle(mine()).settled


def test_a_run_keeps_what_it_chose_and_is_repeated(mine: Make, tmp_path: Path) -> None:
    fast = {"stage1__epochs": 1, "stage2__epochs": 1, "refit": "none", "evidence__mine": False}
    result = run(mine(**fast))
    (folder,) = (tmp_path / "runs").iterdir()
    shutil.move(folder, tmp_path / "first")
    settled = load_config(tmp_path / "first" / "settled.yml", {"result_dir": str(tmp_path / "runs"), "silent": True})
    again = run(settled)
    assert again["hashes"] == result["hashes"]
    assert again["metrics"]["nDCG@5"] == result["metrics"]["nDCG@5"]


@pytest.mark.parametrize(("seconds", "strategy"), [(1e-6, "plant"), (1.25, "end_to_end"), (1e6, "planted_scores")])
def test_minutes_decide_how_much_is_trained(
    mine: Make, monkeypatch: pytest.MonkeyPatch, seconds: float, strategy: str
) -> None:
    monkeypatch.setattr(choose, "measure", taking(8 * seconds))
    config = settle(mine(minutes=1, stage1__epochs="leave"))
    assert config.strategy == strategy
    assert config.minutes is None
    if strategy == "end_to_end":  # 30 s for epochs, of two trainings: 15 s, and an epoch takes 10
        assert config.stage2.epochs == 1


def test_labels_outside_a_label_file_are_not_counted(mine: Make, tmp_path: Path) -> None:
    labels = sorted({label for labels in read_any(tmp_path / "train.txt").labels for label in labels})
    (tmp_path / "labels.txt").write_text("\n".join(labels[:3]))
    config = mine(label_file=str(tmp_path / "labels.txt"))
    assert choose.look(config, {}).labels == 3 < len(labels) - 2
    assert settle(config).val_metric == "nDCG@2"


def test_minutes_leave_both_stages_where_epochs_are_given(mine: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "measure", taking(8 * 1e-6))
    config = settle(mine(minutes=1, epochs=3))
    assert (config.strategy, config.epochs, config.stage1.epochs, config.stage2.epochs) == ("plant", 3, None, None)


def test_what_deciding_took_is_gone_from_the_minutes(mine: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    config, facts = settle(mine()), choose.look(mine(), {})
    monkeypatch.setattr(choose, "measure", taking(8 * 0.1))
    now = time.perf_counter()
    assert choose._within(1, config, facts, now).keys["strategy"] == "plant"
    assert choose._within(1, config, facts, now - 61).keys["strategy"] == "planted_scores"


def test_minutes_are_shared_out_where_most_documents_hold_numbers_alone(
    mine: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "measure", taking(8 * 0.1))
    facts = replace(choose.look(mine(), {}), words=0)
    assert choose._within(1, settle(mine()), facts, time.perf_counter()).keys["strategy"] == "plant"


def test_a_trial_finds_where_words_count_and_phrases_tell(mine: Make) -> None:
    def split(name: str, documents: int, seed: int) -> Split:
        random, texts, labels = np.random.default_rng(seed), [], []
        for _ in range(documents):
            own, *others = random.permutation(8)[:5].tolist()
            head = [f"sign{own}x", *(f"filler{random.integers(9)}" for _ in range(39))]
            rest = [f"sign{other}x" for other in others] + [f"filler{random.integers(9)}" for _ in range(40)]
            texts.append(" ".join([*random.permutation(head), *random.permutation(rest)]))
            labels.append([f"L{own}"])
        return Split(texts, labels, name=name)

    corpus = Corpus(split("train", 200, 1), split("val", 60, 2), None, [f"L{label}" for label in range(8)])
    options = mine().planted_scores
    assert Trial.of(corpus, options).gain(replace(options, lead=40)) > 0.05
    assert Trial.of(corpus, options).mined() <= 0.05  # words alone tell: no run of them adds


def test_a_trial_finds_that_endings_do_not_matter(mine: Make) -> None:
    def split(name: str, documents: int, seed: int) -> Split:
        random = np.random.default_rng(seed)
        own = random.integers(8, size=documents)
        ends = random.choice(list("abcdefghijklmnop"), (documents, 3)).tolist()
        texts = [f"signu{label}{''.join(end)} filler{random.integers(9)}" for label, end in zip(own, ends, strict=True)]
        return Split(texts, [[f"L{label}"] for label in own], name=name)

    corpus = Corpus(split("train", 200, 1), split("val", 60, 2), None, [f"L{label}" for label in range(8)])
    options = mine().planted_scores
    assert Trial.of(corpus, options).gain(replace(options, word_letters=6)) > 0.05


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The patient was admitted with a fever and a cough of three days.", "en"),
        ("Paciente de 67 años con hipertensión que acude por una fiebre de tres días.", "es"),
        ("Der Patient wurde mit Fieber und Husten in die Klinik gebracht.", "de"),
        ("xqz kvv wwx", "unknown"),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert language_of([text] * 3) == language


def test_a_trained_model_is_not_chosen_for(mine: Make, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"settled\.yml"):
        run(mine(eval=True, checkpoint_path=str(tmp_path), test_file=str(tmp_path / "test.txt")))


def test_plant_train(mine: Make, tmp_path: Path) -> None:
    flags = [f"--{key}={value}" for key, value in SMALL.items() if key.startswith("network")]
    asked = ["--stage1.epochs", "1", "--stage2.epochs", "1", "--refit", "none", "--evidence.mine", "false", "--cpu"]
    told = ["--result_dir", str(tmp_path / "runs"), "--cache_dir", str(tmp_path / "cache"), "--predict_out_path", ""]
    made = CliRunner().invoke(plant, ["train", str(tmp_path / "train.txt"), *flags, *asked, *told])
    assert made.exit_code == 0, made.output
    assert "plant predict" in made.stderr
    assert (next((tmp_path / "runs").iterdir()) / "settled.yml").is_file()
