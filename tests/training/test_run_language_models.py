"""A decoder in 4 bits with adapters, by the commands: two stages, checkpoint, another place, export; as GGUF too."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from click.testing import CliRunner
from safetensors import safe_open
from tiny_language_models import skip_without, write_gguf, write_language_model, write_tokenizer

from plant_plugin.cli import libmultilabel, plant
from plant_plugin.config import Config
from plant_plugin.errors import CheckpointError
from plant_plugin.model.export import export_model
from plant_plugin.model.trained import load_model
from plant_plugin.networks.backbone import loading

skip_without("peft", "bitsandbytes")


@pytest.fixture
def configuration(made: Callable[..., Config], tmp_path: Path) -> Path:
    """A YAML file over a tiny Mistral whose tokenizer has no padding token."""
    base = tmp_path / "mistral"
    write_language_model("mistral", base)
    write_tokenizer([tmp_path / "train.txt"], base)
    values: dict[str, Any] = {
        "training_file": str(tmp_path / "train.txt"),
        "val_file": str(tmp_path / "valid.txt"),
        "test_file": str(tmp_path / "test.txt"),
        "model_name": "PLANT",
        "network_config": {
            "lm_weight": str(base), "quantization": "nf4", "lora": {"r": 4}, "gradient_checkpointing": True,
            "num_heads": 2, "pool_size": 8, "planted_prior": "additive",
        },
        "stage1": {"k": 10, "labels": 6, "epochs": 1},
        "stage2": {"epochs": 1, "hard_negatives": 3},
        "accumulate": 2,
        "learning_rate": 0.01,
        "batch_size": 16,
        "monitor_metrics": ["P@1"],
        "val_metric": "P@1",
        "limit_train_batches": 4,
        "seed": 1,
        "cpu": True,
        "silent": True,
        "result_dir": str(tmp_path / "runs"),
        "cache_dir": str(tmp_path / "cache"),
    }  # fmt: skip
    path = tmp_path / "mistral.yml"
    path.write_text(yaml.safe_dump(values))
    return path


def logits_of(folder: Path, lm_weight: str | None = None) -> torch.Tensor:
    network = load_model(folder, lm_weight).network.eval()
    text = torch.randint(3, 100, (3, 80), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        return network({"text": text, "length": torch.tensor([80, 30, 5])})["logits"]


def test_two_stages_checkpoint_another_place_and_export(configuration: Path, tmp_path: Path) -> None:
    call = CliRunner().invoke
    done = call(libmultilabel, ["--config", str(configuration)])
    assert done.exit_code == 0, done.output
    (folder,) = (tmp_path / "runs").iterdir()
    result = json.loads((folder / "result.json").read_text())
    assert {"stage1", "stage2"} <= result["time_s"].keys()
    assert result["truncated"] == {"train": 0, "val": 0, "test": 0}  # documents of some 80 sub-words, windows of 64
    with safe_open(folder / "model.safetensors", framework="pt") as stored:
        saved = set(stored.keys())
    assert len([name for name in saved if "lora_" in name]) == 16
    assert not [name for name in saved if name.startswith("backbone.") and "lora_" not in name]
    before = logits_of(folder)

    (tmp_path / "mistral").rename(tmp_path / "elsewhere")
    evaluate = ["--config", str(configuration), "--eval", "--checkpoint_path", str(folder)]
    lost = call(libmultilabel, evaluate)
    assert lost.exit_code == 2
    assert "lm_weight" in lost.output
    moved = ["--network_config.lm_weight", str(tmp_path / "elsewhere")]
    again = call(libmultilabel, [*evaluate, *moved, "--result_dir", str(tmp_path / "again")])
    assert again.exit_code == 0, again.output
    (second,) = (tmp_path / "again").iterdir()
    assert json.loads((second / "result.json").read_text())["metrics"] == result["metrics"]
    torch.testing.assert_close(logits_of(folder, str(tmp_path / "elsewhere")), before, rtol=0, atol=0)

    stranger = write_language_model("mistral", tmp_path / "stranger", seed=5)
    shutil.copytree(tmp_path / "elsewhere", stranger, dirs_exist_ok=True, ignore=lambda *_: {"model.safetensors"})
    refused = call(libmultilabel, [*evaluate, "--network_config.lm_weight", stranger])
    assert refused.exit_code == 2
    assert "fingerprint" in refused.output

    (folder / "first_pass").mkdir()  # as `refit` leaves it
    out, base = tmp_path / "export", ["--lm-weight", str(tmp_path / "elsewhere")]
    exported = call(plant, ["export", str(folder), "--out", str(out), "--dtype", "float32", *base])
    assert exported.exit_code == 0, exported.output
    shutil.rmtree(tmp_path / "elsewhere")
    torch.testing.assert_close(logits_of(out), before, rtol=1e-4, atol=1e-5)
    assert not (out / "first_pass").exists()
    assert "lora" not in json.loads((out / "config.json").read_text())["network_config"]
    from transformers import AutoModel

    assert not [name for name, _ in AutoModel.from_pretrained(out / "backbone").named_parameters() if "lora" in name]
    assert call(plant, ["export", str(folder), "--out", str(out)]).exit_code == 2  # it is there already


@pytest.mark.integration
def test_training_testing_and_predicting_say_where_quantised_weights_are_made(
    configuration: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[torch.device | None] = []

    def place() -> torch.device:
        said.append(loading._device.get())
        return torch.device("cpu")

    monkeypatch.setattr(loading, "_place", place)
    call = CliRunner().invoke
    assert call(libmultilabel, ["--config", str(configuration)]).exit_code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    (tmp_path / "note.txt").write_text("sign1x filler2\n")
    for command, words in (
        (libmultilabel, ["--config", configuration, "--eval", "--checkpoint_path", folder, "--result_dir", "again"]),
        (plant, ["predict", folder, tmp_path / "note.txt", "--device", "cpu"]),
    ):
        before = len(said)
        monkeypatch.chdir(tmp_path)
        done = call(command, list(map(str, words)))
        assert done.exit_code == 0, done.output
        assert len(said) > before
    assert set(said) == {torch.device("cpu")}


def test_what_is_no_model_is_not_exported(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no complete PLANT model"):
        export_model(tmp_path / "none", tmp_path / "out", torch.float32)


@pytest.mark.parametrize(
    "network",
    [
        pytest.param({"quantization": "nf4", "lora": {"r": 4}}, id="nf4"),
        pytest.param(
            {"freeze_encoder": True, "encoder": "cnn", "hidden_size": 16}, id="frozen", marks=pytest.mark.integration
        ),
        pytest.param({}, id="whole", marks=pytest.mark.integration),
    ],
)
def test_a_gguf_file_trains_and_predicts(
    configuration: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: dict[str, Any]
) -> None:
    pytest.importorskip("gguf", reason="needs the extra llm")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    words = 280
    write_language_model("llama", tmp_path / "llama", words=words)
    path = write_gguf(tmp_path / "llama", [tmp_path / "train.txt"], tmp_path / "tiny.gguf", quantized=True)
    values = yaml.safe_load(configuration.read_text())
    values["network_config"] = {"lm_weight": path, "num_heads": 2, "pool_size": 8, **network}
    configuration.write_text(yaml.safe_dump(values))

    call = CliRunner().invoke
    done = call(libmultilabel, ["--config", str(configuration)])
    assert done.exit_code == 0, done.output
    (folder,) = (tmp_path / "runs").iterdir()
    result = json.loads((folder / "result.json").read_text())
    assert {"stage1", "stage2"} <= result["time_s"].keys()
    before = logits_of(folder)

    shutil.rmtree(tmp_path / "user")  # the converted folder is made again
    text = tmp_path / "note.txt"
    text.write_text("sign1x filler2\n")
    assert call(plant, ["predict", str(folder), str(text), "--device", "cpu"]).exit_code == 0
    torch.testing.assert_close(logits_of(folder), before, rtol=0, atol=0)
    evaluate = ["--config", str(configuration), "--eval", "--checkpoint_path", str(folder)]
    again = call(libmultilabel, [*evaluate, "--result_dir", str(tmp_path / "again")])
    assert again.exit_code == 0, again.output
    (second,) = (tmp_path / "again").iterdir()
    assert json.loads((second / "result.json").read_text())["metrics"] == result["metrics"]

    moved = Path(path).rename(tmp_path / "moved.gguf")
    if not network:  # all of it was trained, and is in the folder
        torch.testing.assert_close(logits_of(folder), before, rtol=0, atol=0)
        return
    with pytest.raises(CheckpointError, match=r"tiny\.gguf: cannot be read"):
        load_model(folder)
    torch.testing.assert_close(logits_of(folder, str(moved)), before, rtol=0, atol=0)
    out = tmp_path / "export"
    exported = call(plant, ["export", str(folder), "--out", str(out), "--dtype", "float32", "--lm-weight", str(moved)])
    assert exported.exit_code == 0, exported.output
    moved.unlink()
    torch.testing.assert_close(logits_of(out), before, rtol=1e-4, atol=1e-5)
