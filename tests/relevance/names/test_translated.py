from __future__ import annotations

from plant_plugin.relevance.names.translated import Translated


def test_a_word_is_its_own_stem_and_what_the_lexicon_says_of_it() -> None:
    translated = Translated({"femur": 3, "thigh": 5, "bone": 7}, {"femur": [("thigh", 0.5), ("unknown", 0.9)]})
    stems, weights = translated["femur"]
    assert dict(zip(stems.tolist(), weights.tolist(), strict=True)) == {3: 1.0, 5: 0.5}
    assert not len(translated["other"][0])
    assert translated["femur"][0] is stems  # looked up once
