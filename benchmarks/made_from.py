"""Which pages are out of date, known without making one: beside the pages stands what each was made from.

A page is made of results, of its experiment's definition, of what papers report of its data, and by the code that
computes and prints its numbers. Where a digest of all that, or of the page itself, is another than when the page was
written, the page is out of date. Of the package's code the digest is of what it makes of a made-up comparison, so that
a new name in it changes nothing.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.report.compare import compare
from plant_plugin.report.formats import markdown
from plant_plugin.report.systems import system_of

ROOT = Path(__file__).resolve().parent.parent
CODE = ["benchmarks/tables.py", "benchmarks/experiment_pages.py"]
DOCUMENTS, LABELS, SEEDS = 40, 12, 3  # of the made-up comparison
REFERENCE = ROOT / "benchmarks" / "made_up_comparison.md"  # as the machine made it on which pages were written
NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?")
ROUNDING = 0.11  # a processor with wider vectors rounds the last digit in another way here and there


def digest(folder: Path, paths: Iterable[Path], *settings: object) -> str:
    """Of files, named as they lie in a folder, and of what JSON can say."""
    hashed = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for path in sorted(paths):
        content = path.read_bytes()
        hashed.update(f"\n{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return hashed.hexdigest()


def digest_of_code() -> str:
    """Of the code that pages of results are made by."""
    return digest(ROOT, (path for pattern in CODE for path in ROOT.glob(pattern)), made_up_comparison())


@functools.cache
def made_up_comparison() -> str:
    """The page of two made-up systems with every metric, which is another where metrics, tests or tables are.

    Where it differs from the reference by rounding, it is the reference, so that every machine comes to one digest.
    """
    generator = np.random.default_rng(1)
    truth = generator.random((DOCUMENTS, LABELS)) < 0.3
    systems = []
    for name, quality in (("first", 2.0), ("second", 1.0)):
        runs = []
        for seed in range(SEEDS):
            evaluator = Evaluator(
                LABELS, train_label_counts=np.arange(LABELS), num_train=100, outside=np.zeros(DOCUMENTS),
                thresholds={"0.5": 0.0, "micro": 0.4, "macro": 0.8}, keep_documents=True,
            )  # fmt: skip
            evaluator.update(generator.standard_normal(truth.shape) + quality * truth, truth)
            documents = evaluator.per_document([f"label {number}" for number in range(LABELS)])
            runs.append((name, {"seed": seed, "metrics": {**evaluator.compute()}}, documents))
        systems.append(system_of(name, runs))
    page = markdown(compare(systems, "second", metrics=[*systems[0].results[0]["metrics"]], resamples=50))
    reference = REFERENCE.read_text(encoding="utf-8") if REFERENCE.is_file() else ""
    return reference if differ_by_rounding(page, reference) else page


def differ_by_rounding(first: str, second: str) -> bool:
    """Tell whether two pages have the same words, and numbers that lie next to each other."""
    numbers = [[float(number.replace("−", "-")) for number in NUMBER.findall(page)] for page in (first, second)]
    same_words = NUMBER.sub("", first) == NUMBER.sub("", second)
    return same_words and all(abs(a - b) <= ROUNDING for a, b in zip(*numbers, strict=True))


class MadeFrom:
    """What pages were made from, in a file of JSON."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def is_current(self, page: Path, sources: str) -> bool:
        """Whether a page is as it was written, from sources of this digest."""
        return page.is_file() and self._known.get(page.name) == [sources, digest(page.parent, [page])]

    def write(self, pages: Iterable[tuple[Path, str]], gone: Iterable[str] = ()) -> None:
        """Note pages just written with the digests of their sources, and forget those of some names."""
        self._known |= {page.name: [sources, digest(page.parent, [page])] for page, sources in pages}
        self._known = {name: found for name, found in sorted(self._known.items()) if name not in set(gone)}
        REFERENCE.write_text(made_up_comparison(), encoding="utf-8")
        self._path.write_text(json.dumps(self._known, indent=1) + "\n", encoding="utf-8")
