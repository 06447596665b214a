"""Train and card the models of the package plant-plugin-models, in the folder beside this file.

    python benchmarks/models/make.py [NAME ...]

``data`` of the current folder holds the data sets (`plant prepare`). A model reads training and validation documents,
is tested once on the test documents. Words that a single document holds stay in it: these documents are published.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch

from plant_plugin.data.documents import LABEL_NAMES
from plant_plugin.files import write_text
from plant_plugin.model.export import export_model
from plant_plugin.model.manifest import CARD, renew

HERE = Path(__file__).parent / "plant_plugin_models"


@dataclass(frozen=True)
class Box:
    """How a model is made, and what its card says of the data."""

    config: str
    language: str
    top: int  # weights of a label
    licence: str
    source: str


MODELS = {
    "codiesp-es": Box(
        "plant_codiesp", "es", 550, "cc-by-4.0",
        "CodiEsp (CLEF eHealth 2020), Spanish clinical cases with codes of ICD-10-CM and the words that coders marked, "
        "by A. Miranda-Escalada, A. Gonzalez-Agirre, J. Armengol-Estapé and M. Krallinger, under CC BY 4.0. Training "
        "and validation cases were read. Names of codes are those of the package cie (MIT) and of ICD-10-CM itself.",
    ),
    "bc5cdr-en": Box(
        "plant_bc5cdr_evidence", "en", 600, "cc0-1.0",
        "BioCreative V CDR, abstracts of PubMed with MeSH's chemicals and diseases, J. Li and others, Database 2016, "
        "in the public domain. Names of labels are those of MeSH, courtesy of the U.S. National Library of Medicine.",
    ),
}  # fmt: skip


def keep_names(folder: Path) -> None:
    """Leave the names of the model's own labels, the first of each language."""
    labels, kept = set((folder / "labels.txt").read_text(encoding="utf-8").split("\n")), {}
    for line in (folder / LABEL_NAMES).read_text(encoding="utf-8").splitlines():
        label, _, language = line.split("\t")
        if label in labels:
            kept.setdefault((label, language), line)
    write_text(folder / LABEL_NAMES, "".join(f"{line}\n" for line in kept.values()))
    renew(folder, LABEL_NAMES)


def make(name: str, box: Box, work: Path) -> None:
    """Write the model into its folder, in the place of the one of before."""
    settings = ("--config", f"{box.config}.yml", "--strategy", "planted_scores", "--planted_scores.model", "ridge",
                "--planted_scores.top", str(box.top), "--seed", "1", "--cpu")  # fmt: skip
    program = "from plant_plugin.cli import libmultilabel; libmultilabel()"
    subprocess.run([sys.executable, "-c", program, *settings, "--silent", "--result_dir", str(work)], check=True)
    [trained] = work.iterdir()
    keep_names(trained)
    out = HERE / name
    shutil.rmtree(out, ignore_errors=True)
    export_model(trained, out, torch.float32, languages=[box.language])
    card = (out / CARD).read_text(encoding="utf-8").replace("---\n", f"---\nlicense: {box.licence}\n", 1)
    write_text(out / CARD, card.replace("## Intended use", f"## Origin\n\n{box.source}\n\n## Intended use", 1))
    size = sum(path.stat().st_size for path in out.rglob("*")) / 1e6
    print(f"{name}: {size:.1f} MB in {out}")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            make(chosen, MODELS[chosen], Path(folder))
