from __future__ import annotations

from plant_plugin.data.last_texts import TEXTS, of_last_texts


class Reader:
    def __init__(self) -> None:
        self.asked: list[str] = []

    @of_last_texts
    def words(self, text: str) -> list[str]:
        """Split a text."""
        self.asked.append(text)
        return text.split()


def test_a_text_is_read_once_while_few_others_come_between() -> None:
    first, second = Reader(), Reader()
    assert first.words("a b") == first.words("a b") == second.words("a b") == ["a", "b"]
    assert first.asked == second.asked == ["a b"]
    for number in range(TEXTS):
        first.words(str(number))
    first.words("a b")
    assert first.asked.count("a b") == 2
    assert first.words.__doc__ == "Split a text."
