"""Time and peak memory of ``plant prepare`` at full size, on made-up tables of MIMIC-III's shape.

    python benchmarks/speed/prepare_full_size.py mimic3 FOLDER      # writes 5 GB into FOLDER, prepares, measures
    python benchmarks/speed/prepare_full_size.py xmc FOLDER         # 600,000 documents of trn.json.gz

Nothing in these files comes from MIMIC: random words, random codes. FOLDER can be deleted afterwards.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

NOTE_ROWS, SUMMARIES, ADMISSIONS, PATIENTS = 2_083_180, 59_652, 52_726, 41_127
DIAGNOSES, PROCEDURES = 651_047, 240_095
SUMMARY_BYTES, OTHER_BYTES = 10_500, 1_650  # mean; together a bit more than the real ones, 5 GB
XMC_DOCUMENTS, XMC_LABELS, XMC_WORDS = 600_000, 130_000, 150


def paragraphs(source: random.Random, number: int = 4000) -> list[str]:
    """Pieces of text of about 500 characters, escaped for CSV, with quotes and line breaks."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(source.choices(letters, k=source.randint(2, 10))) for _ in range(30_000)]
    words += ["12", "500", "250mg", "[**2101-1-1**]", '""quoted""', "b.i.d.,", "\n", "\n\n"] * 200
    weights = [1 / (rank + 5) for rank in range(len(words))]
    source.shuffle(words)
    return [" ".join(source.choices(words, weights, k=90)) for _ in range(number)]


def write_mimic3(folder: Path) -> None:
    source = random.Random(1)
    folder.mkdir(parents=True, exist_ok=True)
    pieces = paragraphs(source)
    admissions = list(range(100_000, 100_000 + ADMISSIONS))
    patient_of = {number: number % PATIENTS + 1 for number in admissions}
    # Summaries are spread among the others as chance wants; every admission has one.
    of_summary = admissions + source.choices(admissions, k=SUMMARIES - ADMISSIONS)
    with open(folder / "NOTEEVENTS.csv", "w", encoding="utf-8", newline="") as stream:
        header = ["ROW_ID", "SUBJECT_ID", "HADM_ID", "CHARTDATE", "CHARTTIME", "STORETIME", "CATEGORY", "DESCRIPTION"]
        stream.write(",".join(f'"{name}"' for name in [*header, "CGID", "ISERROR", "TEXT"]) + "\n")
        left = SUMMARIES
        for row in range(NOTE_ROWS):
            is_summary = source.random() < left / (NOTE_ROWS - row)
            left -= is_summary
            admission = of_summary[left] if is_summary else source.choice(admissions)
            kind = "Discharge summary" if is_summary else "Nursing/other"
            size = source.expovariate(1 / (SUMMARY_BYTES if is_summary else OTHER_BYTES))
            text = "\n".join(source.choices(pieces, k=1 + int(size / 560)))
            description = "Addendum" if is_summary and left >= ADMISSIONS else "Report"
            stream.write(
                f'{row + 1},{patient_of[admission]},{admission},2101-01-{row % 28 + 1:02},,,"{kind}","{description}",'
                f',,"{text}"\n'
            )
    diagnoses = [f"{source.randint(1, 99_999):05}"[: source.choice((3, 4, 4, 5))] for _ in range(6500)]
    diagnoses += [f"V{source.randint(100, 8999):04}" for _ in range(400)] + [f"E8{n:03}" for n in range(0, 1000, 4)]
    procedures = [f"{number:04}"[: source.choice((3, 4, 4))] for number in source.sample(range(1, 9999), 2000)]
    for name, codes, rows in (("DIAGNOSES_ICD", diagnoses, DIAGNOSES), ("PROCEDURES_ICD", procedures, PROCEDURES)):
        weights = [1 / (rank + 3) for rank in range(len(codes))]
        with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as stream:
            stream.write('"ROW_ID","SUBJECT_ID","HADM_ID","SEQ_NUM","ICD9_CODE"\n')
            for row, code in enumerate(source.choices(codes, weights, k=rows)):
                admission = admissions[row % ADMISSIONS]
                stream.write(f'{row},{patient_of[admission]},{admission},{row // ADMISSIONS + 1},"{code}"\n')


def write_xmc(folder: Path) -> None:
    source = random.Random(1)
    folder.mkdir(parents=True, exist_ok=True)
    words = ["".join(source.choices("abcdefghijklmnop", k=7)) for _ in range(20_000)]
    with gzip.open(folder / "lbl.json.gz", "wt", compresslevel=1, encoding="utf-8") as stream:
        for label in range(XMC_LABELS):
            stream.write(json.dumps({"uid": f"l{label}", "title": " ".join(source.choices(words, k=4))}) + "\n")
    for name, documents in (("trn", XMC_DOCUMENTS), ("tst", XMC_DOCUMENTS // 4)):
        with gzip.open(folder / f"{name}.json.gz", "wt", compresslevel=1, encoding="utf-8") as stream:
            for number in range(documents):
                targets = sorted(source.sample(range(XMC_LABELS), 5))
                content = " ".join(source.choices(words, k=XMC_WORDS))
                title = " ".join(source.choices(words, k=6))
                line = {"uid": str(number), "title": title, "content": content, "target_ind": targets}
                stream.write(json.dumps({**line, "target_rel": [1.0] * 5}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("mimic3", "xmc"))
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    raw, out = arguments.folder / "raw", arguments.folder / "out"
    if not raw.is_dir():
        start = time.perf_counter()
        {"mimic3": write_mimic3, "xmc": write_xmc}[arguments.what](raw)
        print(f"made-up files written in {time.perf_counter() - start:.0f} s")
    where = ["--raw", raw, "--out", out] if arguments.what == "mimic3" else [raw, out]
    command = [sys.executable, "-c", "from plant_plugin.cli import plant; plant()", "prepare", arguments.what, *where]
    start = time.perf_counter()
    subprocess.run(list(map(str, command)), check=True)
    seconds, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    size = sum(path.stat().st_size for path in raw.iterdir()) / 1e9
    processor, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024**2
    print(f"{arguments.what}: {size:.2f} GB in {seconds:.0f} s ({processor:.0f} s of processor), peak {peak:.2f} GiB")


if __name__ == "__main__":
    main()
