from __future__ import annotations

from plant_plugin.relevance.names.lexicon import learn_lexicon


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
