from __future__ import annotations

import os

import pytest

from plant_plugin.errors import PlantError
from plant_plugin.relevance.cluster import cluster


def test_a_cluster_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="needs the extra `ray`")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)

    def refuse(address: str, **options: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(ray, "init", refuse)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    with pytest.raises(PlantError, match=r"127\.0\.0\.1:9: Ray does not start, or no cluster answers"), cluster():
        pass
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
