"""A server without a model, of short deadlines."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
from running_server import Running

from plant_plugin.model.predictor import Prediction
from plant_plugin.serving.access import Limits

QUICK = Limits(header_seconds=0.5, body_seconds=0.8, connections=6, drain_seconds=0, last_seconds=1)
HEAD = b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


class Model:
    """As much of a predictor as the server asks for; says which labels it was asked about by the length of a text."""

    def __init__(self) -> None:
        self.network_name, self.name, self._folder = "made up", "mödel", TemporaryDirectory()
        self.folder = Path(self._folder.name)
        (self.folder / "manifest.json").write_text("{}", encoding="utf-8")
        self.labels, self.thresholds, self.column_of = ("A", "B"), {"0.5": 0.0}, {"A": 0, "B": 1}
        self.gate = threading.Event()
        self.gate.set()

    def predict(self, texts: list[str], **question: Any) -> list[Prediction]:
        assert self.gate.wait(30)
        return [Prediction([], len(text), False) for text in texts]


def ready(server: Running, **headers: str) -> None:
    for _ in range(500):
        if httpx.get(f"{server.url}/ready", headers=headers).status_code == 200:
            return
        time.sleep(0.01)
    raise AssertionError("never ready")
