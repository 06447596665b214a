"""Notes as long as discharge summaries, of several clinical cases each: a stand-in for MIMIC's that anybody may have.

    python benchmarks/rehearsal/joined_cases.py data/codiesp/en_diagnoses --out data/codiesp/en_joined

Cases are put one after the other, in drawn order, until a note has some 1,500 words; it has the codes of all of them.
That would be three times as many codes as a discharge summary has. Its coders leave most of what stands in it uncoded,
by rules that hold for all notes: so a drawn part of the codes is the label set, such that a note has some sixteen.

Training notes are drawn anew each time, so that a case is in several. A case of validation or test is in one, so that
these notes tell of the data independently.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from plant_plugin.files import write_text

WORDS, CODES = 1500, 16  # of a note, about
Case = tuple[set[str], str]


def read_cases(path: Path) -> list[Case]:
    """Read codes and text of each line."""
    lines = (line.partition("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [(set(codes.split()), text) for codes, _, text in lines]


def joined(cases: Sequence[Case], words: int, notes: int | None, draw: np.random.Generator) -> Iterator[list[Case]]:
    """Yield the cases of each note: of so many notes, or of as many as there are with every case in one of them."""
    order: list[int] = []
    while notes is None or notes > 0:
        note: list[Case] = []
        while sum(len(text.split()) for _, text in note) < words:
            if not order:
                if notes is None and note:
                    return  # what is left over is too short
                order = draw.permutation(len(cases)).tolist()
            note.append(cases[order.pop()])
        yield note
        if notes is not None:
            notes -= 1
        elif not order:
            return


def codes_of(note: Sequence[Case]) -> set[str]:
    """Return the codes of all cases of a note."""
    return set[str]().union(*(codes for codes, _ in note))


def label_set(notes: Sequence[Sequence[Case]], codes: int, draw: np.random.Generator) -> set[str]:
    """Draw the codes, such that a note has so many on average."""
    of_notes = list(map(codes_of, notes))
    known = sorted(set[str]().union(*of_notes))
    share = codes / np.mean([len(codes) for codes in of_notes])
    return {code for code, drawn in zip(known, draw.random(len(known)).tolist(), strict=True) if drawn < share}


def main(arguments: list[str] | None = None) -> None:
    """Write train.txt, valid.txt and test.txt."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="train.txt, valid.txt and test.txt of single cases")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--notes", type=int, default=1000, help="for training")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    draw = np.random.default_rng(options.seed)
    notes = {
        split: list(joined(read_cases(options.folder / f"{split}.txt"), WORDS, number, draw))
        for split, number in (("train", options.notes), ("valid", None), ("test", None))
    }
    wanted = label_set(notes["train"], CODES, draw)
    for split, of_split in notes.items():
        lines = (
            f"{' '.join(sorted(wanted & codes_of(note)))}\t{' '.join(text for _, text in note)}\n" for note in of_split
        )
        write_text(options.out / f"{split}.txt", "".join(lines))


if __name__ == "__main__":
    main()
