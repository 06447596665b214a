"""Arguments as the source of a target has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.config.signatures import REQUIRED, signature_of


@pytest.mark.parametrize(
    ("target", "signature"),
    [
        ("plant_plugin:register", {}),
        ("plant_plugin.config.load:load_config", {"path_or_name": REQUIRED, "overrides": None}),
        ("plant_plugin.errors:PlantError", {"what": REQUIRED, "where": None, "fix": None}),
        ("plant_plugin.errors:DataError", {"what": REQUIRED, "where": None, "fix": None}),  # as its base class
    ],
)
def test_of_functions_classes_and_packages(target: str, signature: dict[str, object]) -> None:
    assert signature_of(target) == signature


def test_of_what_takes_any_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "open_net.py").write_text("def make(size, *, rate=0.5, **others):\n    raise SystemExit\n")
    signature = signature_of("open_net:make")
    assert signature == {"size": REQUIRED, "rate": 0.5}
    assert signature is not None
    assert signature.open
    assert signature_of("open_net:other") is None
