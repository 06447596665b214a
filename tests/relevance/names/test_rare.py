from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from plant_plugin.relevance.names.open_labels import OPEN_LABELS, OpenLabels
from plant_plugin.relevance.names.rare import save_open, without_rare


def test_the_lexicon_keeps_what_enough_texts_hold(fitted: OpenLabels, tmp_path: Path) -> None:
    lexicon = {"garcia": [("renal", 0.4)], "nefriti": [("kidney", 0.9)]}
    known = replace(
        fitted, proposer=replace(fitted.proposer, lexicon={word[:6]: names for word, names in lexicon.items()})
    )
    texts = ["Nefritis de Garcia", "nefritis", "otra nefritis"]
    stripped = without_rare(known, texts, 2)
    assert stripped is not None
    assert list(stripped.proposer.lexicon) == ["nefrit"]
    save_open(stripped, tmp_path)
    assert "garcia" not in (tmp_path / OPEN_LABELS[0]).read_text()
    assert without_rare(None, texts, 2) is None
    save_open(None, tmp_path / "none")
    assert not (tmp_path / "none").exists()
