"""The page of systems whose explanations stand beside coders' marks."""

from __future__ import annotations

from pathlib import Path

import plausibility as module
import pytest
from plausibility import table

from plant_plugin.evaluation.plausibility import MEASURES
from plant_plugin.model.plausibility import MarkedPairs, Plausibility


def test_a_row_for_each_system_and_order() -> None:
    numbers = {name: (0.5 + place / 100, 0.4, 0.6) for place, name in enumerate(MEASURES)}
    found = {
        "planted": [Plausibility("attention", (0.5, 0.6), numbers, {"1-5": numbers, "6-10": numbers}, [(0.1, 0.2)])],
        "plain": [Plausibility("attention", (0.5,), numbers, {"1-5": numbers}, [(0.1, 0.2)])],
    }
    page = table(found, "made", 3, 2)
    assert "means over 3 pairs of document and label of 2 test" in page
    assert "| system | words ordered by | runs | precision | recall | F1 | IoU | AP | hit@1 | hit@5 |" in page
    assert "| planted | attention | 2 | 50.0 [40.0, 60.0] | 51.0 [40.0, 60.0] |" in page
    assert "| system | words ordered by | 1-5 | 6-10 |" in page
    assert "| plain | attention | 52.0 | – |" in page


def test_a_system_is_added_to_those_that_were_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = dict.fromkeys(MEASURES, (0.5, 0.4, 0.6))
    pairs = MarkedPairs(documents=[3, 3, 4], columns=[0, 1, 0])

    def measured(runs: list[Path], seed: int) -> tuple[list[Plausibility], MarkedPairs]:
        return [Plausibility("attention", (0.5,) * len(runs), numbers, {}, [(0.1, 0.2)])], pairs

    monkeypatch.setattr(module, "measured", measured)
    for given in ("first=a,b", "second=c"):
        monkeypatch.setattr("sys.argv", ["plausibility.py", "made", given, "--tables", str(tmp_path)])
        module.main()
    page = (tmp_path / "plausibility_made.md").read_text(encoding="utf-8")
    assert page.index("| first | attention | 2 |") < page.index("| second | attention | 1 |")
    pairs.documents[2] = 3
    monkeypatch.setattr("sys.argv", ["plausibility.py", "made", "third=d", "--tables", str(tmp_path)])
    with pytest.raises(SystemExit, match="third: tested on"):
        module.main()
