"""Exports of annotation tools and corpora of other programs, prepared, for :mod:`mutated_inputs`."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import scipy.sparse as sp
from mutated_data import all_labels, decoded, rows, strictly, unpacked, values
from mutated_inputs import OUT, Answer, Subject, asked_and_read

NAMES = {
    "I10": "hypertension",
    "R50": "fever",
    "J45.909": "asthma",
    "E11.9": "diabetes",
    "Z99.2": "dialysis",
    "N18.6": "kidney",
}


def prepare(*arguments: object, folder: Path) -> Answer:
    """What a preparation wrote, but for its provenance."""
    out = folder.parent / OUT

    def read() -> dict[str, str]:
        return {
            path.name: path.read_bytes().decode()
            for path in sorted(out.rglob("*"))
            if path.is_file() and path.name != "provenance.json"
        }

    return asked_and_read(read, "prepare", *arguments)


# Label Studio and doccano.


def studio_tasks() -> list[dict[str, Any]]:
    tasks = []
    for number, (uid, codes, text) in enumerate(rows()):
        results = []
        for place, code in enumerate(codes):
            start = [match.start() for match in re.finditer(r"zq\w+", text)][place]
            word = re.compile(r"\w+").match(text, start)[0]  # type: ignore[index]
            value = {"start": start, "end": start + len(word), "text": word, "labels": [code]}
            results.append(
                {"id": f"r{place}", "type": "labels", "from_name": "codes", "to_name": "text", "value": value}
            )
        annotation = {"id": number, "completed_by": 1, "was_cancelled": False, "result": results}
        tasks.append({"id": number, "data": {"text": text, "uid": uid}, "annotations": [annotation]})
    return tasks


def write_studio(folder: Path) -> None:
    (folder / "export.json").write_text(json.dumps(studio_tasks()))


def doccano_rows() -> list[dict[str, Any]]:
    made = []
    for number, (uid, codes, text) in enumerate(rows()):
        places = [match.span() for match in re.finditer(r"zq\w+", text)]
        labels = [[*places[place], code] for place, code in enumerate(codes)]
        made.append({"id": number, "text": text, "label": labels, "uid": uid, "Comments": []})
    return made


def write_doccano(folder: Path) -> None:
    (folder / "export.jsonl").write_text("".join(json.dumps(row) + "\n" for row in doccano_rows()))


def write_doccano_array(folder: Path) -> None:
    (folder / "export.json").write_text(json.dumps(doccano_rows()))


def shape(content: Any) -> Any:
    """JSON without texts and numbers; truths and emptiness as they are."""
    if isinstance(content, dict):
        return {key: shape(value) for key, value in content.items()}
    if isinstance(content, list):
        return [shape(value) for value in content]
    if isinstance(content, str):
        return "text" if content.strip() else ""
    if isinstance(content, int | float) and not isinstance(content, bool):
        return "number"
    return content


def allowed(content: Any, known: list[Any]) -> bool:
    """Tell whether every document has a shape that one of the whole file has, apart from how many marks there are."""
    return isinstance(content, list) and all(any(_like(shape(each), one) for one in known) for each in content)


def _like(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_like(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return all(any(_like(each, known) for known in other) for each in one)
    return bool(one == other) and type(one) is type(other)


def another_export(name: str, whole: Callable[[], list[Any]], folder: Path) -> bool:
    content = values(decoded((folder / name).read_bytes()))
    known = [shape(each) for each in whole()]
    known += [{**each, "label": label} for each in known for label in ("text", ["text", ["number", "number", "text"]])]
    for one in [label for task in content for each in task.get("annotations", ()) for label in each["result"]]:
        if isinstance(one["value"]["labels"], str):
            one["value"]["labels"] = [one["value"]["labels"]]
    if not allowed(content, known):
        raise ValueError("another shape")
    return True


# brat.


def write_brat(folder: Path) -> None:
    for number, (_, codes, text) in enumerate(rows(5)):
        places = [match.span() for match in re.finditer(r"zq\w+", text)]
        lines = []
        for place, code in enumerate(codes, 1):
            start, end = places[place - 1]
            lines += [
                f"T{place}\tDisease {start} {end}\t{text[start:end]}",
                f"N{place}\tReference T{place} ICD10:{code}\tname",
            ]
        (folder / f"case{number}.txt").write_text(text)
        (folder / f"case{number}.ann").write_text("\n".join(lines) + "\n")


def another_brat(folder: Path) -> bool:
    for path in folder.iterdir():
        text = decoded(path.read_bytes())
        if path.suffix == ".ann":
            lines = [line for line in text.split("\n") if line]
            if len({line.split("\t")[0] for line in lines}) < len(lines):
                raise ValueError("a number twice")
            for line in lines:
                if not re.fullmatch(r"T\d+\t\S+ \d+ \d+\t.+|N\d+\tReference T\d+ \w+:\S+\t.*", line):
                    raise ValueError("a line")
        if path.suffix == ".txt" and not path.with_suffix(".ann").exists():
            raise ValueError("no marks")
        if path.suffix == ".ann" and not path.with_suffix(".txt").exists():
            raise ValueError("no text")
    if len(list(folder.iterdir())) != 10:
        raise ValueError("files")
    return True


# Corpora.


def write_annif(name: str, folder: Path) -> None:
    uris = {label: f"http://example.org/{label}" for label in NAMES}
    if name == "a.tsv":
        lines = [f"{text}\t{' '.join(f'<{uris[code]}>' for code in codes)}" for _, codes, text in rows()]
        (folder / name).write_text("\n".join(lines) + "\n")
    elif name == "a.csv":
        lines = [f'"{text}",{" ".join(uris[code] for code in codes)}' for _, codes, text in rows()]
        (folder / name).write_text("text,subject_uris\n" + "\n".join(lines) + "\n")
    elif name == "a.jsonl":
        lines = [
            json.dumps({"text": text, "subjects": [{"uri": uris[code], "label": NAMES[code]} for code in codes]})
            for _, codes, text in rows()
        ]
        (folder / name).write_text("\n".join(lines) + "\n")
    else:
        (folder / name).mkdir()
        for number, (_, codes, text) in enumerate(rows(5)):
            (folder / name / f"case{number}.txt").write_text(text)
            (folder / name / f"case{number}.tsv").write_text(
                "".join(f"<{uris[code]}>\t{NAMES[code]}\n" for code in codes)
            )


def another_annif(name: str, folder: Path) -> bool:
    uris = r"<?[A-Za-z][A-Za-z0-9+.-]*:[^\s>]+>?"
    if name in ("a.tsv", "a.csv"):
        text = decoded((folder / name).read_bytes())
        lines = [line.split("\t") for line in re.split("\r\n|\r|\n", text) if line.strip()]
        if name == "a.csv":
            header, *lines = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
            places = [header.index(name) for name in ("text", "subject_uris")]
            lines = [[row[place] for place in places] for row in lines if len(row) == len(header) or row["columns"]]
        if not all(len(row) == 2 and re.fullmatch(rf"({uris}(\s+{uris})*)?\s*", row[1]) for row in lines):
            raise ValueError("a line")
        return True
    if name == "a.jsonl":
        known = [{"text": "text", "subjects": [{"uri": "text", "label": "text"}]}]
        if not allowed(values(decoded((folder / name).read_bytes())), known):
            raise ValueError("another shape")
        return True
    for path in (folder / name).iterdir():
        text = decoded(path.read_bytes())
        if path.suffix == ".tsv" and not all(
            re.fullmatch(rf"<{uris}>\t[^\t]+\s*", line) for line in text.split("\n") if line.strip()
        ):
            raise ValueError("a line")
    if len(list((folder / name).iterdir())) != 10:
        raise ValueError("files")
    return True


def write_fasttext(folder: Path) -> None:
    lines = [" ".join(f"__label__{code}" for code in codes) + f" {text}" for _, codes, text in rows()]
    (folder / "cooking.train").write_text("\n".join(lines) + "\n")


def another_fasttext(folder: Path) -> bool:
    text = decoded((folder / "cooking.train").read_bytes())
    if "\0" in text:
        raise ValueError("NUL")
    return True


def write_xmc(name: str, folder: Path) -> None:
    labels = all_labels()
    half = len(rows()) // 2
    for split, short, part in (("train", "trn", rows()[:half]), ("test", "tst", rows()[half:])):
        ids = [[labels.index(code) for code in codes] for _, codes, _ in part]
        if name == "json":
            with gzip.open(folder / f"{short}.json.gz", "wt") as stream:
                stream.writelines(
                    json.dumps({"uid": uid, "title": "", "content": text, "target_ind": of}) + "\n"
                    for of, (uid, _, text) in zip(ids, part, strict=True)
                )
        elif name == "sparse":
            lines = [f"{','.join(map(str, of))} 0:1 2:0.5" for of in ids]
            (folder / f"some_{split}.txt").write_text(f"{len(part)} 3 {len(labels)}\n" + "\n".join(lines) + "\n")
            (folder / f"{split}_raw_texts.txt").write_text("".join(f"{text}\n" for _, _, text in part))
        elif name == "npz":
            matrix = sp.lil_matrix((len(part), len(labels)), dtype="float32")
            for row, of in enumerate(ids):
                matrix[row, of] = 1
            sp.save_npz(folder / f"Y.{short}.npz", matrix.tocsr())
            (folder / f"X.{short}.txt").write_text("".join(f"{text}\n" for _, _, text in part))
        else:
            (folder / f"{split}_labels.txt").write_text("".join(" ".join(codes) + "\n" for _, codes, _ in part))
            (folder / f"{split}_texts.txt").write_text("".join(f"{text}\n" for _, _, text in part))
    if name == "json":
        with gzip.open(folder / "lbl.json.gz", "wt") as stream:
            stream.writelines(json.dumps({"uid": str(n), "title": label}) + "\n" for n, label in enumerate(labels))
    elif name != "attention_xml":
        (folder / "Y.txt").write_text("".join(f"{label}\n" for label in labels))


def another_xmc(name: str, folder: Path) -> bool:
    whole = folder.parent / "again"
    whole.mkdir(exist_ok=True)
    write_xmc(name, whole)
    expected = sorted(path.name for path in whole.iterdir())
    if sorted(path.name for path in folder.iterdir()) != expected:
        raise ValueError("files")
    counts = {}
    for path in folder.iterdir():
        if path.suffix == ".npz":
            matrix = sp.load_npz(path)
            if not sp.issparse(matrix):
                raise ValueError("matrix")
            continue
        text = decoded(unpacked(path))
        if "\0" in text:
            raise ValueError("NUL")
        lines = text.removesuffix("\n").split("\n")
        counts[path.name] = len(lines)
        if ".json" in path.name:
            known = [
                {"uid": "text", "title": "", "content": "text", "target_ind": ["number"]},
                {"uid": "text", "title": "text"},
                {"uid": "text", "title": ""},
                {"uid": "text", "title": None},
            ]
            if not allowed([strictly(line) for line in lines], known):
                raise ValueError("another shape")
        if path.name.startswith("some_"):
            if int(lines[0].split()[0]) != len(lines) - 1:
                raise ValueError("header")
            if not all(re.fullmatch(r"(\d+(,\d+)*)?( +\d+:[-+.\deE]+)*\s*", line) for line in lines[1:]):
                raise ValueError("a line")
    return True


def subjects() -> list[Subject]:
    exports: list[tuple[str, Callable[[Path], None], list[str], Callable[[Path], bool]]] = [
        (
            "Label Studio",
            write_studio,
            ["labelstudio", "export.json"],
            partial(another_export, "export.json", studio_tasks),
        ),
        ("doccano", write_doccano, ["doccano", "export.jsonl"], partial(another_export, "export.jsonl", doccano_rows)),
        (
            "doccano, an array",
            write_doccano_array,
            ["doccano", "export.json"],
            partial(another_export, "export.json", doccano_rows),
        ),
        ("brat", write_brat, ["brat", "."], another_brat),
    ]
    made = [Subject(f"exports: {name}", write, partial(_marked, words), plain) for name, write, words, plain in exports]
    made += [
        Subject(f"exports: {name}, --skip-bad", write, partial(_marked, [*words, "--skip-bad"]), plain)
        for name, write, words, plain in exports
    ]
    made += [
        Subject(
            f"corpora: Annif, {name}", partial(write_annif, name), partial(_annif, name), partial(another_annif, name)
        )
        for name in ("a.tsv", "a.csv", "a.jsonl", "texts")
    ]
    made.append(Subject("corpora: fastText", write_fasttext, _fasttext, another_fasttext))
    return made + [
        Subject(f"corpora: XMC, {name}", partial(write_xmc, name), _xmc, partial(another_xmc, name))
        for name in ("json", "sparse", "npz", "attention_xml")
    ]


def _marked(words: list[str], folder: Path) -> Answer:
    tool, name, *options = words
    return prepare(tool, "--raw", folder / name, "--out", folder.parent / OUT, *options, folder=folder)


def _fasttext(folder: Path) -> Answer:
    return prepare("fasttext", folder / "cooking.train", folder.parent / OUT, folder=folder)


def _annif(name: str, folder: Path) -> Answer:
    return prepare("annif", folder / name, folder.parent / OUT, folder=folder)


def _xmc(folder: Path) -> Answer:
    return prepare("xmc", folder, folder.parent / OUT, folder=folder)
