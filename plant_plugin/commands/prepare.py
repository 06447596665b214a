"""``plant prepare``: from raw data sets to training files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plant_plugin.commands.annotations import chooses_annotations
from plant_plugin.commands.corpora import DRY_RUN, annif, fasttext, show
from plant_plugin.commands.shared import COUNT, FILE, FOLDER, MODEL, Decorator, all_of

SUBSETS = ("full", "top50", "rare50", "few")
STYLES = ("caml", "edin", "raw")


@click.group()
def prepare() -> None:
    """Turn a raw data set into training files, with a provenance.json beside them."""


def _subsets(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """Text to a tuple; each name once, in the order of ``SUBSETS``."""
    names = [name.strip() for name in value.split(",")]
    for name in names:
        if name not in SUBSETS:
            raise click.BadParameter(f"{name!r} is none of {', '.join(SUBSETS)}")
    return tuple(name for name in SUBSETS if name in names)


def _out(text: str = "The folder to write.") -> Decorator:
    return click.option("--out", required=True, type=FOLDER, help=text)


def mimic_options(min_count: int) -> Decorator:
    """The options that both versions of MIMIC have."""
    return all_of(
        _out("Where the folders of the sets go, e.g. data."),
        click.option("--splits", type=MODEL,
                     help="CAML's *_hadm_ids.csv (their folder) or a *_splits.feather of Edin et al. Without it: by a "
                     "hash of the patient, 90.5, 3.1 and 6.4 %."),
        click.option("--subset", "subsets", metavar="NAME,NAME", callback=_subsets, default="full,top50",
                     show_default=True, help=f"Which of {', '.join(SUBSETS)}."),
        click.option("--style", type=click.Choice(STYLES), default="caml", show_default=True,
                     help="Words with a letter in lower case; Edin et al.'s cleaning; or the text as it is."),
        click.option("--seed", type=int, default=1, show_default=True, help="Of the split by hashed patients."),
        click.option("--codes", type=FILE, help="The codes of top50, one a line, instead of the most frequent ones."),
        click.option("--few-in-test", is_flag=True, help="few: only codes that a test document has too."),
        click.option("--min_count", type=COUNT, default=min_count, show_default=True,
                     help="full: documents that a code needs."),
        click.option("--min_count_over", type=click.Choice(("train", "all")), default="train", show_default=True,
                     help="Where they are counted; `all` as in the literature."),
        DRY_RUN,
    )  # fmt: skip


def marked_options(raw: str, out: Decorator | None = None) -> Decorator:
    """The options of sources whose documents are marked."""
    return all_of(click.option("--raw", required=True, type=MODEL, help=raw), out or _out(), DRY_RUN)


@prepare.command()
@click.option("--raw", required=True, type=FOLDER, help="NOTEEVENTS, DIAGNOSES_ICD, PROCEDURES_ICD (.csv or .csv.gz).")
@click.option("--caml-compatible", is_flag=True, help="Repeat CAML's program where it differs (docs/mimic.md).")
@click.option("--mdace", type=FOLDER, help="MDACE's JSON files (data/Inpatient/ICD-9): coders' evidence.")
@mimic_options(min_count=1)
def mimic3(raw: Path, **options: Any) -> None:
    """MIMIC-III v1.4: discharge summaries and their ICD-9 codes."""
    from plant_plugin.prepare.mimic.mimic import MimicOptions, mimic3_source, prepare_mimic

    show(prepare_mimic(mimic3_source(raw), MimicOptions(**options)), options["out"], options["dry_run"])


@prepare.command()
@click.option("--hosp", required=True, type=FOLDER, help="diagnoses_icd and procedures_icd (.csv or .csv.gz).")
@click.option("--note", required=True, type=FOLDER, help="discharge (.csv or .csv.gz).")
@click.option("--icd", type=click.Choice(("10", "9")), default="10", show_default=True, help="Version of the codes.")
@mimic_options(min_count=10)
def mimic4(hosp: Path, note: Path, icd: str, **options: Any) -> None:
    """MIMIC-IV 2.2 or 3.x: discharge summaries and their ICD-10 or ICD-9 codes."""
    from plant_plugin.prepare.mimic.mimic import MimicOptions, mimic4_source, prepare_mimic

    if icd == "10" and "rare50" in options["subsets"]:
        raise click.UsageError("rare50 is a list of ICD-9 codes: use --icd 9, or leave it out")
    source = mimic4_source(hosp, note, int(icd))
    show(prepare_mimic(source, MimicOptions(**options)), options["out"], options["dry_run"])


@prepare.command()
@click.argument("source", type=FOLDER)
@click.argument("out", type=FOLDER)
@click.option("--vocabulary", type=FILE, help="Words of the features, one a line, for sparse files without texts.")
@click.option("--encoding", default="utf-8", show_default=True, help="Of all files, also in .gz; e.g. latin-1.")
@click.option("--propensities", type=click.Choice(("default", "wikipedia", "amazon")),
              help="Parameters to note; by the folder's name unless given.")  # fmt: skip
@click.option("--repetition", type=COUNT, help="Which division into training and test of *_trSplit.txt; the first.")
@DRY_RUN
def xmc(source: Path, out: Path, **options: Any) -> None:
    """A data set of the extreme classification repository, in any of its shapes, from the folder SOURCE."""
    from plant_plugin.prepare.xmc.xmc import prepare_xmc

    show(prepare_xmc(source, out, **options), out, options["dry_run"])


@prepare.command()
@marked_options(
    "The folder that codiesp.zip was unpacked into.", _out("Where the folders of the sets go, e.g. data/codiesp.")
)
@click.option("--names", type=FOLDER, help="codiesp-D_codes.tsv and codiesp-P_codes.tsv; else looked for in --raw.")
def codiesp(raw: Path, out: Path, names: Path | None, dry_run: bool) -> None:
    """CodiEsp v4: Spanish clinical cases, their ICD-10 codes and the coders' evidence."""
    from plant_plugin.prepare.marked.codiesp import prepare_codiesp

    show(prepare_codiesp(raw, out, dry_run, names), out, dry_run)


@prepare.command()
@marked_options(
    "A folder of .txt and .ann; folders train, valid (or dev), test; in any of them a folder for each annotator."
)
@click.option("--type", "types", multiple=True, help="Only entities of this type; may be given several times.")
@click.option("--types-as-labels", is_flag=True, help="An entity without a code has its type as label.")
@click.option("--code-pattern", help="A regular expression of codes in notes; of the usual terminologies without it.")
@chooses_annotations
def brat(raw: Path, out: Path, **options: Any) -> None:
    """Texts marked with brat: codes in normalisations, or else in notes, with their evidence."""
    from plant_plugin.prepare.marked.brat import prepare_brat

    show(prepare_brat(raw, out, **options), out, options["dry_run"])


@prepare.command()
@marked_options("A JSON file of Label Studio, or a folder with train.json, valid.json (or dev.json), test.json.")
@click.option("--text_key", default="text", show_default=True, help="Where a task's data has the text.")
@click.option("--control", "controls", multiple=True, help="Only labels of this control (from_name); several times.")
@chooses_annotations
def labelstudio(raw: Path, out: Path, **options: Any) -> None:
    """Texts marked with Label Studio: labels of spans, with their evidence, and of documents."""
    from plant_plugin.prepare.marked.label_studio import prepare_labelstudio

    show(prepare_labelstudio(raw, out, **options), out, options["dry_run"])


@prepare.command()
@marked_options(
    "A JSONL or JSON file of doccano, or a folder with train.jsonl, test.jsonl and so on, or a file for each annotator."
)
@chooses_annotations
def doccano(raw: Path, out: Path, **options: Any) -> None:
    """Texts marked with doccano: labels of spans, with their evidence, and of documents."""
    from plant_plugin.prepare.marked.doccano import prepare_doccano

    show(prepare_doccano(raw, out, **options), out, options["dry_run"])


prepare.add_command(fasttext)
prepare.add_command(annif)
