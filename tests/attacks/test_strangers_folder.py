"""A run folder from a stranger: whatever it names, nothing in it is imported or run, by any command that loads one."""

from __future__ import annotations

import json
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from attacked import Tally
from model_folder import Ended, asked, note_of

from plant_plugin.config import load_config
from plant_plugin.errors import CheckpointError
from plant_plugin.host.baseline import run_baseline
from plant_plugin.model.manifest import write_manifest
from plant_plugin.report.run import Run

# Leaves a file behind when it is imported, or when it is unpickled.
CANARY = """
import os, pathlib
pathlib.Path(os.environ["CANARY"]).write_text("sang")
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
class Net: pass
class Config(BertConfig):
    model_type = "canary"
class Model(BertModel):
    config_class = Config
class Tokenizer(PreTrainedTokenizerFast): pass
"""
COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "predict": lambda folder: ["predict", str(folder), str(note_of(folder)), "--device", "cpu"],
    "explain": lambda folder: ["explain", str(folder), str(note_of(folder)), "--device", "cpu"],
    "label": lambda folder: ["label", str(folder), "L3", "--device", "cpu"],
    "faithfulness": lambda folder: ["faithfulness", str(folder), str(note_of(folder)), "--device", "cpu"],
    "plausibility": lambda folder: ["plausibility", str(folder), "--device", "cpu"],
    "serve": lambda folder: ["serve", str(folder), "--device", "cpu"],
    "export": lambda folder: ["export", str(folder), "--out", f"{folder}_exported"],
    "strip": lambda folder: ["strip", str(folder), "--out", f"{folder}_stripped", "--min-documents", "3"],
}
LANGUAGE_MODEL = {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
                  "intermediate_size": 8, "vocab_size": 20, "architectures": ["BertModel"]}  # fmt: skip
OF_CODE = {"AutoConfig": "canary.Config", "AutoModel": "canary.Model", "AutoTokenizer": ["canary.Tokenizer", None]}


class Sings:
    """Whoever unpickles it writes the canary's file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.path, "sang")


def configure(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def language_model(folder: Path, base: str | None = None, **network_config: Any) -> None:
    """Make it a model over a language model that has code of its own."""
    inside = folder / "backbone"
    inside.mkdir()
    (inside / "canary.py").write_text(CANARY)
    own = {**LANGUAGE_MODEL, "auto_map": OF_CODE}
    if network_config.pop("of_canary_type", False):
        own["model_type"] = "canary"
    (inside / "config.json").write_text(json.dumps(own))
    configure(folder, word_vectors=None, base=base, network_config={"lm_weight": "backbone", **network_config})


def own_network(folder: Path) -> None:
    configure(folder, model_name="canary:Net", network_config={})


def network_of_another_package(folder: Path) -> None:
    configure(folder, model_name="canary.deeper:Net", network_config={})


def trusted(folder: Path) -> None:
    language_model(folder, trust_remote_code=True)


def trusted_in_other_words(folder: Path) -> None:
    language_model(folder, trust_remote_code=1)


def code_without_trust(folder: Path) -> None:
    language_model(folder)


def code_of_a_type_of_its_own(folder: Path) -> None:
    language_model(folder, of_canary_type=True)


def adapters_over_code(folder: Path) -> None:
    language_model(folder, base="0" * 64, trust_remote_code=True)


def code_elsewhere(folder: Path) -> None:
    language_model(folder)
    shutil.move(folder / "backbone", folder.parent / "elsewhere")
    options = {"lm_weight": str(folder.parent / "elsewhere")}
    configure(folder, base="0" * 64, network_config=options)


def language_model_of_a_hub(folder: Path) -> None:
    configure(folder, word_vectors=None, base="0" * 64, network_config={"lm_weight": "stranger/model"})


def kernel_from_the_hub(folder: Path) -> None:
    language_model(folder)
    (folder / "backbone" / "config.json").write_text(json.dumps({**LANGUAGE_MODEL, "attn_implementation": "a/canary"}))


def tokenizer_with_code(folder: Path) -> None:
    (folder / "tokenizer").mkdir()
    (folder / "tokenizer" / "canary.py").write_text(CANARY)
    content = {"tokenizer_class": "Tokenizer", "auto_map": OF_CODE}
    (folder / "tokenizer" / "tokenizer_config.json").write_text(json.dumps(content))
    (folder / "vocabulary.json").write_text(
        json.dumps({"kind": "subword", "hash": "0" * 64, "add_special_tokens": True})
    )


def pickled_weights(folder: Path) -> None:
    torch.save({"embedding": Sings(folder.parent / "canary")}, folder / "model.safetensors")


def pickled_language_model(folder: Path) -> None:
    language_model(folder, base="0" * 64)
    (folder / "backbone" / "config.json").write_text(json.dumps(LANGUAGE_MODEL))
    torch.save({"embeddings": Sings(folder.parent / "canary")}, folder / "backbone" / "pytorch_model.bin")


def pickled_arrays(folder: Path) -> None:
    for name in ("relevance.npz", "planted_scores.npz", "per_document.npz"):
        with np.load(folder / name, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
        first = next(key for key in arrays if arrays[key].ndim)
        arrays[first] = np.array([Sings(folder.parent / "canary")], dtype=object)
        np.savez(folder / name, **arrays)


def pickles_beside(folder: Path) -> None:
    for name in ("linear_pipeline.pickle", "word_dict.pickle", "stage1.safetensors", "model_1.ckpt", "last.ckpt"):
        (folder / name).write_bytes(pickle.dumps(Sings(folder.parent / "canary")))


def first_pass_with_code(folder: Path) -> None:
    shutil.copytree(folder, folder / "first_pass")
    own_network(folder / "first_pass")
    write_manifest(folder / "first_pass")


ATTACKS = (
    own_network, network_of_another_package, trusted, trusted_in_other_words, code_without_trust,
    code_of_a_type_of_its_own, adapters_over_code, code_elsewhere, language_model_of_a_hub, kernel_from_the_hub,
    tokenizer_with_code, pickled_weights, pickled_language_model, pickled_arrays, pickles_beside, first_pass_with_code,
)  # fmt: skip
HARMLESS = (pickles_beside, first_pass_with_code)  # what most commands do not read
SAMPLE = {("predict", attack) for attack in ATTACKS} | {
    (command, attack) for command in COMMANDS for attack in (own_network, trusted)
}


@pytest.fixture
def stranger(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run folder to spoil, with a module called canary where Python finds it."""
    shutil.copytree(whole, tmp_path / "run")
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "canary.py").write_text(CANARY)
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    for name, value in {"CANARY": "canary", "HF_MODULES_CACHE": "code", "HF_HOME": "hub"}.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("plant_plugin.serving.connections.Server.run", lambda server: None)
    return tmp_path / "run"


def of_sample(command: str, attack: Callable[[Path], None]) -> Any:
    marks = () if (command, attack) in SAMPLE else pytest.mark.attacks
    return pytest.param(command, attack, marks=marks, id=f"{command}-{attack.__name__}")


@pytest.mark.parametrize(
    ("command", "attack"), [of_sample(command, attack) for command in COMMANDS for attack in ATTACKS]
)
def test_nothing_of_it_runs(stranger: Path, tally: Tally, command: str, attack: Callable[[Path], None]) -> None:
    attack(stranger)
    write_manifest(stranger)  # a stranger seals what a stranger wrote
    ended = asked(COMMANDS[command](stranger))
    sang = (stranger.parent / "canary").exists()
    survived = not sang and (ended.refused or (ended.code == 0 and attack in HARMLESS))
    if attack is pickled_arrays and command == "export":
        survived = not sang and ended.refused  # it has nothing to merge
    tally("a stranger's run folder", survived)
    assert survived, ended


def test_the_file_and_the_key_are_named_with_what_would_run_it(stranger: Path) -> None:
    own_network(stranger)
    write_manifest(stranger)
    error = asked(COMMANDS["predict"](stranger)).error
    assert "config.json: model_name: imports and runs 'canary'" in error
    assert "--trust-code" in error
    shutil.rmtree(stranger)


def test_a_name_on_a_hub_that_only_the_folder_gives_is_not_fetched(
    stranger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants

    asked_for: list[object] = []
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("socket.getaddrinfo", lambda *address, **options: asked_for.append(address) or [])
    language_model_of_a_hub(stranger)
    write_manifest(stranger)
    ended = asked(COMMANDS["predict"](stranger))
    assert ended.refused
    assert asked_for == []
    assert "'stranger/model' is not on this machine, and nothing is fetched" in ended.error
    assert "hf download" in ended.error


@pytest.mark.integration
def test_a_training_from_it_runs_and_overwrites_nothing_that_its_log_names(stranger: Path) -> None:
    victim, new = stranger.parent / "victim", stranger.parent / "new.txt"
    victim.write_text("mine")
    new.write_text(f"L3\t{note_of(stranger).read_text()}" * 3)
    registry = stranger.parent / "registry.yaml"
    registry.write_text("losses:\n  sings: {target: 'canary:Net', summary: It sings., stage: 2}\n")
    log = json.loads((stranger / "logs.json").read_text())
    log["config"] |= {"registry": str(registry), "predict_out_path": str(victim), "save_k_predictions": 5,
                      "cache_dir": str(stranger.parent / "cache"), "result_dir": str(stranger.parent / "theirs"),
                      "embed_cache_dir": str(stranger.parent / "cache"), "logger": "tensorboard"}  # fmt: skip
    log["config"]["stage2"] = {**log["config"].get("stage2", {}), "loss": "sings"}
    (stranger / "logs.json").write_text(json.dumps(log))
    ended = asked(["train", str(new), "--from", str(stranger), "--result_dir", str(stranger.parent / "runs")])
    assert ended.code == 2
    assert "there is no loss 'sings'" in ended.error
    log["config"]["stage2"].pop("loss")
    (stranger / "logs.json").write_text(json.dumps(log))
    ended = asked(["train", str(new), "--from", str(stranger), "--result_dir", str(stranger.parent / "runs")])
    assert ended.code == 0, ended.error
    assert "not taken over" in ended.error
    assert not (stranger.parent / "canary").exists()
    assert victim.read_text() == "mine"
    assert not (stranger.parent / "cache").exists()
    assert not (stranger.parent / "theirs").exists()


@pytest.mark.parametrize("command", ["predict", "strip"])
def test_with_trust_it_says_what_it_imports_before_it_does(stranger: Path, command: str) -> None:
    own_network(stranger)
    write_manifest(stranger)
    ended: Ended = asked([*COMMANDS[command](stranger), "--trust-code"])
    assert (stranger.parent / "canary").read_text() == "sang"
    told = f"config.json imports canary from {stranger.parent / 'modules' / 'canary.py'}"
    assert told in ended.error
    assert ended.error.index(told) < ended.error.index("Error: ")  # it is no PlantableNetwork, which only it shows


@pytest.mark.parametrize("name", ["linear_pipeline.pickle", "model_1.ckpt"])
def test_a_model_of_libmultilabel_runs_nothing(tmp_path: Path, tally: Tally, name: str) -> None:
    path, canary = tmp_path / name, tmp_path / "canary"
    write = {"model_1.ckpt": torch.save, "linear_pipeline.pickle": lambda what, to: to.write_bytes(pickle.dumps(what))}
    write[name](Sings(canary), path)
    values: dict[str, Any] = {"data_name": "s", "training_file": "demo:train", "test_file": "demo:test", "silent": True}
    values |= {"result_dir": str(tmp_path / "runs"), "eval": True, "checkpoint_path": str(path)}
    kind = (
        {"linear": True, "linear_technique": "1vsrest"} if path.suffix == ".pickle" else {"model_name": "AttentionXML"}
    )
    config = load_config(None, {**values, **kind})
    with pytest.raises(CheckpointError) as refused:
        run_baseline(config, Run(Path(config.checkpoint_dir), silent=True))
    sang = canary.exists()
    tally("a stranger's model of LibMultiLabel", not sang and "--trust-code" in refused.value.message)
    assert not sang
    assert f"{name}: a model of LibMultiLabel is a pickle" in refused.value.message


def test_the_canary_sings(stranger: Path) -> None:
    """Or the tests above would prove nothing."""
    (stranger.parent / "pickled").write_bytes(pickle.dumps(Sings(stranger.parent / "canary")))
    pickle.loads((stranger.parent / "pickled").read_bytes())
    assert (stranger.parent / "canary").read_text() == "sang"
    pickled_arrays(stranger)
    with zipfile.ZipFile(stranger / "relevance.npz") as archive:
        assert b"write_text" in b"".join(archive.read(name) for name in archive.namelist())
