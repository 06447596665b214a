"""Each example configuration of a LibMultiLabel checkout starts and finishes an epoch on made-up data.

    LIBMULTILABEL_CHECKOUT=/path/of/the/checkout pytest -m integration tests/host/test_example_configs.py

What is changed in them, so that a laptop does it in minutes: `epochs` 1, `data_workers` 0, `max_seq_length` at most 64
(the documents have some twenty words), and the sizes in SMALL of `network_config`. Data files are made up under the
names that the configuration gives. Word vectors under a GloVe name come from the made-up `.vector_cache/NAME.txt`,
where LibMultiLabel keeps downloaded ones; a tiny local model stands in for the language models' hub names. AttentionXML
gets 601 labels, because its `beam_width` of 64 needs more than 512 at its `cluster_size`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from made_up import write_documents, write_features, write_language_model, write_vectors

SMALL = {"rnn_dim": 16, "num_filter_per_size": 8, "hidden_dim": 16, "lm_window": 32, "linear_size": [8]}
FEW_LABELS, MANY_LABELS, WORDS = 20, 601, 200


def example_files() -> list[Path]:
    checkout = os.environ.get("LIBMULTILABEL_CHECKOUT")
    if not checkout:
        return []
    return [path for path in sorted(Path(checkout).glob("example_config/*/*.yml")) if not path.stem.endswith("_tune")]


FILES = example_files()


@pytest.mark.integration
@pytest.mark.skipif(not FILES, reason="set LIBMULTILABEL_CHECKOUT to a checkout of LibMultiLabel")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_one_epoch(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from plant_plugin.config import load_config
    from plant_plugin.report.result import read_result
    from plant_plugin.training.run import run

    monkeypatch.chdir(tmp_path)
    values = yaml.safe_load(path.read_text())
    make_up(values)
    changes = shrink(values)
    result = run(load_config(str(path), changes))
    (folder,) = (tmp_path / "runs").iterdir()
    logs = json.loads((folder / "logs.json").read_text())
    if values.get("model_name") != "AttentionXML":  # LibMultiLabel prints its test metrics only
        assert set(values["monitor_metrics"]) <= logs["test"][0].keys()
    assert result["counts"]["documents"] == 32
    assert read_result(folder / "result.json") == result


def make_up(values: dict[str, Any]) -> None:
    """Write the files that a configuration names, relative to the working folder."""
    labels = MANY_LABELS if values.get("model_name") == "AttentionXML" else FEW_LABELS
    for seed, (key, size) in enumerate((("training_file", 64), ("val_file", 32), ("test_file", 32))):
        if key in values:
            file = Path(values[key])
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".svm":
                write_features(file, size, seed=seed)
            else:
                write_documents(
                    file, size * (10 if key == "training_file" and labels > 64 else 1), labels=labels, seed=seed
                )
    if values.get("embed_file"):
        glove = values["embed_file"].startswith("glove")
        file = Path(f".vector_cache/{values['embed_file']}.txt") if glove else Path(values["embed_file"])
        file.parent.mkdir(parents=True, exist_ok=True)
        write_vectors(file, words=WORDS)
    if values.get("vocab_file"):
        Path(values["vocab_file"]).write_text("".join(f"word{word}x\n" for word in range(WORDS)))
    if "lm_weight" in values.get("network_config", {}):
        Path("language_model").mkdir()
        write_language_model(Path("language_model"))


def shrink(values: dict[str, Any]) -> dict[str, Any]:
    """The changes on top of the file, as the module's docstring lists them."""
    changes: dict[str, Any] = {"cpu": True, "silent": True}
    if values.get("linear"):
        return changes
    network = {key: SMALL.get(key, value) for key, value in values["network_config"].items()}
    if "lm_weight" in network:
        network["lm_weight"] = "language_model"
    changes |= {"epochs": 1, "data_workers": 0, "max_seq_length": min(64, values["max_seq_length"])}
    if values.get("val_size", 0) > 1:
        changes["val_size"] = 100  # the made-up training file is smaller than the real one
    return {**changes, "network_config": network}
