from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plant_plugin.errors import PlantError
from plant_plugin.model.adapters import base_with_adapters


def test_a_base_that_only_the_folder_names_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's folder could once have downloaded anything by `plant export`."""
    import huggingface_hub.constants

    hosts: list[object] = []
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    # Every command says so before the hub is imported, which a test before may have done.
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setattr("socket.getaddrinfo", lambda *address, **options: hosts.append(address) or [])
    content: Any = {"network_config": {"lm_weight": "stranger/model"}, "base": "0" * 64, "word_vectors": None}
    with pytest.raises(PlantError, match="is not on this machine, and nothing is fetched"):
        base_with_adapters(tmp_path, content, None)
    assert hosts == []
