"""A made-up release of CodiEsp, and the release that files prepared from one could have come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

Row = tuple[str, ...]
KINDS = {"D": "DIAGNOSTICO", "P": "PROCEDIMIENTO"}

TEXT = "Mujer de 50 años con tos.\n\nRadiografía de tórax: neumonía del\nlóbulo inferior.\n"
ENGLISH = "A woman of 50 with a cough.\nChest X-ray: pneumonia of the lower lobe.\n"
OTHER = "Varón con asma."


def places(text: str, *words: str) -> str:
    """Where words stand, as the tables write it."""
    return ";".join(f"{text.index(word)} {text.index(word) + len(word)}" for word in words)


DIAGNOSES: list[Row] = [("case-2", "r05"), ("case-2", "j18.9"), ("case-1", "j45.909")]
PROCEDURES: list[Row] = [("case-2", "bw03zzz")]
# brat leaves one where a mark goes over the end of a line; four lines of the release have it.
EMPTY_PIECE = places(TEXT, "neumonía", "del\nlóbulo").replace(";", ";60 60;")
MARKS: list[Row] = [
    ("case-2", KINDS["P"], "bw03zzz", "Radiografía de tórax", places(TEXT, "Radiografía de tórax")),
    ("case-2", KINDS["D"], "j18.9", "neumonía lóbulo inferior", places(TEXT, "neumonía", "lóbulo inferior.")),
    ("case-2", KINDS["D"], "r05", "tos", places(TEXT, "tos")),
    ("case-2", KINDS["D"], "j18.9", "neumonía  del lóbulo", EMPTY_PIECE),
    ("case-1", KINDS["D"], "j45.909", "asma", places(OTHER, "asma")),
]


# As the lists have them: codes in either case, no header; some without English, 98,288 and 87,170 of them in all.
LISTS: dict[str, list[Row]] = {
    "D": [("R05", "Tos ", "Cough"), ("j18.9", "Neumonía, organismo no especificado", ""), ("Z99.9", "x", "y")],
    "P": [
        ("BW03", "Tórax, radiografía simple"),
        ("BW03ZZZ", "Radiografía simple de tórax", "Plain Radiography of Chest"),
    ],
}


def write_names(folder: Path) -> Path:
    """The task's lists of codes."""
    folder.mkdir(parents=True)
    for kind, rows in LISTS.items():
        lines = "".join("\t".join(row) + "\n" for row in rows)
        (folder / f"codiesp-{kind}_codes.tsv").write_text(lines, encoding="utf-8")
    return folder


def write_split(
    folder: Path,
    *,
    texts: dict[str, str] | None = None,
    english: dict[str, str] | None = None,
    diagnoses: Iterable[Row] = DIAGNOSES,
    procedures: Iterable[Row] = PROCEDURES,
    marks: Iterable[Row] = MARKS,
) -> None:
    """One of the release's folders."""
    cases = {"text_files": texts or {"case-1": OTHER, "case-2": TEXT}}
    cases["text_files_en"] = english or {"case-1": "A man with asthma.", "case-2": ENGLISH}
    for name, files in cases.items():
        (folder / name).mkdir(parents=True)
        for case, text in files.items():
            (folder / name / f"{case}.txt").write_bytes(text.encode())
    for kind, rows in {"D": diagnoses, "P": procedures, "X": marks}.items():
        lines = "".join("\t".join(row) + "\n" for row in rows)
        (folder / f"{folder.name}{kind}.tsv").write_text(lines, encoding="utf-8")


def write_codiesp(folder: Path, **train: Sequence[Row]) -> Path:
    """A release in the folder that its archive makes; what is given replaces parts of train."""
    release = folder / "final_dataset_v4_to_publish"
    write_split(release / "train", **train)  # type: ignore[arg-type]
    write_split(release / "dev")
    write_split(release / "test")
    return folder
