"""Pages are out of date where the code computes or prints other numbers, not where it names them otherwise."""

from __future__ import annotations

import made_from
import pytest

from plant_plugin.evaluation import resampling
from plant_plugin.report import formats


def test_other_numbers_or_words_make_another_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    before = made_from.digest_of_code()
    assert made_from.digest_of_code() == before
    for module, name, value in ((resampling, "ROUNDING", 1.0), (formats, "UP", "higher")):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, value)
            made_from.made_up_comparison.cache_clear()
            assert made_from.digest_of_code() != before
    made_from.made_up_comparison.cache_clear()
    assert made_from.digest_of_code() == before


def test_every_metric_is_compared() -> None:
    text = made_from.made_up_comparison()
    for metric in ("P@5", "PSP@3", "nDCG@10", "MAP", "MAP-gold", "Micro-F1@micro", "Macro-F1@macro:1-5", "AUC-macro"):
        assert metric in text
    assert "| first | MAP | +" in text


def test_rounding_of_another_machine_makes_no_other_digest() -> None:
    assert made_from.REFERENCE.read_text(encoding="utf-8") == made_from.made_up_comparison()
    assert made_from.differ_by_rounding("P@5 12.3 [1.0, 2.0]", "P@5 12.4 [1.0, 2.1]")
    for other in ("P@5 12.5 [1.0, 2.0]", "P@8 12.3 [1.0, 2.0]", "P@5 12.3 [1.0, 2.0] ▲", "P@5 12.3 [-1.0, 2.0]"):
        assert not made_from.differ_by_rounding("P@5 12.3 [1.0, 2.0]", other)
