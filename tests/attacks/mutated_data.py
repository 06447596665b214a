"""Whole data files of every reader and what plain readers of their formats say, for :mod:`mutated_inputs`."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import random
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from mutated_inputs import OUT, Answer, Subject, Terminal, asked, asked_and_read, words
from mutations import CANARY

from plant_plugin.data.tables import Columns, Table, read_any
from plant_plugin.report.predictions import read_scores

Rows = list[tuple[str, list[str], str]]  # id, labels, text
SYLLABLES = ("ba", "do", "fi", "ku", "le", "mo", "ra", "si", "tu", "ve")


def rows(number: int = 8) -> Rows:
    """Documents of words that no command may say."""
    chance = random.Random(7)
    word = lambda: CANARY + "".join(chance.choice(SYLLABLES) for _ in range(3))  # noqa: E731
    labels = ["I10", "E11.9", "J45.909", "R50", "Z99.2", "N18.6"]
    return [
        (f"pt77{row}91{row}", sorted(chance.sample(labels, chance.randint(1, 3))),
         " ".join(word() for _ in range(12)) + f", {word()}.")
        for row in range(number)
    ]  # fmt: skip


def table(sign: str, labels: str, encoding: str = "utf-8", first: str = "") -> bytes:
    stream = io.StringIO()
    stream.write(first)
    writer = csv.writer(stream, delimiter=sign, lineterminator="\n")
    writer.writerow(["id", "text", "labels"])
    writer.writerows([number, text, labels.join(codes)] for number, codes, text in rows())
    return stream.getvalue().encode(encoding)


def objects() -> list[dict[str, Any]]:
    return [{"id": number, "text": text, "labels": codes} for number, codes, text in rows()]


def text_format(width: int = 2) -> bytes:
    ids = [f"{number}\t" if width == 3 else "" for number, _, _ in rows()]
    return "".join(
        f"{one}{' '.join(codes)}\t{text}\n" for one, (_, codes, text) in zip(ids, rows(), strict=True)
    ).encode()


def marks() -> str:
    """An evidence file: the first word of each document for its first label."""
    return "".join(f"{row}\t{codes[0]}\t0-{text.index(' ')}\n" for row, (_, codes, text) in enumerate(rows()))


FILES: dict[str, Callable[[], bytes]] = {
    "a.csv": lambda: table(",", ";"), "semicolons.csv": lambda: table(";", "|"), "excel.csv":
    lambda: table(";", " ", first="sep=;\n"), "utf16.csv": lambda: table(",", ";", "utf-16"),
    "a.csv.xz": lambda: lzma.compress(table(",", ";"), preset=0),
    "a.jsonl": lambda: "".join(json.dumps(each) + "\n" for each in objects()).encode(),
    "a.jsonl.gz": lambda: gzip.compress("".join(json.dumps(each) + "\n" for each in objects()).encode()),
    "array.json": lambda: json.dumps(objects()).encode(),
    "pretty.json": lambda: json.dumps(objects(), indent=2).encode(),
    "two.txt": text_format, "three.txt": partial(text_format, 3), "three.tsv": partial(text_format, 3),
    "two.txt.gz": lambda: gzip.compress(text_format()),
    "fasttext.txt": lambda: "".join(
        " ".join(f"__label__{code}" for code in codes) + f" {text}\n" for _, codes, text in rows()).encode(),
}  # fmt: skip


def write_file(name: str, folder: Path) -> None:
    (folder / name).write_bytes(FILES[name]())


def write_parquet(folder: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(objects()), folder / "a.parquet", write_page_checksum=True)


def write_arrow(folder: Path) -> None:
    import pyarrow as pa

    written = pa.Table.from_pylist(objects())
    (folder / "split").mkdir()
    with pa.ipc.new_stream(folder / "split" / "data-00000-of-00001.arrow", written.schema) as stream:
        stream.write_table(written)
    (folder / "split" / "state.json").write_text(
        json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]})
    )


def write_marked(folder: Path) -> None:
    (folder / "train.txt").write_bytes(text_format())
    (folder / "train_evidence.tsv").write_text(marks())


def document(number: object, codes: object, text: str) -> tuple[Any, Any, str]:
    """As it compares: labels without what separates them."""
    labels = "".join(codes) if isinstance(codes, list) else str(codes)
    return (None if number in (None, "") else str(number), re.sub(r"[\s_;|,]+", "", labels), words(text))


def read_documents(path: Path) -> list[tuple[Any, Any, str]]:
    read = read_any(path)
    ids = read.ids or [None] * len(read)
    return [document(*each) for each in zip(ids, read.labels, read.texts, strict=True)]


def stats(name: str, folder: Path) -> Answer:
    return asked_and_read(lambda: read_documents(folder / name), "stats", folder / name)


def stats_of_new(name: str, folder: Path) -> Answer:
    """What prediction reads: texts alone."""
    answer = asked("predict", folder.parent / "no model", folder / name)  # it fails for want of a model, quickly
    with mock.patch.object(sys, "stderr", Terminal()) as error:
        read = [document(row.id, "", row.text) for row in Table(folder / name, None, Columns(labels=None))]
    return answer._replace(code=0, read=read, error=answer.error + error.getvalue())


def unpacked(path: Path) -> bytes:
    content = path.read_bytes()
    return {".gz": gzip.decompress, ".xz": lzma.decompress}.get(path.suffix, bytes)(content)


def decoded(content: bytes) -> str:
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if content.startswith(mark):
            return content.decode(encoding)
    return content.decode("utf-8-sig")


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def strictly(text: str) -> Any:
    return json.loads(text, object_pairs_hook=once)


def values(text: str) -> list[Any]:
    """The values of a text, with nothing but space between them; or those of its list."""
    decoder, end, seen = json.JSONDecoder(object_pairs_hook=once), 0, list[Any]()
    while text[end:].strip():
        end += len(text[end:]) - len(text[end:].lstrip())
        value, end = decoder.raw_decode(text, end)
        seen.append(value)
    return seen[0] if len(seen) == 1 and isinstance(seen[0], list) else seen


def of_object(each: dict[str, Any]) -> tuple[Any, Any, str]:
    labels = each["labels"]
    if not isinstance(labels, str | list | None) or not isinstance(each["text"], str):
        raise ValueError("no document")
    if isinstance(labels, list) and not all(type(label) in (str, int) for label in labels):
        raise ValueError("no labels")
    codes = labels if isinstance(labels, str) else [str(label) for label in labels or []]
    return document(each.get("id"), codes, each["text"])


def plain(name: str, folder: Path) -> list[tuple[Any, Any, str]]:
    """What the standard library reads, strictly."""
    text = decoded(unpacked(folder / name))
    if "\0" in text:
        raise ValueError("NUL")
    kind = name.partition(".")[2].partition(".")[0]
    if kind == "csv":
        lines = list(io.StringIO(text, newline=""))
        sign = ";" if name.startswith(("semi", "excel")) else ","
        lines = lines[1:] if lines[0].startswith("sep=") else lines
        header, *rest = [row for row in csv.reader(lines, delimiter=sign, strict=True) if row]
        if any(len(row) != len(header) for row in rest) or len(set(header)) < len(header):
            raise ValueError("columns")
        return [
            document(row.get("id"), row["labels"], row["text"])
            for row in (dict(zip(header, r, strict=True)) for r in rest)
        ]
    if kind == "jsonl":
        return [of_object(each) for each in values(text)]
    if kind == "json":
        return [of_object(each) for each in values(text)]
    lines = [line for line in re.split("\r\n|\r|\n", text) if line.strip(" ")]
    if name.startswith("fasttext"):
        halves = [
            (re.findall(r"(?<!\S)__label__(\S+)", line), re.sub(r"(?<!\S)__label__\S+", " ", line)) for line in lines
        ]
        return [document(None, [*dict.fromkeys(codes)], " ".join(rest.split())) for codes, rest in halves]
    width = 3 if name.startswith("three") else 2
    cells = [line.split("\t") for line in lines]
    if any(len(each) != width for each in cells):
        raise ValueError("columns")
    return [document(each[0] if width == 3 else None, each[-2], each[-1]) for each in cells]


def plain_new(name: str, folder: Path) -> list[tuple[Any, Any, str]]:
    return [(number, "", text) for number, _, text in plain(name, folder)]


def plain_parquet(folder: Path) -> list[tuple[Any, Any, str]]:
    from pyarrow import parquet

    with parquet.ParquetFile(folder / "a.parquet", page_checksum_verification=True) as opened:
        return [of_object(each) for each in opened.read().to_pylist()]


def plain_arrow(folder: Path) -> list[tuple[Any, Any, str]]:
    import pyarrow as pa

    with pa.ipc.open_stream(folder / "split" / "data-00000-of-00001.arrow") as stream:
        table = stream.read_all()
        table.validate(full=True)
        return [of_object(each) for each in table.to_pylist()]


# Evaluation.


def matrix() -> sp.csr_matrix:
    labels = all_labels()
    chance = np.random.default_rng(3)
    return sp.csr_matrix(chance.random((len(rows()), len(labels)), dtype=np.float32).round(3))


def all_labels() -> list[str]:
    return sorted({code for _, codes, _ in rows() for code in codes})


def write_truth(folder: Path) -> None:
    (folder / "truth.txt").write_bytes(text_format())
    (folder / "labels.txt").write_text("".join(f"{label}\n" for label in all_labels()))


def write_scores(name: str, folder: Path) -> None:
    write_truth(folder)
    scores, labels, path = matrix(), all_labels(), folder / name
    dense = scores.toarray()
    if name.endswith(".npz"):
        sp.save_npz(path, scores)
    elif name.endswith(".npy"):
        np.save(path, dense)
    elif name.endswith(".jsonl"):
        pairs = [[[label, round(float(score), 3)] for label, score in zip(labels, row, strict=True)] for row in dense]
        path.write_text("".join(json.dumps({"data": row}) + "\n" for row in pairs))
    elif name.startswith("omikuji"):
        lines = [" ".join(f"{n}:{score:.3f}" for n, score in enumerate(row)) for row in dense]
        path.write_text(f"{len(rows())} {len(labels)}\n" + "\n".join(lines) + "\n")
    else:
        lines = [" ".join(f"{label}:{score:.3f}" for label, score in zip(labels, row, strict=True)) for row in dense]
        path.write_text("\n".join(lines) + "\n")


def evaluate(name: str, folder: Path) -> Answer:
    numbers = ["--label-file", folder / "labels.txt"] if name.endswith((".npz", ".npy")) or "omikuji" in name else []

    def read() -> Any:
        scores, _ = read_scores(folder / name)
        dense = scores.toarray() if sp.issparse(scores) else np.asarray(scores)
        return [dense.round(4).tolist(), read_documents(folder / "truth.txt")]

    out = folder.parent / OUT
    return asked_and_read(
        read, "evaluate", "--truth", folder / "truth.txt", "--scores", folder / name, *numbers, "--out", out / "r.json"
    )


def plain_scores(name: str, folder: Path) -> Any:
    truth = plain("two.txt", _linked(folder, "truth.txt", "two.txt"))
    labels = (folder / "labels.txt").read_text().splitlines()
    path = folder / name
    if name.endswith(".npz"):
        loaded = sp.load_npz(path)
        return [np.asarray(loaded.astype(np.float32).toarray()).round(4).tolist(), truth]
    if name.endswith(".npy"):
        return [np.load(path, allow_pickle=False).astype(np.float32).round(4).tolist(), truth]
    lines = path.read_text("utf-8-sig").split("\n")[:-1]
    if name.endswith(".jsonl"):
        pairs = [strictly(line)["data"] for line in lines]
    else:
        if "omikuji" in name:
            first = lines.pop(0).split(" ")
            if list(map(int, first)) != [len(lines), len(labels)]:
                raise ValueError("header")
        pairs = [
            [(label, score) for label, _, score in (pair.rpartition(":") for pair in line.split())] for line in lines
        ]
    if any(len({label for label, _ in row}) < len(row) for row in pairs):
        raise ValueError("twice")
    if "omikuji" in name:
        pairs = [[(labels[int(label)], score) for label, score in row] for row in pairs]
    places: dict[str, int] = {label: n for n, label in enumerate(labels)} if "omikuji" in name else {}
    for row in pairs:
        for label, _ in row:
            places.setdefault(label, len(places))
    dense = np.zeros((len(pairs), len(places)), np.float32)
    for n, row in enumerate(pairs):
        for label, score in row:
            dense[n, places[label]] = float(score)
    return [dense.round(4).tolist(), truth]


def _linked(folder: Path, name: str, other: str) -> Path:
    place = folder.parent / "linked"
    place.mkdir(exist_ok=True)
    (place / other).unlink(missing_ok=True)
    (place / other).write_bytes((folder / name).read_bytes())
    return place


def subjects() -> list[Subject]:
    made = [
        Subject(f"data files: {name}", partial(write_file, name), partial(stats, name), partial(plain, name))
        for name in FILES
    ]
    made += [
        Subject(f"data files: new documents, {name}", partial(write_file, name), partial(stats_of_new, name),
                partial(plain_new, name)) for name in ("a.csv", "a.jsonl", "three.txt")
    ]  # fmt: skip
    made += [
        Subject("data files: Parquet", write_parquet, partial(stats, "a.parquet"), plain_parquet),
        Subject("data files: Arrow", write_arrow, partial(stats, "split"), plain_arrow),
        Subject("data files: evidence", write_marked, stats_of_marks, plain_marks),
    ]
    return made + [
        Subject(f"files of evaluation: {name}", partial(write_scores, name), partial(evaluate, name),
                partial(plain_scores, name))
        for name in ("scores.txt", "scores.npz", "scores.npy", "scores.jsonl", "omikuji.txt")
    ]  # fmt: skip


def stats_of_marks(folder: Path) -> Answer:
    from plant_plugin.data.evidence import evidence_beside, read_evidence
    from plant_plugin.data.text import packed

    def read() -> Any:
        documents = read_any(folder / "train.txt")
        beside = packed(evidence_beside(folder / "train.txt"))
        if beside is None:
            return [read_documents(folder / "train.txt"), None]
        evidence = [
            {label: sorted(map(list, spans)) for label, spans in one.items()}
            for one in read_evidence(beside, documents)
        ]
        return [read_documents(folder / "train.txt"), evidence]

    return asked_and_read(read, "stats", folder / "train.txt")


def plain_marks(folder: Path) -> Any:
    truth = plain("two.txt", _linked(folder, "train.txt", "two.txt"))
    if not (folder / "train_evidence.tsv").exists():
        return [truth, None]
    evidence: list[dict[str, Any]] = [{} for _ in truth]
    for line in decoded((folder / "train_evidence.tsv").read_bytes()).splitlines():
        row, label, places = line.split("\t")
        spans = [[int(n) for n in each.split("-")] for each in re.split("[;+]", places)]
        evidence[int(row)].setdefault(label, []).extend(spans)
    return [truth, [{label: sorted(spans) for label, spans in one.items()} for one in evidence]]
