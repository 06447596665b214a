"""Which labels count for a document that coders have finished, and who gave them.

A lead's word on a label settles it. Where no lead has decided on it, it is given where more than half of the coders who
have finished the document gave it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from plant_plugin.data.text import Spans
from plant_plugin.serving.desk.people import LEAD, Coder
from plant_plugin.serving.desk.remarks import unknown
from plant_plugin.serving.desk.store import Decision, Desk, gives

SPLIT = "codes_left_out_because_coders_are_split"
UNKNOWN = "codes_that_the_desk_does_not_know"
Voice = tuple[str, Decision] | None  # who says it, and what; None: does not decide


@dataclass(frozen=True)
class Settled:
    """A label that counts for a document."""

    label: str
    by: list[tuple[str, Decision]] = field(repr=False)  # the coders who gave it
    known: bool  # False: a coder took it though the desk knows no such code

    @property
    def spans(self) -> Spans:
        """The words that any of them marked, in characters."""
        return sorted({span for _, decision in self.by for span in decision.spans})


def settled(desk: Desk, counts: Counter[str]) -> Iterator[tuple[int, str, list[Settled]]]:
    """Yield each finished document, its text and its labels; ``counts`` gets what is left out or unknown."""
    people = {coder.id: coder for coder in desk.people.all()}
    with desk.reads.begin() as connection:
        none = unknown(connection)
    for number, text, by in desk.finished():
        labels = list[Settled]()
        for label, voices in heard(people, by).items():
            yes = [voice for voice in voices if voice and gives(voice[1])]
            counts.update([SPLIT] * (2 * len(yes) == len(voices)))
            if 2 * len(yes) > len(voices):
                labels.append(Settled(label, yes, (number, label) not in none))
        counts.update([UNKNOWN] * sum(not one.known for one in labels))
        yield number, text, labels


def heard(people: Mapping[int, Coder], by: Sequence[tuple[int, str, Mapping[str, Decision]]]) -> dict[str, list[Voice]]:
    """Return what counts on each label on which anybody decided; ``by`` as of :meth:`.store.Desk.finished`."""
    said = [(people[who], decisions) for who, _, decisions in by]
    voices = dict[str, list[Voice]]()
    for label in dict.fromkeys(label for _, decisions in said for label in decisions):
        deciding = [(who, decisions[label]) for who, decisions in said if label in decisions]
        of_leads: list[Voice] = [(who.name, one) for who, one in deciding if who.role == LEAD]
        silent: list[Voice] = [None for who, decisions in said if label not in decisions and who.role != LEAD]
        voices[label] = of_leads or [*((who.name, one) for who, one in deciding), *silent]
    return voices
