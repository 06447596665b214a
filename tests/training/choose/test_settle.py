"""``choose: true`` on small files: what is found, tried, written down and run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.config import Config, load_config
from plant_plugin.data.documents import load_corpus
from plant_plugin.errors import ConfigError
from plant_plugin.training import pace
from plant_plugin.training.choose.decisions import Decision
from plant_plugin.training.choose.settle import _dotted, _filled, _left_open, settle
from plant_plugin.training.pace import Pace
from plant_plugin.training.run import run

Make = Callable[..., Config]
Taking = Callable[[float], Callable[[Config], Pace]]
SMALL = {"network_config.hidden_size": 16, "network_config.embed_dim": 16, "network_config.pool_size": 8, "cpu": True}


def test_the_network_is_chosen_where_nothing_is_said_of_it(
    mine: Make, monkeypatch: pytest.MonkeyPatch, taking: Taking
) -> None:
    as_it_is = dict.fromkeys((name.replace(".", "__") for name in SMALL if name != "cpu"), "leave")
    monkeypatch.setattr("plant_plugin.training.choose.decisions.FEW", 100)  # the made-up documents are 120
    config = settle(mine(**as_it_is))
    assert (config.model_name, config.stage1.learning_rate) == ("LAAT", 0.01)
    assert config.network_config["planted_prior"] == "additive"
    assert "encoder" not in config.network_config
    monkeypatch.setattr(pace, "measure", taking(8 * 1e-6))
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
    assert "an epoch has steps: 60" in settle(mine(batch_size=2, evidence__mine=False)).settled


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
    assert "training documents with the text of another: 120" in load_corpus(mine()).train.note


def test_a_run_keeps_what_it_chose_and_is_repeated(mine: Make, tmp_path: Path) -> None:
    fast = {"stage1__epochs": 1, "stage2__epochs": 1, "refit": "none", "evidence__mine": False}
    result = run(mine(**fast))
    (folder,) = (tmp_path / "runs").iterdir()
    shutil.move(folder, tmp_path / "first")
    settled = load_config(tmp_path / "first" / "settled.yml", {"result_dir": str(tmp_path / "runs"), "silent": True})
    again = run(settled)
    assert again["hashes"] == result["hashes"]
    assert again["metrics"]["nDCG@5"] == result["metrics"]["nDCG@5"]


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


@pytest.mark.parametrize(("changes", "shown"), [({}, True), ({"model_name": "CAML"}, False), ({"linear": True}, False)])
def test_commands_are_shown_for_models_that_they_read(
    mine: Make,
    changes: dict[str, Any],
    shown: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("plant_plugin.training.run.run_in_folder", lambda config, tests: {})
    run(replace(mine(), choose=False, settled="# chosen", silent=False, **changes))
    message = capsys.readouterr().err
    assert "the model is in" in message
    assert ("plant predict" in message) is shown


def test_what_a_user_gives_is_never_chosen() -> None:
    chosen = Decision({"stage1.epochs": 2, "stage2.epochs": 4, "patience": 3, "max_seq_length": 9}, "because")
    assert _left_open(chosen, {"max_seq_length"}).keys == {"stage1.epochs": 2, "stage2.epochs": 4, "patience": 3}
    assert _left_open(chosen, {"stage1", "stage1.epochs"}).keys == {
        "stage2.epochs": 4,
        "patience": 3,
        "max_seq_length": 9,
    }
    assert _left_open(chosen, {"epochs"}).keys == {"patience": 3, "max_seq_length": 9}  # of both stages
    assert set(_dotted({"a": {"b": {"c": 1}}, "d": 2})) == {"a", "a.b", "a.b.c", "d"}


def test_what_is_filled_in_leaves_the_given_as_it_is() -> None:
    given: dict[str, Any] = {"stage1": {"k": 3}}
    assert _filled(given, [Decision({"stage1.epochs": 2, "seed": 1}, "")]) == {
        "stage1": {"k": 3, "epochs": 2},
        "seed": 1,
    }
    assert given == {"stage1": {"k": 3}}


def test_another_network_gets_what_its_data_ask_for_and_nothing_else(mine: Make) -> None:
    laat = {"hidden_size": 16, "embed_dim": 16, "projection_size": 8}
    config = settle(mine(model_name="LAAT", network_config=laat, planted_scores__model="none"))
    assert (config.max_seq_length, config.stage1.epochs, config.stage2.epochs) == (128, 2, 12)
    assert (config.model_name, dict(config.network_config)) == ("LAAT", laat)
    assert (config.val_metric, config.refit, config.learning_rate) == ("nDCG@5", "train+val", mine().learning_rate)


def test_a_network_of_libmultilabel_gets_one_number_of_epochs(mine: Make) -> None:
    network = {"model_name": "CAML", "network_config": {"filter_sizes": [3]}, "embed_file": "glove.6B.50d"}
    config = settle(
        load_config(None, {"choose": True, "training_file": mine().training_file, "silent": True, **network})
    )
    assert (config.epochs, config.stage2.epochs, config.max_seq_length) == (12, None, 128)
    assert config.val_file is not None


def test_sizes_in_words_are_not_those_of_a_language_model(mine: Make) -> None:
    config = settle(mine(network_config={"lm_weight": "a_model"}, planted_scores__model="none"))
    assert (config.max_seq_length, config.stage2.epochs) == (None, 12)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"choose": False, "minutes": 10}, "minutes"),
        ({"model_name": "LAAT", "network_config": {}, "minutes": 10}, "minutes"),
        ({"linear": True}, "choose"),
        ({"minutes": 0}, "minutes"),
    ],
)
def test_what_cannot_be_chosen_is_refused(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("plant.yml", {"training_file": "demo:train", **changes})
    assert key in {str(problem.where).split(":")[0].split(" ")[0] for problem in caught.value.problems}


@pytest.mark.parametrize(("seconds", "strategy"), [(1e-6, "auto"), (1.25, "auto"), (1e6, "planted_scores")])
def test_minutes_decide_how_much_is_trained(
    mine: Make, monkeypatch: pytest.MonkeyPatch, seconds: float, strategy: str, taking: Taking
) -> None:
    monkeypatch.setattr(pace, "measure", taking(8 * seconds))
    config = settle(mine(minutes=1, stage1__epochs="leave"))
    assert config.strategy == strategy
    assert config.minutes is None
    assert (config.stage1.epochs == 0) == (seconds == 1.25)
    if seconds == 1.25:  # 30 s for epochs, of two trainings: 15 s, and an epoch takes 10
        assert config.stage2.epochs == 1


def test_minutes_leave_both_stages_where_epochs_are_given(
    mine: Make, monkeypatch: pytest.MonkeyPatch, taking: Taking
) -> None:
    monkeypatch.setattr(pace, "measure", taking(8 * 1e-6))
    config = settle(mine(minutes=1, epochs=3))
    assert (config.strategy, config.epochs, config.stage1.epochs, config.stage2.epochs) == ("auto", 3, None, None)
