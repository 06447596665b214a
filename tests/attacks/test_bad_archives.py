"""Archives that would fill the memory, and data and scores with flipped bits, cuts and scraps."""

from __future__ import annotations

import gzip
import lzma
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from attacked import Tally, attempt
from made_up_task import write_split

from plant_plugin.data.tables import Columns, Table, read_any
from plant_plugin.errors import DataError, PlantError
from plant_plugin.evaluation.per_document import load_per_document
from plant_plugin.files import LIMITS
from plant_plugin.prepare.mimic.tables import read_table
from plant_plugin.report.predictions import read_scores

MEMBER = 1 << 26  # bytes of one gzip member


def endless(path: Path) -> Path:
    """A gz of a few kilobytes that holds one line of 1.5 GB: the same member, again and again."""
    path.write_bytes(gzip.compress(b"a" * MEMBER, 1) * 24)
    return path


def predicted(path: Path) -> None:
    for _ in Table(path, None, Columns(labels=None)):
        pass


def table(path: Path) -> None:
    list(read_table(path, ["TEXT"]))


READERS: dict[str, Callable[[Path], object]] = {
    "train.txt.gz": read_any, "new.txt.gz": predicted, "new.jsonl.gz": predicted,
    "new.csv.gz": predicted, "scores.txt.gz": read_scores, "NOTEEVENTS.csv.gz": table,
}  # fmt: skip


@pytest.mark.attacks
@pytest.mark.parametrize("name", READERS)
def test_an_endless_line_is_refused(tmp_path: Path, tally: Tally, name: str) -> None:
    ended = attempt(READERS[name], endless(tmp_path / name), limited=True)
    well = ended.refused and "characters" in ended.said
    tally("a gz of one line of 1.5 GB", well)
    assert well, ended


@pytest.mark.parametrize("name", READERS)
def test_a_line_beyond_the_limit_is_refused_and_the_limit_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"a" * 70_000))
    monkeypatch.setenv(LIMITS, "0.001")  # 67,108 characters
    with pytest.raises(DataError, match=r"a line of more than 67,108 characters[\s\S]*PLANT_LIMITS=10"):
        READERS[name](tmp_path / name)
    if name in ("new.txt.gz", "new.jsonl.gz"):
        monkeypatch.setenv(LIMITS, "0.01")
        content = b'{"text": "' + b"a" * 70_000 + b'"}' if "jsonl" in name else b"a" * 70_000
        (tmp_path / name).write_bytes(gzip.compress(content))
        READERS[name](tmp_path / name)


def inflating(path: Path, entries: int) -> Path:
    """A sparse matrix of scores with nothing but zeros in its arrays."""
    zeros = np.zeros(entries, np.float32)
    np.savez_compressed(path, data=zeros, indices=zeros.astype(np.int32), indptr=np.array([0, entries]),
                        shape=np.array([1, entries]), format=np.array(b"csr"))  # fmt: skip
    return path


@pytest.mark.parametrize("entries", [1 << 18, pytest.param(1 << 27, marks=pytest.mark.attacks)])
def test_an_archive_that_inflates_a_thousandfold_is_refused(
    tmp_path: Path, tally: Tally, monkeypatch: pytest.MonkeyPatch, entries: int
) -> None:
    path = inflating(tmp_path / "scores.npz", entries)
    if entries < 1 << 27:
        monkeypatch.setenv(LIMITS, "0.001")
    for reader in (read_scores, load_per_document):
        ended = attempt(reader, path, limited=True)
        well = ended.refused and "inflate to" in ended.said and f"{LIMITS}=10" in ended.said
        tally("an npz that inflates a thousandfold", well)
        assert well, ended


@pytest.mark.integration
def test_what_is_large_and_honest_passes(tmp_path: Path) -> None:
    scores = sp.random_array((400, 20_000), density=0.1, format="csr", dtype=np.float32, rng=np.random.default_rng(1))
    path = tmp_path / "scores.npz"
    sp.save_npz(path, sp.csr_matrix(scores))
    assert read_scores(path)[0].nnz == scores.nnz
    ones = sp.csr_matrix(np.ones((300, 3000), np.float32))  # compresses well, and is small
    sp.save_npz(path, ones)
    assert read_scores(path)[0].nnz == ones.nnz
    (tmp_path / "long.txt.gz").write_bytes(gzip.compress(b"L1\t" + b"word " * 2_000_000 + b"\n", 1))
    assert len(read_any(tmp_path / "long.txt.gz").texts[0]) == 10_000_000


def whole_files(folder: Path) -> dict[Path, Callable[[Path], object]]:
    """Files as they should be, and what reads each."""
    write_split(folder / "plain.txt", 30, 1)
    text = (folder / "plain.txt").read_bytes()
    (folder / "data.txt.gz").write_bytes(gzip.compress(text))
    (folder / "data.txt.xz").write_bytes(lzma.compress(text))
    (folder / "new.jsonl").write_text('{"id": 1, "text": "some words é"}\n' * 20, encoding="utf-8")
    (folder / "new.csv").write_text('id,text\n1,"some, ""words"""\n' * 20)
    (folder / "table.csv").write_text('ROW_ID,"TEXT"\n1,"a\nnote"\n' * 20)
    (folder / "scores.txt").write_text("A:0.5 B:0.25 C:1e-3\n\nA:1 C:-2\n" * 10)
    (folder / "scores.txt.gz").write_bytes(gzip.compress((folder / "scores.txt").read_bytes()))
    matrix = sp.random_array((20, 12), density=0.4, format="csr", dtype=np.float32, rng=np.random.default_rng(1))
    sp.save_npz(folder / "scores.npz", sp.csr_matrix(matrix))
    sp.save_npz(folder / "stored.npz", sp.csr_matrix(matrix), compressed=False)
    np.save(folder / "dense.npy", matrix.toarray())
    readers: dict[str, Callable[[Path], object]] = {
        "plain.txt": read_any, "data.txt.gz": read_any,
        "data.txt.xz": read_any, "new.jsonl": predicted, "new.csv": predicted, "table.csv": table,
        "scores.txt": read_scores, "scores.txt.gz": read_scores, "scores.npz": read_scores, "stored.npz": read_scores,
        "dense.npy": read_scores,
    }  # fmt: skip
    return {folder / name: reader for name, reader in readers.items()}


SCRAPS = (
    b"\t",
    b"\n",
    b"\0",
    b"\xff",
    b'"',
    b"\r",
    b"[" * 2000,
    b"9" * 5000,
    b"1e999",
    b"nan:nan ",
    b"PK\x03\x04",
    b"\x1f\x8b",
)


def mutated(draw: random.Random, content: bytes) -> bytes:
    """Bytes with a flipped bit, a cut, a piece twice, or a scrap put in."""
    start, stop = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    kind = draw.randrange(5)
    if kind < 2:
        place = draw.randrange(len(content))
        return content[:place] + bytes([content[place] ^ (1 << draw.randrange(8))]) + content[place + 1 :]
    if kind == 2:
        return content[:start] + content[stop:]
    return content[:start] + (draw.choice(SCRAPS) if kind == 3 else content[start:stop]) + content[start:]


def read_mutated(read: Callable[[Path], object], path: Path, contents: list[bytes], said: Path) -> None:
    """Every content is read, or one of our errors; the number of the one being read is written down before."""
    for number, content in enumerate(contents):
        said.write_text(str(number))
        path.write_bytes(content)
        try:
            read(path)
        except PlantError:
            continue


@pytest.mark.parametrize("each", [10, pytest.param(120, marks=pytest.mark.attacks)])
def test_mutated_data_and_scores(tmp_path: Path, tally: Tally, each: int) -> None:
    (tmp_path / "whole").mkdir()
    draw, failed = random.Random(11), []
    for path, read in whole_files(tmp_path / "whole").items():
        contents, said = [mutated(draw, path.read_bytes()) for _ in range(each)], tmp_path / "said"
        ended = attempt(read_mutated, read, tmp_path / path.name, contents, said, limited=False)
        for _ in contents:
            tally("a mutated file of data or scores", ended.code == 0)
        if ended.code:
            failed.append(f"{path.name}, {contents[int(said.read_text())]!r}: {ended}")
    assert failed == []
