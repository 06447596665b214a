"""States of a frozen language model: computed once, kept on disk, the same numbers as without the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from plant_plugin.config import Config
from plant_plugin.data.batches import FrozenStates
from plant_plugin.model.export import export_model
from plant_plugin.model.trained import load_model
from plant_plugin.networks.backbone import FrozenBackbone
from plant_plugin.report.run import Run
from plant_plugin.training import frozen_states as module
from plant_plugin.training.build import build_network
from plant_plugin.training.frozen_states import frozen_states
from plant_plugin.training.inputs import Encoded, Inputs, prepare
from plant_plugin.training.run import run

Made = Callable[..., Config]


@pytest.fixture
def config(made: Made, tiny_language_model: Path) -> Callable[..., Config]:
    network = {
        "lm_weight": str(tiny_language_model), "lm_window": 16, "freeze_encoder": True, "hidden_size": 16,
        "filter_sizes": [3], "num_heads": 2, "pool_size": 8, "planted_prior": "additive",
    }  # fmt: skip

    def build(**changes: Any) -> Config:
        given = {**network, **changes.pop("network", {})}
        return made(network_config=given, max_seq_length=40, **changes)

    return build


def parts(config: Config, tmp_path: Path) -> tuple[Any, Encoded, Run]:
    clock = Run(tmp_path / "clock", silent=True)
    documents = prepare(config, clock)
    return build_network(documents, config, clock), documents, clock


def kept(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "states").glob("*.npy"))


def test_files_hold_what_the_language_model_says(config: Callable[..., Config], tmp_path: Path) -> None:
    chosen = config()
    network, documents, clock = parts(chosen, tmp_path)
    computed = {name: list(Inputs(documents).batches(name, 7)) for name in documents.arrays}
    kept_states = frozen_states(network, documents, chosen, clock)
    assert set(kept_states) == {"train", "val", "test"}
    network.eval()
    for name, batches in computed.items():
        states = kept_states[name]
        assert isinstance(states.states, np.memmap)
        assert states.states.shape == (int(documents.arrays[name].lengths.sum()), 16)
        for without, batch in zip(batches, Inputs(documents, states=kept_states).batches(name, 7), strict=True):
            assert torch.equal(without["text"], batch["text"])
            assert not batch["frozen"][~batch["mask"]].any()
            expected, found = network.encode(without).states, network.encode(batch).states
            real = batch["mask"]
            torch.testing.assert_close(found[real], expected[real], atol=2e-2, rtol=0)  # other batches, then bf16


@pytest.mark.integration
def test_the_language_model_runs_once(
    config: Callable[..., Config], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run(config(strategy="plant"))
    assert result["metrics"]["P@1"] > 0.3
    assert result["time_s"]["frozen_states"] > 0
    before = {path: path.stat().st_mtime_ns for path in kept(tmp_path)}
    assert len(before) == 3

    def never(*_: object) -> None:
        raise AssertionError("the language model ran again")

    monkeypatch.setattr(FrozenBackbone, "frozen_states", never)
    again = run(config(strategy="plant", seed=1, result_dir=str(tmp_path / "again")))
    assert {path: path.stat().st_mtime_ns for path in kept(tmp_path)} == before
    assert again["metrics"] == pytest.approx(result["metrics"], abs=1e-3, nan_ok=True)


def test_other_texts_weights_or_precision_make_other_files(
    config: Callable[..., Config], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add(chosen: Config) -> int:
        network, documents, clock = parts(chosen, tmp_path)
        frozen_states(network, documents, chosen, clock)
        return len(kept(tmp_path))

    assert add(config()) == 3
    assert add(config(network={"hidden_size": 8}, learning_rate=0.5)) == 3  # not what the states depend on
    assert add(config(network={"lm_window": 8})) == 6
    assert add(config(precision="bf16")) == 9
    with open(tmp_path / "test.txt", "a") as stream:
        stream.write("L1\tsign1x filler2\n")
    assert add(config()) == 10


def test_a_damaged_file_is_made_again(config: Callable[..., Config], tmp_path: Path) -> None:
    chosen = config()
    network, documents, clock = parts(chosen, tmp_path)
    frozen_states(network, documents, chosen, clock)
    whole = [path.read_bytes() for path in kept(tmp_path)]
    for path, content in zip(kept(tmp_path), (whole[0][:-5], b"junk", whole[2]), strict=True):
        path.write_bytes(content)
    frozen_states(network, documents, chosen, clock)
    assert [path.read_bytes() for path in kept(tmp_path)] == whole


def test_a_full_disk_costs_a_warning(
    config: Callable[..., Config], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(stream: object, size: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "reserve", full)
    chosen = config()
    network, documents, clock = parts(chosen, tmp_path)
    assert frozen_states(network, documents, chosen, clock) == {}
    assert "the disk is full" in caplog.text
    assert list((tmp_path / "cache" / "states").iterdir()) == []


def test_a_document_without_tokens_has_one_position(config: Callable[..., Config], tmp_path: Path) -> None:
    with open(tmp_path / "test.txt", "a") as stream:
        stream.write("L1\t \n")
    chosen = config(add_special_tokens=False)
    network, documents, clock = parts(chosen, tmp_path)
    assert documents.arrays["test"].lengths[-1] == 0
    states = frozen_states(network, documents, chosen, clock)
    last = next(iter(Inputs(documents, states=states).batches("test", 41)))
    assert last["frozen"][-1, 0].any()
    assert not last["frozen"][-1, 1:].any()


def test_the_checkpoint_holds_the_layer_and_the_head_and_needs_no_kept_states(
    config: Callable[..., Config], tmp_path: Path
) -> None:
    chosen = config(strategy="end_to_end")
    result = run(chosen)
    for path in kept(tmp_path):
        path.unlink()
    names = load_file(Path(chosen.checkpoint_dir) / "model.safetensors")
    assert {".".join(name.split(".")[:2]) for name in names if name.startswith("backbone")} == {"backbone.layer"}
    assert isinstance(load_model(Path(chosen.checkpoint_dir)).network.backbone, FrozenBackbone)
    files = {"training_file": None, "val_file": None, "val_size": 0}
    again = run(config(eval=True, checkpoint_path=str(chosen.checkpoint_dir), **files))
    assert again["metrics"]["P@1"] == pytest.approx(result["metrics"]["P@1"], abs=0.03)


def test_states_of_documents_by_hand() -> None:
    from scipy import sparse

    from plant_plugin.data.batches import Batches
    from plant_plugin.data.token_arrays import TokenArrays

    bits = torch.arange(12, dtype=torch.bfloat16).view(torch.int16).numpy().reshape(6, 2)
    arrays = TokenArrays(np.arange(5, dtype=np.int32), np.array([0, 3, 3, 5]))
    states = FrozenStates(bits, np.array([0, 3, 4, 6]))
    (batch,) = Batches(arrays, sparse.csr_array((3, 4)), 3, 0, False, 0, states=states)
    assert batch["document"].tolist() == [0, 2, 1]
    assert batch["frozen"].float().tolist() == [
        [[0, 1], [2, 3], [4, 5]], [[8, 9], [10, 11], [0, 0]], [[6, 7], [0, 0], [0, 0]],
    ]  # fmt: skip


def test_an_exported_model_predicts_the_same_without_the_language_model_it_came_from(
    config: Callable[..., Config], tmp_path: Path, tiny_language_model: Path
) -> None:
    chosen = config(strategy="end_to_end", stage2__epochs=1)
    run(chosen)
    export_model(Path(chosen.checkpoint_dir), tmp_path / "out", torch.float32)
    assert (tmp_path / "out" / "backbone" / "model.safetensors").is_file()
    batch = {"text": torch.randint(3, 20, (2, 30)), "length": torch.tensor([30, 11])}
    found = [
        load_model(folder).network.eval()(batch)["logits"] for folder in (Path(chosen.checkpoint_dir), tmp_path / "out")
    ]
    torch.testing.assert_close(found[1], found[0])
