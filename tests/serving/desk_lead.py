"""A lead at a desk, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
from fastapi.testclient import TestClient


class Lead:
    """A lead with a browser."""

    def __init__(self, client: TestClient, token: str) -> None:
        self.client, self.keys = client, iter(range(10**6))
        self.csrf = client.post("/desk/sign-in", json={"token": token}).json()["csrf"]

    def post(self, path: str, expected: int = 200, **body: Any) -> Any:
        body = {"key": f"key-{next(self.keys):06}", **body}
        found = self.client.post(f"/desk/{path}", json=body, headers={"x-csrf": self.csrf})
        assert found.status_code == expected, found.text
        return found.json()

    def documents(self, **asked: Any) -> Any:
        found = self.client.get("/desk/documents", params=asked)
        assert found.status_code == 200, found.text
        return found.json()
