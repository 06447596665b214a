"""Every name of a packaged configuration means what it has always meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaged_settings import load_with_files, settings_of, stored


@pytest.mark.parametrize("name", stored())
def test_a_name_resolves_to_the_settings_that_it_had(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = settings_of(load_with_files(name))
    if name == "plant":  # it is for any file
        assert settings.pop("training_file") == "demo:train"
    assert settings == stored()[name]
