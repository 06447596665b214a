"""What `plant prepare` writes is what the rest reads: EURLEX-6K and CodiEsp there and back."""

from __future__ import annotations

import lzma
import shutil
import sys
from pathlib import Path

import pytest

from plant_plugin.data.evidence import read_evidence
from plant_plugin.data.tables import read_any
from plant_plugin.prepare.marked.codiesp import FOLDERS, KINDS, SETS, prepare_codiesp
from plant_plugin.prepare.xmc.xmc import prepare_xmc

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "prepare"))
from made_up_codiesp import write_codiesp, write_split
from made_up_xmc import WRITERS, Documents, read_back

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("shape", WRITERS)
def test_eurlex6k_there_and_back(shape: str, shared: Path, tmp_path: Path) -> None:
    splits: list[Documents] = []
    for name in ("train", "test"):
        documents = read_any(shared / "data" / "eurlex6k" / f"{name}.txt.xz")
        splits.append([(sorted(labels), text) for labels, text in zip(documents.labels, documents.texts, strict=True)])
    source = tmp_path / "eurlex"
    source.mkdir()
    WRITERS[shape](source, *splits)
    made = prepare_xmc(source, tmp_path / "out")
    assert (made["counts"]["train"], made["counts"]["test"]) == (6000, 1500)
    assert [read_back(tmp_path / "out", name) for name in ("train", "test")] == splits


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_codiesp_there_and_back(split: str, shared: Path, tmp_path: Path) -> None:
    """A release made of the prepared files, prepared again, gives their content; the real one gives their bytes."""
    source, official = shared / "data" / "codiesp", FOLDERS[split]
    sets = {name: read_any(source / name / f"{split}.txt.xz") for name in SETS}
    names = {text: f"case-{number:03}" for number, text in enumerate(sets["es_diagnoses"].texts)}
    parts: dict[str, list[tuple[str, ...]]] = {"D": [], "P": [], "X": []}
    for word, name in KINDS.items():
        documents, kind = sets[name], SETS[name][1]
        evidence = read_evidence(source / name / f"{split}_evidence.tsv.xz", documents)
        for text, labels, found in zip(documents.texts, documents.labels, evidence, strict=True):
            parts[kind] += [(names[text], label.lower()) for label in labels]
            for label, spans in found.items():
                words = " ".join(text[start:end] for start, end in spans)
                where = ";".join(f"{start} {end}" for start, end in spans)
                parts["X"].append((names[text], word, label.lower(), words, where))
    texts = {name: text for text, name in names.items()}
    english = dict(zip(texts, sets["en_diagnoses"].texts, strict=True))
    made = {"texts": texts, "english": english, "diagnoses": parts["D"], "procedures": parts["P"], "marks": parts["X"]}
    release = write_codiesp(tmp_path / "raw") / "final_dataset_v4_to_publish"
    shutil.rmtree(release / official)
    write_split(release / official, **made)
    prepare_codiesp(tmp_path / "raw", tmp_path / "out")
    for name in SETS:
        for file in (f"{split}.txt", f"{split}_evidence.tsv"):
            if name != "en_diagnoses" or file.endswith(".txt"):
                with lzma.open(source / name / f"{file}.xz") as stream:
                    made_again = (tmp_path / "out" / name / file).read_bytes()
                    if file.endswith(".tsv"):  # these do not tell yet which spans are one mark
                        made_again = made_again.replace(b"+", b";")
                    assert made_again == stream.read(), (name, file)
