"""Ways to spoil files, each drawn by a seed: bytes, lines, columns, JSON, arrays, tables, and folders as a whole."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

NUMBERS = (0, -1, 1, 2**31 - 1, 2**31, 2**63, 2**64, 10**30, 0.5, 1e308, float("nan"), float("inf"))
VALUES: tuple[Any, ...] = (None, True, "", "x", "../../x", "\x00", "\x1b[2J", "\ud800", [], {}, [[]], [1, 2],
                           ["a", None],
                           {"a": {"b": 1}}, *NUMBERS)  # fmt: skip
SCRAPS = (b"\t", b"\n", b"\t\t", b"\r", b"\r\n", b"\0", b"\xff", b"\xc3", b'"', b"'", b",", b";", b"|", b"[", b"{",
          b"[" * 2000, b"9" * 5000, b"1e999", b"nan", b"-1", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1b[2J\x1b[8m", b"\x9b2J",
          "\u202e\u2028\u00a0".encode(), b"\x1f\x8b\x08", b"PK\x03\x04", b"__label__", b"<http://x/>", b"0:1",
          b"=cmd|' /C calc'!A0", b"\\ud800", b"  ")  # fmt: skip
CANARY = "zq"  # what all words of texts begin with
PACKERS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    ".gz": (gzip.decompress, lambda content: gzip.compress(content, 1)),
    ".xz": (lzma.decompress, lambda content: lzma.compress(content, preset=0)),
}


def bytes_of(content: bytes, chance: random.Random) -> bytes:
    """Bits, blocks and cuts, as disks and networks make them, and scraps of other formats."""
    start, stop = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    place = chance.randrange(max(1, len(content)))
    ways: list[Callable[[], bytes]] = [
        lambda: content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :],
        lambda: content[:place],
        lambda: content[:start] + content[min(stop, start + 40) :],
        lambda: content[:place] + bytes(min(16, len(content) - place)) + content[place + 16 :],
        lambda: content[:stop] + content[start:],
        lambda: content[:place] + chance.choice(SCRAPS) + content[place:],
        lambda: content[:place] + chance.choice(SCRAPS) + content[place:],
        lambda: content + chance.choice(SCRAPS),
        lambda: chance.choice(SCRAPS) + content,
        lambda: content.replace(b"\n", b"\r" if chance.random() < 0.3 else b"\r\n"),
        lambda: content.decode("utf-8", "replace").encode(chance.choice(["utf-16", "utf-32", "latin-1", "utf-16-le"]),
                                                          "replace"),
        lambda: b"",
        lambda: content + content,
    ]  # fmt: skip
    return chance.choice(ways)() if content else chance.choice(SCRAPS)


def lines_of(content: bytes, chance: random.Random) -> bytes:
    """Lines gone, twice, elsewhere, joined; columns exchanged, gone, too many; cells of another kind."""
    lines = content.split(b"\n")
    sign = max((b"\t", b",", b";", b" ", b":"), key=lambda each: (lines[0].count(each) > 0, content.count(each)))
    one, other = (chance.randrange(len(lines)) for _ in range(2))
    cells = lines[one].split(sign)
    cell = chance.randrange(len(cells))
    text = chance.choice(
        [b"", b" ", b"x", b"-1", b"9" * 30, b"nan", b"null", b"\xe9", b"\0", b"a\rb", b'"', b"[1]", b"="]
    )

    def exchanged() -> bytes:
        return b"\n".join(sign.join(line.split(sign)[::-1]) for line in lines)

    def spoiled(changed: list[bytes]) -> bytes:
        return b"\n".join([*lines[:one], sign.join(changed), *lines[one + 1 :]])

    ways: list[Callable[[], bytes]] = [
        exchanged,
        lambda: spoiled([*cells[:cell], text, *cells[cell + 1 :]]),
        lambda: spoiled([*cells[:cell], text, *cells[cell:]]),
        lambda: spoiled(cells[:cell] + cells[cell + 1 :]),
        lambda: spoiled(cells[::-1]),
        lambda: b"\n".join(lines[:one] + lines[one + 1 :]),
        lambda: b"\n".join([*lines[:one], lines[other], *lines[one:]]),
        lambda: b"\n".join(lines[::-1]),
        lambda: b"\n".join(lines[:one]) + b" " + b"\n".join(lines[one:]),
        lambda: b"\n".join([*lines[:one], b"", *lines[one:]]),
    ]
    return chance.choice(ways)()


def places_in(content: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All ways to a value inside."""
    if before:
        yield before
    if isinstance(content, dict | list):
        for key in content if isinstance(content, dict) else range(min(6, len(content))):
            yield from places_in(content[key], (*before, key))


def value_of(content: Any, chance: random.Random) -> Any:
    """Another value somewhere inside, a key gone, foreign, or of another case; an item twice."""
    places = list(places_in(content))
    if not places:
        return chance.choice(VALUES)
    *way, last = chance.choice(places)
    inner = content
    for key in way:
        inner = inner[key]
    drawn = chance.random()
    if isinstance(inner, dict) and drawn < 0.2:
        value = inner.pop(last)
        if drawn < 0.08:
            inner[f"{last}s"] = value
    elif isinstance(inner, list) and drawn < 0.2:
        inner.insert(last, inner[last])
    elif drawn < 0.3:
        inner[last] = [inner[last]]
    elif drawn < 0.35:
        inner[last] = str(inner[last])
    else:
        inner[last] = chance.choice(VALUES)
    return content


def dumped(content: Any, chance: random.Random) -> str:
    """As JSON; now and then with a key twice, as no good program writes it."""
    text = json.dumps(content, indent=chance.choice([None, None, 1]))
    if chance.random() < 0.1 and '": ' in text:
        key = chance.choice([each for each in (f'"{CANARY}', '"text"', '"labels"', '"data"', '"label"') if each in text]
                            or ['"x"'])  # fmt: skip
        text = text.replace("{", "{" + f"{key}: {chance.choice(['1', '[]', chr(34) + 'zqother' + chr(34)])}, ", 1)
    return text


def json_of(content: bytes, chance: random.Random) -> bytes:
    """Of one document, or of lines that are documents each."""
    if chance.random() < 0.05:
        return chance.choice([b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5000, b"nul", b'{"a": 3', b"\xef\xbb\xbf{}"])
    try:
        return dumped(value_of(json.loads(content), chance), chance).encode("utf-8", "surrogatepass")
    except ValueError:
        lines = [line for line in content.split(b"\n") if line.strip()]
        number = chance.randrange(len(lines))
        changed = dumped(value_of(json.loads(lines[number]), chance), chance).encode("utf-8", "surrogatepass")
        return b"\n".join([*lines[:number], changed, *lines[number + 1 :]]) + b"\n"


def arrays_of(path: Path, chance: random.Random) -> None:
    """One array of a file as no program of its kind writes it."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    name = chance.choice(sorted(arrays))
    array = arrays[name]
    numbers = array.dtype.kind in "if"
    spoiled: list[Callable[[], Any]] = [
        lambda: array[..., :-1] if array.ndim else array,
        lambda: array.astype("c8") if numbers else array[()],
        lambda: np.concatenate([np.atleast_1d(array)] * 2),
        lambda: np.atleast_1d(array)[:0],
        lambda: array.astype(object),
        lambda: array[None],
        lambda: np.atleast_1d(array)[::-1],
        lambda: array * np.nan if array.dtype.kind == "f" else array,
        lambda: -array if numbers else array,
        lambda: array + 2**30 if numbers else array,
        lambda: array.astype("S") if numbers else array,
    ]
    if chance.random() < 0.1:
        del arrays[name]
    else:
        arrays[name] = np.asarray(chance.choice(spoiled)())
    np.savez(path, **arrays)


def table_of(path: Path, chance: random.Random) -> None:
    """A Parquet file whose columns are of other types, gone, there twice, nested, or hold nothing."""
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(path)
    number = chance.randrange(table.num_columns)
    name, column = table.column_names[number], table.column(number)
    rows = table.num_rows
    ways: list[Callable[[], Any]] = [
        lambda: table.drop_columns([name]), lambda: table.append_column(name, column),
        lambda: table.set_column(number, name, pa.array([None] * rows)),
        lambda: table.set_column(number, name, pa.array([None, *column.to_pylist()[1:]], column.type)),
        lambda: table.set_column(number, name, pa.array(range(rows))),
        lambda: table.set_column(number, name, pa.array([[[each]] for each in column.to_pylist()])),
        lambda: table.set_column(number, name, pa.array([{"a": each} for each in column.to_pylist()])),
        lambda: table.set_column(number, name, pa.array([float("nan")] * rows)),
        lambda: table.set_column(number, name, pa.array([str(each).encode() for each in column.to_pylist()])),
        lambda: table.rename_columns([f" {each}" if each == name else each for each in table.column_names]),
        lambda: table.slice(0, 0), lambda: table.set_column(number, name, column.dictionary_encode())
        if pa.types.is_string(column.type) else table,
    ]  # fmt: skip
    parquet.write_table(chance.choice(ways)(), path, write_page_checksum=True)


def weights_of(path: Path, chance: random.Random) -> None:
    """Tensors of another name, shape, type or content."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(path)
    name = chance.choice(sorted(tensors))
    tensor = tensors.pop(name)
    ways = (
        None,
        tensor.flatten(),
        tensor[:1] if tensor.ndim else None,
        tensor * float("nan"),
        tensor.int(),
        tensor.double(),
    )
    if (changed := chance.choice(ways)) is not None:
        tensors[name if chance.random() < 0.9 else f"{name}_"] = changed.contiguous()
    save_file(tensors, path)


def spoil_file(path: Path, chance: random.Random) -> None:
    """Spoil a file as suits its kind, or its bytes whatever they are."""
    inner = path.with_suffix("").suffix if path.suffix in PACKERS else path.suffix
    whole: dict[str, Callable[[Path, random.Random], None]] = {
        ".npz": arrays_of, ".parquet": table_of, ".safetensors": weights_of,
    }  # fmt: skip
    content = path.read_bytes()
    path.unlink()  # it may be a second name of another one
    path.write_bytes(content)
    drawn = chance.random()
    if drawn < 0.6 and path.suffix in whole:
        whole[path.suffix](path, chance)
        return
    unpack, pack = PACKERS.get(path.suffix, (bytes, bytes)) if drawn < 0.8 else (bytes, bytes)
    text = unpack(content)
    if drawn < 0.5 and inner in (".json", ".jsonl") and text.strip():
        text = json_of(text, chance)
    elif drawn < 0.5 and path.suffix not in (".npy", ".arrow", ".sqlite"):
        text = lines_of(text, chance)
    else:
        text = bytes_of(text, chance)
    path.write_bytes(pack(text))


def spoil_folder(folder: Path, chance: random.Random, *, devices: bool = False) -> None:
    """Spoil one of its files; or take it away, put a folder, a link to itself or to nowhere, or another file there."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    path = chance.choice(files)
    drawn = chance.random()
    if drawn > 0.1:
        spoil_file(path, chance)
        return
    path_of_other = chance.choice(files)
    content = path_of_other.read_bytes()
    path.unlink()
    ways: list[Callable[[], object]] = [
        lambda: None, path.mkdir, lambda: path.symlink_to(path.name), lambda: path.symlink_to("/nowhere/at/all"),
        lambda: path.write_bytes(content),
    ]  # fmt: skip
    if devices:
        ways += [lambda: os.mkfifo(path), lambda: path.symlink_to("/dev/zero")]
    chance.choice(ways)()
