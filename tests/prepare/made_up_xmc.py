"""Documents written in each shape of the extreme classification repository."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import scipy.sparse as sp

Documents = list[tuple[list[str], str]]  # names of labels, text

TRAIN: Documents = [
    (["heart failure", "sepsis"], 'first "text" of\u2028three'),
    ([], "nobody labelled this"),
    (["sepsis"], "a\\b # c"),
]
TEST: Documents = [(["zero shot"], "only in test"), (["heart failure"], "")]


def names_of(*splits: Documents) -> list[str]:
    return sorted({label for split in splits for labels, _ in split for label in labels})


def text_lines(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


def write_json(folder: Path, train: Documents, test: Documents) -> None:
    names = names_of(train, test)
    for split, documents in (("trn", train), ("tst", test)):
        entries = [
            {"uid": str(n), "title": "", "content": text, "target_ind": [names.index(label) for label in labels]}
            for n, (labels, text) in enumerate(documents)
        ]
        with gzip.open(folder / f"{split}.json.gz", "wt", encoding="utf-8") as stream:
            stream.writelines(json.dumps(entry) + "\n" for entry in entries)
    with gzip.open(folder / "lbl.json.gz", "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps({"uid": f"l{n}", "title": name}) + "\n" for n, name in enumerate(names))


def write_npz(folder: Path, train: Documents, test: Documents) -> None:
    names = names_of(train, test)
    for split, documents in (("trn", train), ("tst", test)):
        matrix = sp.lil_matrix((len(documents), len(names)), dtype="float32")
        for row, (labels, _) in enumerate(documents):
            for label in labels:
                matrix[row, names.index(label)] = 1
        sp.save_npz(folder / f"Y.{split}.npz", matrix.tocsr())
        text_lines(folder / f"X.{split}.txt", [text for _, text in documents])
    text_lines(folder / "Y.txt", names)


def write_pairs(folder: Path, train: Documents, test: Documents) -> None:
    names = names_of(train, test)
    for split, documents in (("trn", train), ("tst", test)):
        rows = [" ".join(f"{names.index(label)}:1" for label in labels) for labels, _ in documents]
        text_lines(folder / f"{split}_X_Y.txt", [f"{len(documents)} {len(names)}", *rows])
        text_lines(folder / "raw_data" / f"{split}_raw_texts.txt", [text for _, text in documents])
    text_lines(folder / "lbl_raw_texts.txt", names)


def write_sparse(folder: Path, train: Documents, test: Documents) -> None:
    names = names_of(train, test)
    for split, documents in (("train", train), ("test", test)):
        rows = [",".join(str(names.index(label)) for label in labels) + " 0:1 2:0.5" for labels, _ in documents]
        text_lines(folder / f"some_{split}.txt", [f"{len(documents)} 3 {len(names)}", *rows])
        text_lines(folder / f"{split}_raw_texts.txt", [text for _, text in documents])
    text_lines(folder / "Y.txt", names)


def write_attention_xml(folder: Path, train: Documents, test: Documents) -> None:
    """Labels by name, so without spaces."""
    for split, documents in (("train", train), ("test", test)):
        text_lines(folder / f"{split}_labels.txt", [" ".join(labels).strip() for labels, _ in documents])
        text_lines(folder / f"{split}_texts.txt", [text for _, text in documents])


WRITERS: dict[str, Callable[[Path, Documents, Documents], None]] = {
    "json": write_json,
    "npz": write_npz,
    "pairs": write_pairs,
    "sparse": write_sparse,
    "attention_xml": write_attention_xml,
}


def joined(documents: Documents) -> Documents:
    """The same with labels that hold no space, as ``attention_xml`` needs."""
    return [([label.replace(" ", "_") for label in labels], text) for labels, text in documents]


def read_back(folder: Path, split: str) -> Documents:
    """Documents of what ``plant prepare xmc`` wrote, with names of labels in place of ids."""
    table = (folder / "label_names.tsv").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    name_of = dict(line.split("\t") for line in table)
    found = []
    for line in (folder / f"{split}.txt").read_bytes().decode().removesuffix("\n").split("\n"):
        labels, text = line.split("\t")
        found.append((sorted(name_of[label] for label in labels.split()), text))
    return found
