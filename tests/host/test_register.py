from __future__ import annotations

import subprocess
import sys

import pytest
from libmultilabel.nn import networks

import plant_plugin
from plant_plugin.errors import PlantError
from plant_plugin.host.register import register_networks


def test_our_networks_stand_beside_the_others() -> None:
    names = plant_plugin.register()
    assert "PLANT" in names
    before = networks.PLANT
    assert register_networks() == names
    assert networks.PLANT is before
    assert networks.KimCNN.__module__.startswith("libmultilabel")


def test_a_stranger_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stranger:
        pass

    monkeypatch.setattr(networks, "PLANT", Stranger, raising=False)
    with pytest.raises(PlantError, match="already has a network called PLANT"):
        register_networks()
    assert networks.PLANT is Stranger


def test_importing_the_package_stays_light() -> None:
    code = "import sys, plant_plugin, plant_plugin.host; print({'torch', 'libmultilabel', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_unknown_attributes_are_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        plant_plugin.host.nonsense  # noqa: B018
