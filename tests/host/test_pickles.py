"""Models of LibMultiLabel load by the list of classes alone; what it does not name never runs."""

from __future__ import annotations

import functools
import os
import pickle
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from made_up import CNN, Outcome
from test_attention_xml import ATTENTION_XML
from test_baselines import LANGUAGE_MODELS, NETWORKS
from test_linear import LINEAR, TREE

from plant_plugin.errors import CheckpointError
from plant_plugin.host.vocabulary import saved_words

Baseline = Callable[..., Outcome]
MODELS: dict[str, tuple[dict[str, Any], str]] = {
    **{name: ({"model_name": name, **options}, "best_model.ckpt") for name, options in NETWORKS.items()},
    "gelu": ({"model_name": "KimCNN", "network_config": {**CNN, "activation": "gelu"}}, "best_model.ckpt"),
    "AttentionXML": (ATTENTION_XML, "model_1.ckpt"),
    "1vsrest": (LINEAR, "linear_pipeline.pickle"),
    **{
        name: ({**LINEAR, "linear_technique": name}, "linear_pipeline.pickle")
        for name in ("thresholding", "cost_sensitive", "cost_sensitive_micro")
    },
    "tree": (TREE, "linear_pipeline.pickle"),
    "trees": ({**TREE, "tree_ensemble_models": 2}, "linear_pipeline.pickle"),
}
QUICK = ("KimCNN", "AttentionXML", "1vsrest", "tree")


class Calls:
    """Its pickle calls a function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call

    def __call__(self) -> None:
        """Pickle calls only what says that it can be called."""


def strangers(canary: Path) -> dict[str, Any]:
    """What leaves the canary's file behind when it is unpickled."""
    code = f"open({str(canary)!r}, 'w').close()"
    return {
        "os.system": Calls(os.system, f"touch {canary}"),
        "eval": Calls(eval, code),
        "exec": Calls(exec, code),
        "functools.partial": Calls(functools.partial, Calls(eval, code)),
        "getattr": Calls(Calls(getattr, Calls(__import__, "os"), "system"), f"touch {canary}"),
    }


@pytest.mark.parametrize(
    "model", [name if name in QUICK else pytest.param(name, marks=pytest.mark.integration) for name in MODELS]
)
def test_every_model_loads_and_answers_as_before(model: str, baseline: Baseline) -> None:
    settings, name = MODELS[model]
    trained = baseline(**settings)
    tested = baseline(**settings, data_name="again", eval=True, checkpoint_path=str(trained.folder / name))
    assert tested.result["metrics"] == pytest.approx(trained.result["metrics"], abs=1e-12)


def test_training_goes_on(baseline: Baseline) -> None:
    settings = {**MODELS["BiGRULWAN"][0]}
    folder = baseline(**settings).folder
    assert baseline(**settings, resume=str(folder), epochs=2).result["metrics"]


def spoiled(folder: Path, copy: Path, file: str, stranger: Any) -> None:
    """A copy of a run folder with the stranger beside what the file held, which LibMultiLabel would load."""
    shutil.rmtree(copy, ignore_errors=True)
    path = shutil.copytree(folder, copy) / file
    if file.endswith(".npy"):
        clusters = np.load(path, allow_pickle=True)
        clusters[0] = clusters[0].view(OwnArray) if isinstance(stranger, OwnArray) else stranger
        np.save(path, clusters, allow_pickle=True)
    elif file.endswith(".ckpt"):
        torch.save({**torch.load(path, weights_only=False), "more": stranger}, path)
    else:
        path.write_bytes(pickle.dumps({**pickle.loads(path.read_bytes()), "more": stranger}))


class OwnNumber(int):
    """A class of somebody's own that a model holds."""


class OwnArray(np.ndarray):
    """A cluster of somebody's own class."""


EVERY = tuple(strangers(Path()))
FILES: dict[str, dict[str, tuple[str, ...]]] = {
    "1vsrest": {"linear_pipeline.pickle": EVERY},
    "KimCNN": {"best_model.ckpt": EVERY},
    "AttentionXML": {"label_clusters.npy": ("os.system", "eval"), "model_0.ckpt": ("eval",), "model_1.ckpt": ("eval",)},
}  # fmt: skip


@pytest.mark.parametrize("model", FILES)
def test_what_the_list_does_not_hold_never_runs(
    model: str, baseline: Baseline, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings, name = MODELS[model]
    trained, canary = baseline(**settings), tmp_path / "canary"
    for file, callers in FILES[model].items():
        again = {**settings, "data_name": file, "eval": True, "checkpoint_path": str(tmp_path / file / name)}
        for called in callers:
            spoiled(trained.folder, tmp_path / file, file, strangers(canary)[called])
            with pytest.raises(CheckpointError) as refused:
                baseline(**again)
            assert not canary.exists(), called
            assert f"{file}: " in refused.value.message, called
            if called != "getattr" or not file.endswith(".ckpt"):  # which a checkpoint calls for its activation
                assert re.search(rf"imports .*\b{called.rpartition('.')[2]}, not on the list", refused.value.message)
                assert "--trust-code" in refused.value.message
        own = np.arange(1).view(OwnArray) if file.endswith(".npy") else OwnNumber()
        spoiled(trained.folder, tmp_path / file, file, own)
        with pytest.raises(CheckpointError, match=rf"imports test_pickles\.{type(own).__name__}"):
            baseline(**again)
        caplog.clear()
        tested = baseline(**again, trust_code=True)
        assert tested.result["metrics"] == pytest.approx(trained.result["metrics"], abs=1e-12)
        assert f"{file} imports test_pickles.{type(own).__name__}" in caplog.text


def test_a_canary_that_sings(tmp_path: Path) -> None:
    """Or the test above would prove nothing."""
    for stranger in strangers(tmp_path / "canary").values():
        try:
            pickle.loads(pickle.dumps(stranger))
        except TypeError:  # of a partial of what was called first
            pass
        (tmp_path / "canary").unlink()


@pytest.mark.parametrize("content", [pickle.dumps(["heart"]), pickle.dumps(7), b"torn"])
def test_a_vocabulary_that_is_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "word_dict.pickle").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"word_dict\.pickle: not a vocabulary of LibMultiLabel"):
        saved_words(tmp_path)


def test_a_vocabulary_of_somebodys_own_class_needs_trust(tmp_path: Path) -> None:
    (tmp_path / "word_dict.pickle").write_bytes(pickle.dumps({"heart": OwnNumber(2)}))
    with pytest.raises(CheckpointError, match=r"imports test_pickles\.OwnNumber[\s\S]*--trust-code"):
        saved_words(tmp_path)
    assert saved_words(tmp_path, trust_code=True) == {"heart": 2}


def test_an_instantiator_of_a_checkpoint_is_not_asked(baseline: Baseline) -> None:
    trained = baseline(**MODELS["KimCNN"][0])
    content = torch.load(trained.folder / "best_model.ckpt", weights_only=False)
    content["hyper_parameters"] |= {
        "_instantiator": "lightning.pytorch.cli.instantiate_module",
        "_class_path": "canary",
    }
    torch.save(content, trained.folder / "best_model.ckpt")
    again = {"eval": True, "checkpoint_path": str(trained.folder / "best_model.ckpt"), "data_name": "again"}
    assert baseline(**MODELS["KimCNN"][0], **again).result["metrics"] == trained.result["metrics"]


def test_a_resumed_checkpoint_names_no_other_one_as_the_best(baseline: Baseline, tmp_path: Path) -> None:
    settings = {**MODELS["KimCNN"][0]}
    folder = baseline(**settings).folder
    spoiled(folder, tmp_path / "copy", "best_model.ckpt", strangers(tmp_path / "canary")["eval"])
    state = torch.load(folder / "last.ckpt", weights_only=False)
    for kept in state["callbacks"].values():
        if "best_model_path" in kept:
            kept |= {
                "best_model_path": str(tmp_path / "copy" / "best_model.ckpt"),
                "best_model_score": torch.tensor(2.0),
            }
    torch.save(state, folder / "last.ckpt")
    with pytest.raises(CheckpointError, match="imports"):
        baseline(**settings, resume=str(folder), epochs=2)
    assert not (tmp_path / "canary").exists()


@pytest.mark.integration
@pytest.mark.parametrize("model", LANGUAGE_MODELS)
def test_language_models_need_trust(model: str, baseline: Baseline, language_model: Path) -> None:
    config = {**LANGUAGE_MODELS[model], "lm_weight": str(language_model)}
    settings = {"model_name": model, "network_config": config, "embed_file": None, "init_weight": None}
    trained = baseline(**settings)
    again = {"eval": True, "checkpoint_path": str(trained.folder / "best_model.ckpt"), "data_name": "again"}
    with pytest.raises(CheckpointError, match="--trust-code"):
        baseline(**settings, **again)
    tested = baseline(**settings, **again, trust_code=True)
    assert tested.result["metrics"] == pytest.approx(trained.result["metrics"], abs=1e-12)
