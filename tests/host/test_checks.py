from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_up import CNN, Outcome
from test_attention_xml import ATTENTION_XML
from test_baseline import LANGUAGE_MODELS, NETWORKS
from test_linear import LINEAR, TREE

from plant_plugin.data.documents import Corpus, Split
from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.host.checks import check_labels, explained, padding_tokenizer, warn_changed_labels

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
QUICK = ("KimCNN", "1vsrest", "tree")  # for AttentionXML there is test_attention_xml.py


def split(name: str, labels: list[list[str]]) -> Split:
    return Split(["text"] * len(labels), labels, name=name)


@pytest.fixture
def corpus() -> Corpus:
    return Corpus(split("train", [["a"], ["b"]]), None, split("test", [["c"]]), ["a", "b"])


def test_the_cause_that_libmultilabel_hides_is_told() -> None:
    from libmultilabel.nn.nn_utils import init_model

    with pytest.raises(ConfigError, match=r"KimCNN cannot be built .*unexpected keyword argument 'filters'"):
        with explained("KimCNN"):
            init_model("KimCNN", {"filters": 3}, classes=["a"])
    with pytest.raises(AttributeError, match="something else"), explained("KimCNN"):
        raise AttributeError("something else")


def test_a_checkpoint_of_other_labels(corpus: Corpus) -> None:
    check_labels(corpus, ["a", "b", "z"], "best_model.ckpt", training=True)
    with pytest.raises(CheckpointError, match=r"best_model\.ckpt: .* has 2 labels and lacks 1 of the 2"):
        check_labels(corpus, ["a", "z"], "best_model.ckpt", training=True)
    check_labels(corpus, ["c", "z"], "best_model.ckpt", training=False)
    with pytest.raises(CheckpointError, match=r"no label of the test file \(1\)"):
        check_labels(corpus, ["a", "z"], "best_model.ckpt", training=False)


def test_renamed_labels_are_noticed(corpus: Corpus, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        warn_changed_labels(corpus, [["a"], ["b"]])
        assert not caplog.records
        warn_changed_labels(corpus, [["a"], ["b.0"]])
    assert "1 training labels" in caplog.text


def test_a_language_model_that_is_none(tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match="lm_weight"):
        padding_tokenizer(str(tmp_path))


def test_a_tokenizer_without_padding(tmp_path: Any) -> None:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}))).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="no padding token"):
        padding_tokenizer(str(tmp_path))


@pytest.mark.parametrize(
    "model", [name if name in QUICK else pytest.param(name, marks=pytest.mark.integration) for name in MODELS]
)
def test_every_model_loads_and_answers_as_before(model: str, baseline: Baseline) -> None:
    settings, name = MODELS[model]
    trained = baseline(**settings)
    tested = baseline(**settings, data_name="again", eval=True, checkpoint_path=str(trained.folder / name))
    assert tested.result["metrics"] == pytest.approx(trained.result["metrics"], abs=1e-12)


@pytest.mark.integration
@pytest.mark.parametrize("model", LANGUAGE_MODELS)
def test_language_models_load_and_answer_as_before(model: str, baseline: Baseline, language_model: Path) -> None:
    config = {**LANGUAGE_MODELS[model], "lm_weight": str(language_model)}
    settings = {"model_name": model, "network_config": config, "embed_file": None, "init_weight": None}
    trained = baseline(**settings)
    again = {"eval": True, "checkpoint_path": str(trained.folder / "best_model.ckpt"), "data_name": "again"}
    tested = baseline(**settings, **again)
    assert tested.result["metrics"] == pytest.approx(trained.result["metrics"], abs=1e-12)


def test_training_goes_on(baseline: Baseline) -> None:
    settings = {**MODELS["BiGRULWAN"][0]}
    folder = baseline(**settings).folder
    assert baseline(**settings, resume=str(folder), epochs=2).result["metrics"]
