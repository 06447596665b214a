from __future__ import annotations

from plant_plugin.relevance.names.translation import Translated, learn_lexicon


def test_words_that_always_meet_translate_each_other() -> None:
    words = {"rojo": "red", "negro": "black"}, {"perro": "dog", "gato": "cat"}
    pairs = [([a, b], [words[0][a], words[1][b]]) for a in words[0] for b in words[1]] * 3
    lexicon = learn_lexicon(pairs)
    assert {word: max(entries, key=lambda entry: entry[1])[0] for word, entries in lexicon.items()} == {
        "rojo": "red", "perro": "dog", "gato": "cat", "negro": "black"
    }  # fmt: skip
    assert all(0 < probability <= 1 for entries in lexicon.values() for _, probability in entries)


def test_nothing_is_learned_of_nothing() -> None:
    assert learn_lexicon([]) == learn_lexicon([([], [])]) == {}


def test_a_word_is_its_own_stem_and_what_the_lexicon_says_of_it() -> None:
    translated = Translated({"femur": 3, "thigh": 5, "bone": 7}, {"femur": [("thigh", 0.5), ("unknown", 0.9)]})
    stems, weights = translated["femur"]
    assert dict(zip(stems.tolist(), weights.tolist(), strict=True)) == {3: 1.0, 5: 0.5}
    assert not len(translated["other"][0])
    assert translated["femur"][0] is stems  # looked up once
