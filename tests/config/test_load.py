from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from configurations import KIM_CNN, PLANT, plant

from plant_plugin.config.load import WITHOUT_INFLUENCE, load_config
from plant_plugin.config.options import Stage1Options
from plant_plugin.config.sections import OPTIONS
from plant_plugin.errors import ConfigError


def test_an_empty_file_is_all_defaults(write: Callable[[str], Path]) -> None:
    assert load_config(write("# nothing\n"), PLANT).as_dict() == plant().as_dict()


@pytest.mark.parametrize(
    "name", ["plant_eurlex6k.yml", "plant_codiesp.yml", "plant_bc5cdr_evidence.yml", "laat_bc5cdr"]
)
def test_a_packaged_configuration_on_ones_own_data_misses_no_file(name: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("A\tone\n")
    config = load_config(
        name, {"training_file": str(mine), "embed_file": str(mine)} if "laat" in name else {"training_file": str(mine)}
    )
    assert (config.training_file, config.val_file, config.test_file) == (str(mine), None, None)
    assert config.evidence.training_file is config.evidence.val_file is None
    with pytest.raises(ConfigError, match=r"val_file: .*nowhere\.txt: no such file"):  # what is asked for is missed
        load_config(name, {"training_file": str(mine), "val_file": "nowhere.txt"})


def test_a_file_of_ones_own_misses_its_files(write: Callable[[str], Path]) -> None:
    path = write("model_name: PLANT\nnetwork_config: {encoder: cnn}\nval_file: nowhere.txt\n")
    with pytest.raises(ConfigError, match="no such file"):
        load_config(path, {"training_file": "demo:train"})


def test_names_of_a_run(write: Callable[[str], Path]) -> None:
    config = plant(data_name="toy", result_dir="out", predict_out_path="")
    assert re.fullmatch(r"toy_PLANT_\d{14}", config.run_name)
    assert config.checkpoint_dir == Path("out") / config.run_name
    assert config.log_path == config.checkpoint_dir / "logs.json"
    assert config.predictions_path == str(config.checkpoint_dir / "predictions.txt")
    assert (config.config_name, config.config_path) == ("PLANT", None)
    path = write("seed: 1\n")
    config = load_config(path, PLANT)
    assert re.fullmatch(r"unnamed_data_some_\d{14}", config.run_name)
    assert (config.config_name, config.config_path) == ("some", path)


def test_a_resumed_run_keeps_its_folder(tmp_path: Path) -> None:
    config = plant(resume=str(tmp_path))
    assert config.checkpoint_dir == tmp_path
    assert config.run_name == tmp_path.name
    assert config.hash() == plant().hash()


def test_the_hash_holds_what_the_result_depends_on() -> None:
    config = plant(seed=1)
    first = config.hash()
    assert re.fullmatch("[0-9a-f]{64}", first)
    without = {"data_name": "x", "result_dir": "y", "cache_dir": "z", "silent": True, "save_k_predictions": 3}
    assert plant(seed=1, **without).hash() == first
    assert plant(seed=1, weight_decay=0.0, val_size="0.2").hash() == first
    changes = {
        "seed": 2,
        "val_size": 0.3,
        "strategy": "end_to_end",
        "test_file": None,
        "stage1.k": 5,
        "stage2.gamma": 1,
    }
    changes |= {"relevance.top": 5, "network_config.num_heads": 4, "propensity_a": 0.6, "precision": "bf16"}
    hashes = {plant(**{"seed": 1, key: value}).hash() for key, value in changes.items()}
    assert len(hashes | {first}) == len(changes) + 1
    assert set(OPTIONS) >= WITHOUT_INFLUENCE


def test_the_hash_is_of_the_keys_that_are_not_at_their_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plant(seed=1, network_config={"encoder": "bigru", "num_heads": 8, "filter_sizes": [9]}).changed() == {
        "training_file": "demo:train",
        "test_file": "demo:test",
        "model_name": "PLANT",
        "network_config": {"encoder": "bigru"},
        "early_stopping_metric": "P@1",
        "seed": 1,
    }
    plain = plant(seed=1).hash()
    assert plant(seed=1, relevance={"top": 4000}, stage1=None, network_config={"encoder": "bigru"}).hash() == plain
    assert plant(seed=1, stage2={"gamma": 3}).hash() == plant(seed=1, stage2={"gamma": 3.0}).hash() != plain


def test_a_configuration_can_be_written_copied_and_not_changed() -> None:
    config = plant(**{"stage1.k": 7})
    written = json.loads(json.dumps(config.as_dict()))
    assert written["stage1"]["k"] == 7
    assert load_config(None, written).as_dict() == config.as_dict()
    assert pickle.loads(pickle.dumps(config)) == config == copy.deepcopy(config)
    config.as_dict()["monitor_metrics"].append("P@8")
    assert config.monitor_metrics == ["P@1", "P@3", "P@5"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.seed = 3
    with pytest.raises(AttributeError, match="no key 'sed'"):
        config.sed  # noqa: B018


def test_checking_imports_nothing_heavy() -> None:
    code = (
        f"import sys; from plant_plugin.config import load_config; load_config(None, {PLANT!r}).hash()\n"
        f"load_config(None, {KIM_CNN!r})\n"
        "print(*sorted({'torch', 'libmultilabel', 'pandas', 'numpy', 'sklearn', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_flags_beat_the_file_key_by_key(write: Callable[[str], Path]) -> None:
    path = write(
        "model_name: PLANT\ntraining_file: demo:train\nseed: 1\nepochs: 7\n"
        "network_config: {encoder: cnn, hidden_size: 64}\nstage1: {k: 9, labels: positive}\n"
    )
    flags = {"seed": "2", "stage1.k": "500", "stage1.clip_norm": "null", "network_config.filter_sizes": "[3, 5]"}
    config = load_config(path, flags)
    assert (config.seed, config.epochs) == (2, 7)
    assert (config.stage1.k, config.stage1.labels, config.stage1.clip_norm) == (500, "positive", None)
    assert config.network_config == {"encoder": "cnn", "hidden_size": 64, "filter_sizes": [3, 5]}
    whole = load_config(path, {"network_config": {"encoder": "bilstm"}, "stage1": "{k: 3}"})
    assert whole.network_config == {"encoder": "bilstm"}
    assert whole.stage1 == Stage1Options(k=3)
