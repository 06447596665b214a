"""``plant prepare fasttext`` and ``annif``, and what every preparation says when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from plant_plugin.commands.shared import FILE, FOLDER, MODEL, count_line

WARNINGS = {
    "patients_in_two_splits": "patients have admissions in two splits: what was learned of them helps in test",
    "documents_in_training_and_test": "documents are in training and in test: what was learned of them helps",
    "split_ids_without_document": "admissions of the split lists have no document here",
    "mdace_annotations_of_other_code_systems": "annotations of MDACE are of other code systems: left out",
    "mdace_annotations_of_other_notes": "annotations of MDACE are not of a discharge summary that has codes: left out",
    "mdace_annotations_of_other_codes": "annotations of MDACE, coded anew, are of codes that MIMIC lacks: left out",
    "mdace_annotations_without_a_word": "annotations of MDACE hold no word that the style keeps: left out",
    "documents_whose_annotations_differ": "documents are annotated differently by several people: see --annotators",
    "marks_that_begin_or_end_inside_a_word": "marks begin or end inside a word: see that their places count characters",
    "features_without_words": "features have no words: written with their values, for --linear --data_format xmc",
    "name_tables_missing": "tables of what codes stand for are missing (D_ICD_*, d_icd_*; CodiEsp: --names): labels "
    "have no names, which planted scores and explanations would read",
}
DRY_RUN = click.option("--dry-run", is_flag=True, help="Do all but write, and show the counts.")


@click.command()
@click.argument("raw", type=MODEL)
@click.argument("out", type=FOLDER)
@click.option("--prefix", default="__label__", show_default=True, help="What begins the words that are labels.")
@DRY_RUN
def fasttext(raw: Path, out: Path, prefix: str, dry_run: bool) -> None:
    """fastText's lines, `__label__A __label__B text`: the file RAW, or a folder with train, valid and test."""
    from plant_plugin.prepare.corpora import prepare_fasttext

    show(prepare_fasttext(raw, out, prefix, dry_run), out, dry_run)


@click.command()
@click.argument("raw", type=MODEL)
@click.argument("out", type=FOLDER)
@click.option("--vocabulary", type=FILE, help="Lines of <uri> TAB name: names become URIs, and URIs get names.")
@click.option("--skip-bad", is_flag=True, help="Pass over lines without URIs of subjects, and say how many.")
@DRY_RUN
def annif(raw: Path, out: Path, **options: Any) -> None:
    """A corpus of Annif: .tsv, .csv, .jsonl, a folder of .txt with .key or .tsv, or RAW with train, test of these."""
    from plant_plugin.prepare.annif import prepare_annif

    show(prepare_annif(raw, out, **options), out, options["dry_run"])


def show(provenance: Mapping[str, Any], out: Path, dry_run: bool) -> None:
    """Print the counts of a preparation, what to worry about first; never a text or an id."""
    counts = {**provenance["counts"]}
    for name, meaning in WARNINGS.items():
        number = max([counts.pop(name, 0), *(part.get(name, 0) for part in provenance["sets"].values())])
        if number:
            click.echo(f"note: {number:,} {meaning}", err=True)
    for count in counts.items():
        click.echo(count_line(*count))
    for folder, sizes in (provenance["sets"] or {"": {}}).items():
        click.echo(f"{'would be written' if dry_run else 'written'}: {out / folder}")
        for name, number in sizes.items():
            if name not in WARNINGS:
                click.echo("  " + count_line(name, number))
