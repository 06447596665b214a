"""LibMultiLabel's main.py with our networks: the calls that it makes, and its own scripts where there is a checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from click.testing import CliRunner
from libmultilabel.common_utils import AttributeDict
from libmultilabel.nn import networks
from made_up import write_documents, write_vectors
from made_up_task import write_splits
from safetensors import safe_open

import plant_plugin
from plant_plugin.cli import plant
from plant_plugin.config import load_config, registry
from plant_plugin.config.sections import SCHEMA
from plant_plugin.errors import ConfigError, PlantError
from plant_plugin.host import trainer
from plant_plugin.host.trainer import register_networks
from plant_plugin.training.run import run

CHECKOUT = os.environ.get("LIBMULTILABEL_CHECKOUT")
# The wheel has no torch_trainer.py: this stands in its place, for networks that are LibMultiLabel's own.
SCRIPT = """
class TorchTrainer:
    def __init__(self, config, datasets=None, classes=None, word_dict=None, embed_vecs=None, save_checkpoints=True):
        self.config, self.datasets = config, datasets
"""
TINY: dict[str, Any] = {
    "training_file": "train.txt",
    "val_file": "valid.txt",
    "test_file": "test.txt",
    "data_name": "made",
    "model_name": "PLANT",
    "network_config": {
        "encoder": "cnn", "hidden_size": 16, "filter_sizes": [3], "embed_dim": 16, "num_heads": 2, "pool_size": 8,
        "planted_prior": "additive",
    },
    "stage1": {"k": 10, "labels": 6, "epochs": 1},
    "stage2": {"epochs": 2, "hard_negatives": 5},
    "planted_scores": {"model": "ridge"},
    "learning_rate": 0.01,
    "val_metric": "nDCG@5",
    "monitor_metrics": ["P@1", "nDCG@5"],
    "save_k_predictions": 3,
    "predict_out_path": None,
    "seed": 1,
    "cpu": True,
    "silent": True,
    "data_workers": 0,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A clone's folder with made-up documents, in which nothing is registered yet."""
    (tmp_path / "torch_trainer.py").write_text(SCRIPT)
    write_splits(tmp_path)
    write_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", [one for one in sys.meta_path if not isinstance(one, trainer._Finder)])
    monkeypatch.delitem(sys.modules, "torch_trainer", raising=False)
    yield tmp_path
    sys.modules.pop("torch_trainer", None)
    registry._USED.clear()
    registry._read.cache_clear()


def write_file(folder: Path, **changes: Any) -> None:
    (folder / "tiny.yml").write_text(yaml.safe_dump({**TINY, **changes}))


def parsed(file: str | None = "tiny.yml", **flags: Any) -> AttributeDict:
    """What get_config() of main.py makes: its defaults, beaten by every key of the file, beaten by flags."""
    values = {
        option.name: list(option.default) if option.nargs == "+" else option.default
        for option in SCHEMA
        if option.group != "PLANT" and option.name != "refit"
    }
    written = yaml.safe_load(Path(file).read_text()) if file else {}
    config = AttributeDict({**values, "config": file, **written, **flags})
    config.early_stopping_metric = config.early_stopping_metric or config.val_metric
    config.scheduler_config = config.get("scheduler_config")
    config.run_name = f"{config.data_name}_{Path(file).stem if file else config.model_name}_20260101000000"
    config.checkpoint_dir = os.path.join(config.result_dir, config.run_name)
    config.log_path = os.path.join(config.checkpoint_dir, "logs.json")
    config.predict_out_path = config.predict_out_path or os.path.join(config.checkpoint_dir, "predictions.txt")
    return config


def main(config: AttributeDict) -> Any:
    """What main() of main.py does with a configuration of a network."""
    from torch_trainer import TorchTrainer

    found = TorchTrainer(config)
    if not config.eval:
        found.train()
    if "test" in found.datasets:
        return found.test()
    return None


def content(folder: Path) -> dict[str, Any]:
    """What does not depend on the time of a run."""
    logs, result = (json.loads((folder / name).read_text()) for name in ("logs.json", "result.json"))
    for key in ("result_dir", "predict_out_path", "early_stopping_metric"):
        logs["config"].pop(key)
    files = ("predictions.txt", "thresholds.json", "labels.txt", "planted_scores.npz")
    with safe_open(folder / "model.safetensors", framework="pt") as model:
        tensors = {name: model.get_tensor(name).numpy().tobytes() for name in model.keys()}
        metadata = model.metadata()
    return {
        "tensors": tensors,
        "metadata": metadata,
        "logs": logs,
        **{key: result[key] for key in ("metrics", "thresholds", "hashes", "counts", "config_hash") if key in result},
        **{name: (folder / name).read_bytes() for name in files},
        "files": sorted(path.name for path in folder.iterdir() if path.name != ".lock"),
    }


@pytest.mark.integration
def test_main_py_trains_in_both_stages_to_the_same_bytes(folder: Path) -> None:
    plant_plugin.register()
    tested = main(parsed(result_dir="theirs", batch_size=8))
    ours = load_config("tiny.yml", {"result_dir": "ours", "batch_size": "8"})
    expected = run(ours)
    theirs = folder / "theirs" / "made_tiny_20260101000000"
    assert content(theirs) == content(Path(ours.checkpoint_dir))
    assert tested == {name: value for name, value in expected["metrics"].items() if value is not None}
    assert len(json.loads((theirs / "logs.json").read_text())["stage1"]) == 1

    again = main(parsed(eval=True, checkpoint_path=str(theirs), result_dir="again"))
    assert again == tested
    assert (folder / "again" / "made_tiny_20260101000000" / "result.json").is_file()


def test_networks_of_libmultilabel_stay_as_they_were(folder: Path) -> None:
    from torch_trainer import TorchTrainer

    before = dict(vars(TorchTrainer))
    plant_plugin.register()  # behind the import
    plant_plugin.register()
    assert {name: value for name, value in vars(TorchTrainer).items() if name != "__new__"} == before
    for name in ("KimCNN", "AttentionXML", "unnamed_model"):
        found = TorchTrainer(parsed(model_name=name), ["data"], save_checkpoints=False)
        assert type(found) is TorchTrainer
        assert found.datasets == ["data"]
    assert isinstance(TorchTrainer(parsed(model_name="LAAT", network_config={})), trainer.StrategyTrainer)


def test_what_is_wrong_is_told_with_its_line(folder: Path) -> None:
    plant_plugin.register()
    write_file(folder, stage1={"kk": 10})
    with pytest.raises(ConfigError, match=r"stage1.kk \(tiny.yml, line \d+\).*"):
        main(parsed())
    write_file(folder)
    from torch_trainer import TorchTrainer

    with pytest.raises(ConfigError, match="was handed datasets"):
        TorchTrainer(parsed(), {"train": []}, None)
    with pytest.raises(ConfigError, match="only the test file is tested"):
        TorchTrainer(parsed()).test("val")


def test_flags_beat_the_file_and_defaults_do_not(folder: Path) -> None:
    write_file(folder, max_seq_length=77, epochs=3, learning_rate="1e-2")
    made = trainer.configuration(parsed(epochs=4, monitor_metrics=["P@5"], learning_rate=0.01))
    assert (made.max_seq_length, made.epochs, made.learning_rate) == (77, 4, 0.01)
    assert made.monitor_metrics == ["P@5", "nDCG@5"]
    assert made.predict_out_path is None
    assert made.hash() == load_config("tiny.yml", {"epochs": 4, "monitor_metrics": ["P@5"]}).hash()
    Path("before").mkdir()
    write_file(folder, resume="before")
    assert trainer.configuration(parsed()).checkpoint_dir == Path("before")


def test_a_registry_of_the_file_counts(folder: Path) -> None:
    (folder / "mine.yaml").write_text("networks: {Mine: {target: 'plant_plugin.networks.plant:PLANT', summary: M.}}")
    write_file(folder, model_name="Mine", registry="mine.yaml")
    plant_plugin.register()
    from torch_trainer import TorchTrainer

    assert isinstance(TorchTrainer(parsed()), trainer.StrategyTrainer)


@pytest.mark.integration  # another process imports LibMultiLabel
def test_registering_loads_no_trainer() -> None:
    code = (
        "import sys, plant_plugin; plant_plugin.register()\n"
        "print([name for name in sys.modules if name.startswith(('lightning', 'plant_plugin.training'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def started(command: list[str], folder: Path) -> Path:
    """The run folder that a program made in a folder of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (made,) = Path(command[-1]).iterdir()
    return made


PLANT, LIBMULTILABEL = (
    [sys.executable, "-c", f"from plant_plugin.cli import {name}; {name}()"] for name in ("plant", "libmultilabel")
)


@pytest.mark.integration
@pytest.mark.skipif(CHECKOUT is None, reason="set LIBMULTILABEL_CHECKOUT to a checkout of LibMultiLabel")
def test_the_scripts_of_a_checkout(tmp_path: Path) -> None:
    """Its unmodified main.py trains PLANT as our command does, and its own networks as without us."""
    script = str(Path(str(CHECKOUT)) / "main.py")
    write_splits(tmp_path)
    write_file(tmp_path)
    options = ["--config", "tiny.yml", "--batch_size", "8", "--result_dir"]
    theirs = started([*PLANT, "host", script, *options, str(tmp_path / "theirs")], tmp_path)
    ours = started([*LIBMULTILABEL, *options, str(tmp_path / "ours")], tmp_path)
    assert content(theirs) == content(ours)

    write_documents(tmp_path / "train.txt", 64, labels=12)
    write_documents(tmp_path / "test.txt", 16, labels=12, seed=1)
    write_vectors(tmp_path / "vectors.txt", words=200)
    kim = {"embed_dropout": 0.2, "filter_sizes": [4], "num_filter_per_size": 8, "post_encoder_dropout": 0.2}
    own = {key: TINY[key] for key in ("training_file", "test_file", "seed", "cpu", "data_workers", "data_name")}
    own |= {"model_name": "KimCNN", "network_config": kim, "embed_file": "vectors.txt", "epochs": 2}
    (tmp_path / "kim.yml").write_text(yaml.safe_dump(own))
    options = ["--config", "kim.yml", "--result_dir"]
    with_us = started([*PLANT, "host", script, *options, str(tmp_path / "with")], tmp_path)
    without = started([sys.executable, script, *options, str(tmp_path / "without")], tmp_path)
    assert sorted(path.name for path in with_us.iterdir()) == sorted(path.name for path in without.iterdir())
    logs = [json.loads((made / "logs.json").read_text()) for made in (with_us, without)]
    assert logs[0]["val"] == logs[1]["val"]
    assert logs[0]["test"] == logs[1]["test"]
    for name in ("best_model.ckpt", "last.ckpt"):
        first, second = (
            torch.load(made / name, map_location="cpu", weights_only=False)["state_dict"] for made in (with_us, without)
        )
        assert first.keys() == second.keys()
        assert all(torch.equal(first[key], second[key]) for key in first)


def test_a_script_that_is_not_there_is_told(tmp_path: Path) -> None:
    result = CliRunner().invoke(plant, ["host", str(tmp_path / "main.py"), "--config", "tiny.yml"])
    assert result.exit_code == 2
    assert "no such file" in result.output
    assert "main.py of your clone" in result.output


def test_our_networks_stand_beside_the_others() -> None:
    names = plant_plugin.register()
    assert "PLANT" in names
    before = networks.PLANT
    assert register_networks() == names
    assert networks.PLANT is before
    assert networks.KimCNN.__module__.startswith("libmultilabel")


def test_a_stranger_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stranger:
        pass

    monkeypatch.setattr(networks, "PLANT", Stranger, raising=False)
    with pytest.raises(PlantError, match="already has a network called PLANT"):
        register_networks()
    assert networks.PLANT is Stranger


def test_importing_the_package_stays_light() -> None:
    code = "import sys, plant_plugin, plant_plugin.host; print({'torch', 'libmultilabel', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_unknown_attributes_are_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        plant_plugin.host.nonsense  # noqa: B018
