from __future__ import annotations

import errno
import gzip
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from made_up import CNN, LABELS, Outcome, write_documents

from plant_plugin.errors import CheckpointError, ConfigError, DataError, PlantError
from plant_plugin.host import neural

Baseline = Callable[..., Outcome]
CAML = {"model_name": "CAML", "network_config": CNN}
KIM_CNN = {"model_name": "KimCNN", "network_config": CNN}


def test_one_epoch_leaves_what_libmultilabel_leaves_and_a_result(baseline: Baseline) -> None:
    outcome = baseline(**KIM_CNN, save_k_predictions=3, remove_no_label_data=True)
    assert outcome.folder.name.startswith("made_up_KimCNN_")
    assert {"logs.json", "best_model.ckpt", "last.ckpt", "word_dict.pickle", "result.json"} <= {
        path.name for path in outcome.folder.iterdir()
    }
    assert len(outcome.logs["val"]) == len(outcome.logs["test"]) == 1
    rows = [line.split() for line in outcome.predictions.read_text().splitlines()]
    assert [len(row) for row in rows] == [3] * 24
    assert {pair.partition(":")[0] for row in rows for pair in row} <= {f"label{label}" for label in range(LABELS)}

    result = outcome.result
    assert result["model"] == "KimCNN"
    assert result["split"] == "test"
    assert result["device"] == "cpu"
    assert result["counts"]["documents"] == 24
    assert result["counts"]["labels"] == LABELS
    assert result["thresholds"].keys() == {"0.5", "micro", "macro"}
    assert {"labels", "train", "val", "test"} <= result["hashes"].keys()
    for clock in ("time_s", "cpu_s"):
        assert {"read", "train", "libmultilabel_test", "test", "total"} <= result[clock].keys()
    # Two programs, one model: what they define alike must agree.
    logged = outcome.logs["test"][0]
    assert result["metrics"]["P@1"] == pytest.approx(logged["P@1"])
    assert result["metrics"]["Micro-F1@0.5"] == pytest.approx(logged["Micro-F1"])


def test_a_checkpoint_is_evaluated_alone(baseline: Baseline) -> None:
    trained = baseline(**CAML)
    checkpoint = str(trained.folder / "best_model.ckpt")
    for name, changes in (("with_training_file", {}), ("without", {"training_file": None, "val_file": None})):
        tested = baseline(
            **CAML, **changes, data_name=name, eval=True, checkpoint_path=checkpoint, save_k_predictions=2
        )
        assert tested.logs["test"] == trained.logs["test"]
        assert "val" not in tested.logs
        assert tested.result["metrics"]["nDCG@5"] == pytest.approx(trained.result["metrics"]["nDCG@5"])
        assert {len(line.split()) for line in tested.predictions.read_text().splitlines()} == {2}


def test_word2vec_gives_vectors_and_the_vocabulary_of_so_many_documents(baseline: Baseline) -> None:
    trained = baseline(**{**CAML, "embed_file": "word2vec", "min_vocab_freq": 3})
    words = (trained.folder / "word_vectors.txt.vocab").read_text().split()
    vectors = [line.split()[0] for line in (trained.folder / "word_vectors.txt").read_text().splitlines()]
    assert words == vectors
    assert {*words} <= {*pickle.loads((trained.folder / "word_dict.pickle").read_bytes())}  # which this run wrote
    alone = {"eval": True, "checkpoint_path": str(trained.folder / "best_model.ckpt"), "data_name": "alone"}
    assert baseline(**{**CAML, "embed_file": "word2vec", **alone}).logs["test"] == trained.logs["test"]


def test_going_on_from_a_checkpoint_tests_the_new_model(baseline: Baseline) -> None:
    first = baseline(**KIM_CNN)
    more = baseline(**KIM_CNN, data_name="more", checkpoint_path=str(first.folder / "last.ckpt"), epochs=3)
    weights = [torch.load(outcome.folder / "best_model.ckpt", weights_only=False) for outcome in (first, more)]
    assert not torch.equal(*(checkpoint["state_dict"]["network.linear.weight"] for checkpoint in weights))
    assert more.result["metrics"]["P@1"] == pytest.approx(more.logs["test"][0]["P@1"])
    tested = baseline(**KIM_CNN, data_name="t", eval=True, checkpoint_path=str(more.folder / "best_model.ckpt"))
    assert tested.logs["test"] == more.logs["test"]


def test_without_validation_nothing_is_tuned(baseline: Baseline) -> None:
    outcome = baseline(**KIM_CNN, merge_train_val=True)
    assert outcome.result["thresholds"] == {"0.5": 0.0}
    assert "val" not in outcome.logs
    assert not any(name.endswith("@micro") for name in outcome.result["metrics"])


def test_without_a_test_file_there_is_no_result(baseline: Baseline) -> None:
    outcome = baseline(**KIM_CNN, test_file=None)
    assert outcome.result == {}
    assert outcome.logs["val"]


def test_training_counts_are_of_the_split_trained_on(
    baseline: Baseline, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {}
    original = neural.Scored

    def spy(**values: object) -> object:
        seen.update(values)
        return original(**values)

    monkeypatch.setattr(neural, "Scored", spy)
    baseline(**KIM_CNN, val_file=None, val_size=0.5)
    every = [line.split("\t")[0].split() for line in (data / "train.txt").read_text().splitlines()]
    assert seen["num_train"] == 30
    assert 0 < seen["train_counts"].sum() < sum(map(len, every))
    assert (seen["train_counts"] <= 30).all()


def test_compressed_files_and_a_label_file(baseline: Baseline, data: Path, tmp_path: Path) -> None:
    packed = tmp_path / "train.txt.gz"
    packed.write_bytes(gzip.compress((data / "train.txt").read_bytes()))
    names = [f"label{label}" for label in range(LABELS)] + ["never_seen"]
    (tmp_path / "labels.txt").write_text("\n".join(names) + "\n")
    outcome = baseline(**KIM_CNN, training_file=str(packed), label_file=str(tmp_path / "labels.txt"))
    assert outcome.result["counts"]["labels"] == LABELS + 1
    plain = baseline(**KIM_CNN, data_name="plain")
    assert outcome.result["hashes"]["train"] == plain.result["hashes"]["train"]


def test_a_tab_inside_a_text_is_an_error_until_allowed(baseline: Baseline, data: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text((data / "train.txt").read_text() + "label1\tone\tmore\n")
    with pytest.raises(DataError, match=r"bad\.txt, line 61"):
        baseline(**KIM_CNN, training_file=str(bad))
    outcome = baseline(**KIM_CNN, data_name="allowed", training_file=str(bad), allow_bad_lines=True)
    assert outcome.result["counts"]["dropped"] == 1


def test_test_labels_outside_the_set_are_counted(baseline: Baseline, tmp_path: Path) -> None:
    write_documents(tmp_path / "other.txt", 20, labels=LABELS + 3)
    outcome = baseline(**KIM_CNN, test_file=str(tmp_path / "other.txt"))
    assert outcome.result["counts"]["dropped_labels"] > 0
    assert 0 < outcome.result["metrics"]["MAP-gold"] < outcome.result["metrics"]["MAP"]
    assert outcome.result["counts"]["labels_unseen_in_training"] == 3


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"embed_file": "none.txt"}, ConfigError, "embed_file: none.txt"),
        ({"monitor_metrics": ["P@12"], "val_metric": "P@12"}, ConfigError, "P@12"),
        ({"save_k_predictions": 13}, ConfigError, "save_k_predictions"),
        ({"training_file": "none.txt"}, ConfigError, "none.txt"),
    ],
)
def test_bad_values(changes: dict, error: type[Exception], message: str, baseline: Baseline) -> None:
    with pytest.raises(error, match=message):
        baseline(**{**KIM_CNN, **changes})


def test_bad_checkpoints(baseline: Baseline, data: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn.ckpt"
    torn.write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match=r"torn\.ckpt"):
        baseline(**KIM_CNN, eval=True, checkpoint_path=str(torn))
    trained = baseline(**KIM_CNN)
    write_documents(tmp_path / "other.txt", 20, labels=LABELS + 3)
    lone = tmp_path / "best_model.ckpt"
    lone.write_bytes((trained.folder / "best_model.ckpt").read_bytes())
    with pytest.raises(CheckpointError, match=r"word_dict\.pickle"):
        baseline(**KIM_CNN, data_name="lone", eval=True, checkpoint_path=str(lone))
    with pytest.raises(CheckpointError, match="lacks 3 of the 15"):
        baseline(
            **KIM_CNN,
            data_name="other",
            training_file=str(tmp_path / "other.txt"),
            checkpoint_path=str(trained.folder / "last.ckpt"),
        )


def test_numbers_of_documents_and_batches(baseline: Baseline) -> None:
    outcome = baseline(**KIM_CNN, val_file=None, val_size=20.0, limit_test_batches=2.0)
    assert outcome.result["counts"]["documents"] == 20
    assert outcome.logs["config"]["val_size"] == 20


def test_a_share_below_one_batch_is_one_batch(baseline: Baseline) -> None:
    shares = {f"limit_{name}_batches": 1e-6 for name in ("train", "val", "test")}
    outcome = baseline(**KIM_CNN, **shares, eval_batch_size=7)
    assert outcome.result["counts"]["documents"] == 7


def test_an_interrupted_training_says_how_to_go_on(
    baseline: Baseline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(self: object, *_: object) -> None:
        if getattr(self, "current_epoch", 0) == 1:
            raise SystemExit(1)

    monkeypatch.setattr("libmultilabel.nn.model.Model.training_step", stop_after_one_epoch(stop))
    with pytest.raises(SystemExit):
        baseline(**KIM_CNN, epochs=3, silent=False)
    said = capsys.readouterr().err
    (folder,) = (tmp_path / "runs").iterdir()
    assert f"--resume {folder}" in said
    monkeypatch.undo()
    resumed = baseline(**KIM_CNN, epochs=3, resume=str(folder))
    whole = baseline(**KIM_CNN, data_name="whole", epochs=3)
    assert resumed.folder == folder
    # The order of the documents is drawn anew, the epochs are not done again.
    assert len(resumed.logs["val"]) == len(whole.logs["val"]) == 3
    assert resumed.logs["val"][0] == whole.logs["val"][0]
    assert {path.name for path in folder.iterdir()} == {path.name for path in whole.folder.iterdir()}


def stop_after_one_epoch(stop: Callable) -> Callable:
    from libmultilabel.nn.model import Model

    original = Model.training_step

    def step(self: object, batch: object, number: int) -> object:
        stop(self)
        return original(self, batch, number)

    return step


def test_a_full_disk_is_said_plainly(baseline: Baseline, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(neural, "dump_log", full)
    with pytest.raises(PlantError, match="disk is full"):
        baseline(**KIM_CNN)


def test_silent_prints_nothing(baseline: Baseline, capfd: pytest.CaptureFixture[str]) -> None:
    baseline(**KIM_CNN, cpu=False)
    assert capfd.readouterr() == ("", "")
