"""Tables of MIMIC's shape with some made-up stays, where the packaged configurations' own commands look, and a chart.

Each code has a word of its own in the notes. Half of the stays are coded in ICD-9 and half in ICD-10 in the made-up
MIMIC-IV; every benchmark has codes: frequent ones, those of rare50, and some that few stays have.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "prepare"))

from made_up_mimic import SUMMARY, write_lists, write_mimic3  # noqa: E402
from test_mdace import DIAGNOSIS, write_mdace  # noqa: E402
from test_mimic_iv import write_mimic4  # noqa: E402

from plant_plugin.prepare.mimic.splits import RARE50  # noqa: E402

FIRST = 100_000  # HADM_ID of the first stay
FILLERS = ["the", "patient", "was\n", '"stable"', "500", "at", "home", "given", "___", "then"]


def write_hospital(folder: Path, stays: int = 240, frequent: int = 60, few: int = 40) -> None:
    """The folders of MIMIC-III, MIMIC-IV and MDACE, and the literature's lists; every seventh stay validates."""
    draw = random.Random(1)
    listed = [code for code in RARE50.read_text(encoding="utf-8").split("\n") if code[3:4] == "." and code[0] != "#"]
    kinds = {
        "frequent": [f"{number:03}0" for number in range(400, 400 + frequent)],
        "rare50": [code.replace(".", "") for code in listed],
        "few": [f"{number:03}1" for number in range(600, 600 + few)],
    }
    weights = [1 / (rank + 8) for rank in range(frequent)]
    chosen = [set(draw.choices(kinds["frequent"], weights, k=8)) for _ in range(stays)]
    for stay in chosen[::2]:
        stay.add(draw.choice(kinds["rare50"]))
    for code in kinds["few"]:
        for stay in draw.sample(range(stays), 4):
            chosen[stay].add(code)
    numbers = [FIRST + stay for stay in range(stays)]
    texts = [_text(sorted(codes), draw) for codes in chosen]
    _write_mimic3(folder, numbers, chosen, texts)
    _write_mimic4(folder, numbers, chosen, texts)


def split_of(number: int) -> str:
    """As CAML calls it."""
    return {0: "dev", 1: "test"}.get(number % 7, "train")


def _text(codes: Sequence[str], draw: random.Random) -> str:
    words = [f"finding{code}" for code in codes] + draw.choices(FILLERS, k=20)
    draw.shuffle(words)
    return " ".join(words)


def _write_mimic3(folder: Path, numbers: list[int], chosen: list[set[str]], texts: list[str]) -> None:
    stays = list(zip(numbers, chosen, texts, strict=True))
    rows = [(number, number, code) for number, codes, _ in stays for code in sorted(codes)]
    names = [(code, f"Disorder finding{code}") for code in sorted({code for _, _, code in rows})]
    write_mimic3(
        folder / "mimic-iii",
        notes=[(number, number, "2101-01-01", SUMMARY, "Report", text) for number, _, text in stays],
        diagnoses=rows,
        procedures=[(number, number, "9910") for number in numbers],
        diagnosis_names=names[::2],  # some codes have none
        zipped=True,
    )
    lists = {split: [number for number in numbers if split_of(number) == split] for split in ("train", "dev", "test")}
    code = min(chosen[0])
    place = texts[0].index(f"finding{code}")
    mark = {"begin": place, "end": place + len(f"finding{code}"), "code": code, "code_system": DIAGNOSIS}
    write_mdace(folder / "MDACE" / "data", {numbers[0]: {1: [mark]}})
    for kind in ("full", "50"):
        write_lists(folder / "caml-mimic" / "mimicdata" / "mimic3", lists, kind=kind)
    _write_split(folder, "mimiciii_clean", "splits", numbers)


def _write_mimic4(folder: Path, numbers: list[int], chosen: list[set[str]], texts: list[str]) -> None:
    rows, operations, names = [], [], {}
    of_version: dict[int, list[int]] = {9: [], 10: []}
    for number, codes in zip(numbers, chosen, strict=True):
        version = 9 if number % 2 else 10
        of_version[version].append(number)
        for code in sorted(codes):
            written = code if version == 9 else "I" + code
            rows.append((number, number, written, version))
            names[written, version] = f"Disorder finding{code}"
        operations.append((number, number, "9910" if version == 9 else "02100Z9", version))
    notes = [(number, number, "DS", 1, text) for number, text in zip(numbers, texts, strict=True)]
    hosp, note = write_mimic4(
        folder / "made", notes=notes, codes=rows, operations=operations,
        names=[(code, version, name) for (code, version), name in names.items()],
    )  # fmt: skip
    for source, target in ((hosp, folder / "mimic-iv" / "hosp"), (note, folder / "mimic-iv-note" / "note")):
        target.parent.mkdir(parents=True)
        source.rename(target)
    for version, stays in of_version.items():
        _write_split(folder, f"mimiciv_icd{version}", "split", stays)


def _write_split(folder: Path, name: str, ending: str, stays: list[int]) -> None:
    """One of Edin et al.'s split files, in their repository."""
    from pyarrow import feather, table

    path = folder / "medical-coding-reproducibility" / "files" / "data" / name
    path.mkdir(parents=True)
    splits = [split_of(number).replace("dev", "val") for number in stays]
    feather.write_feather(table({"_id": stays, "split": splits}), path / f"{name}_{ending}.feather")
