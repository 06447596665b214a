"""A desk on which two coders and a lead have worked."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def coded(desk: Any) -> Any:
    from desk_coding import coded_desk

    return coded_desk(desk)
