"""2,000 spoiled inputs of all kinds: none gets the better of a command, and nothing of one is lost in silence."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import mutated_data
import mutated_exports
import mutated_names
import mutated_settings
import pytest
from attacked import Tally
from mutated_inputs import Answer, Subject, asked, fall, one_input, run_inputs
from mutations import bytes_of, json_of, lines_of

Ended = Callable[[str, str], None]


def desks(*, http: bool) -> list[Subject]:
    pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
    import mutated_desk

    return [subject for subject in mutated_desk.subjects() if ("HTTP" in subject.name) == http]


def runs() -> list[Subject]:
    import mutated_runs

    return mutated_runs.subjects()


SUBJECTS: dict[str, Callable[[], list[Subject]]] = {
    "data": mutated_data.subjects, "settings": mutated_settings.subjects, "exports": mutated_exports.subjects,
    "names": mutated_names.subjects, "desks": lambda: desks(http=False), "questions": lambda: desks(http=True),
    "runs": runs,
}  # fmt: skip
SAMPLE, ALL, ALL_SLOW = 4, 44, 14  # seeds of each
WHOLE = {"questions": 120, "settings": 120, "runs": ALL_SLOW, "desks": 60}


def check(subjects: list[Subject], seeds: range, place: Path, tally: Tally, ended: Ended) -> None:
    falls = []
    for name, seed, outcome in run_inputs(subjects, seeds, place / "inputs"):
        group, kind = name.partition(":")[0], outcome.split()[0]
        tally(f"mutated {group}", kind != "FALL")
        ended(group, kind)
        if kind == "FALL":
            falls.append(f"{name}, {seed}: {outcome}")
    assert falls == []


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["data", "settings", "exports", "names", "desks"])
def test_a_sample(tmp_path: Path, tally: Tally, ended: Ended, kind: str) -> None:
    check(SUBJECTS[kind](), range(SAMPLE), tmp_path, tally, ended)


@pytest.mark.attacks
@pytest.mark.parametrize("kind", SUBJECTS)
def test_all(tmp_path: Path, tally: Tally, ended: Ended, kind: str) -> None:
    first = SAMPLE if kind in ("data", "settings", "exports", "names", "desks") else 0
    check(SUBJECTS[kind](), range(first, WHOLE.get(kind, ALL)), tmp_path, tally, ended)


ROWS = b"I10\tzqbado zqfiku\nR50\tzqlemo zqrasi\n"


def subject(
    ask: Callable[[Path], Answer], spoil: Callable[[Path, random.Random], object], **options: object
) -> Subject:
    return Subject("made: up", lambda folder: None, ask, spoil=spoil, **options)  # type: ignore[arg-type]


def outcome(tmp_path: Path, ask: Callable[[Path], Answer], whole: Answer, **options: object) -> str:
    """What is said of an input that nothing spoils."""
    (tmp_path / "original").mkdir(parents=True)
    made = subject(ask, lambda folder, chance: None, **options)
    return one_input(made, tmp_path / "original", whole, tmp_path / "work", 0)


def test_what_a_fall_is(tmp_path: Path) -> None:
    """Or the tests above would prove nothing."""
    whole = Answer(0, "3 documents", "", read=[1, 2, 3])
    answers = {
        "same": Answer(0, "3 documents", "", [1, 2, 3]), "said": Answer(0, "2 documents\n1 left out", "", [1, 2]),
        "refused": Answer(2, "", "Error: a.csv, line 3: no text"), "FALL silent": Answer(0, "2 documents", "", [1, 2]),
        "FALL a text": Answer(2, "", "Error: zqbadofi is no label"), "FALL no error": Answer(2, "", "what"),
        "FALL traceback": Answer(70, "", "Traceback"), "FALL control": Answer(0, "\x07", "", [1, 2, 3]),
    }  # fmt: skip
    for expected, answer in answers.items():
        said = outcome(tmp_path / expected, lambda folder, answer=answer: answer, whole)
        assert said.startswith(expected), said
    plain: dict[str, object] = {"plain": lambda folder: [1, 2]}
    assert outcome(tmp_path / "plain", lambda folder: answers["FALL silent"], whole, **plain) == "another"

    def sings(folder: Path) -> Answer:
        (folder / "sang").write_text("")
        return whole

    def leaves(folder: Path) -> Answer:
        (folder.parent / "out").mkdir()
        return answers["refused"]

    assert outcome(tmp_path / "code", sings, whole) == "FALL code of the input ran"
    assert outcome(tmp_path / "left", leaves, whole).startswith("FALL refused, and written")


def test_a_process_that_ends_costs_one_input(tmp_path: Path) -> None:
    def ask(folder: Path) -> Answer:
        if (folder / "spoiled").exists():
            os._exit(3)
        return Answer(0, "", "")

    def spoil(folder: Path, chance: random.Random) -> None:
        if chance.random() < 0.5:
            (folder / "spoiled").touch()

    outcomes = [outcome for _, _, outcome in run_inputs([subject(ask, spoil)], range(6), tmp_path / "inputs")]
    assert len(outcomes) == 6
    assert {"same", "FALL the process ended: 3"} == set(outcomes)


def test_spoiled_files_are_the_same_for_a_seed() -> None:
    content = json.dumps([{"text": "a", "labels": ["b"]}]).encode()
    for spoil in (bytes_of, json_of):
        assert [spoil(content, random.Random(seed)) for seed in range(30)] == [
            spoil(content, random.Random(seed)) for seed in range(30)
        ]
    assert len({lines_of(ROWS, random.Random(seed)) for seed in range(30)}) > 10


def test_the_fall_of_a_key_twice_was_one(tmp_path: Path) -> None:
    """What this found first: the first of two values of a key was lost."""
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"text": "zqbado", "text": "zqfiku", "labels": ["I10"]}\n'))
    answer = asked("stats", tmp_path / "a.jsonl.gz")
    assert answer.code == 2
    assert "a.jsonl.gz, line 1: no JSON object, or one with a key twice" in answer.error
    assert fall(subject(lambda folder: answer, lambda *_: None), tmp_path, answer, answer, ()) == "refused"
