from __future__ import annotations

import re

import pytest

from plant_plugin.config.listing import keys
from plant_plugin.errors import CheckpointError
from plant_plugin.training.further import taken_over

# Keys that write a file, run code, ask the network or say how a machine works, or only test.
NOT_TAKEN = {
    "predict_out_path", "save_k_predictions", "save_positive_predictions", "cache_dir", "embed_cache_dir", "registry",
    "logger", "data_workers", "checkpoint_every", "without_packing", "silent", "resume", "result_dir",
    "checkpoint_path",
}  # fmt: skip


def test_what_writes_or_runs_is_not_taken_over() -> None:
    names = {key.name.partition(".")[0] for key in keys() if key.group != "Search"}
    taken, amiss = taken_over(dict.fromkeys(names, "some"), "runs/a", trust_code=False)
    assert amiss == ["registry"]
    assert taken.keys() == names - NOT_TAKEN


def test_a_trusted_folder_may_run_code_and_still_writes_nothing_elsewhere() -> None:
    written = {"registry": "mine.yaml", "predict_out_path": "/etc/passwd", "epochs": 3, "evil": 1}
    assert taken_over(written, "runs/a", trust_code=True) == ({"epochs": 3, "registry": "mine.yaml"}, ["evil"])


def test_the_name_of_the_data_leads_nowhere() -> None:
    assert taken_over({"data_name": "../../x", "stage1.k": 3}, "a", trust_code=False) == ({"stage1.k": 3}, [])
    assert taken_over({"data_name": "notes"}, "a", trust_code=False) == ({"data_name": "notes"}, [])


def test_a_network_of_somebodys_own_is_refused_unless_trusted() -> None:
    with pytest.raises(CheckpointError, match=re.escape("--trust-code")):
        taken_over({"model_name": "evil:Net"}, "runs/a", trust_code=False)
    assert taken_over({"model_name": "evil:Net"}, "runs/a", trust_code=True)[0]["model_name"] == "evil:Net"
