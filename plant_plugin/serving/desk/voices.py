"""Whose word counts on a label: that of leads who decided on it, else that of all coders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plant_plugin.serving.desk.people import LEAD, Coder
from plant_plugin.serving.desk.store import Decision

Voice = tuple[str, Decision] | None  # who says it, and what; None: does not decide


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
