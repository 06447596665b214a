from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.config import registry
from plant_plugin.config.signatures import signature_of

OWN = """
from torch import nn
from plant_plugin.networks.plant import PLANT as Ours

class Near(Ours):
    head = None

class Far(Near): ...

class Other(nn.Module): ...
"""


def test_a_class_takes_what_its_base_class_takes_here_and_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "derived_net.py").write_text(OWN)
    ours = signature_of(registry.get("networks", "PLANT").target)
    assert ours
    for name in ("Near", "Far"):
        assert signature_of(f"derived_net:{name}") == ours
    assert signature_of("derived_net:Other") == {}  # what torch's class takes is not read
