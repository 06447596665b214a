"""Columns of Arrow and Parquet that unpack to far more than the file holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from plant_plugin.errors import DataError

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch
    from pyarrow.parquet import FileMetaData

# A column that says to unpack to more than both is no text that anybody wrote.
LARGEST, MOST_TIMES = 2**30, 500  # bytes of a column in one row group; times what it takes in the file


def check_sizes(metadata: FileMetaData, names: Iterable[str | None], where: str) -> None:
    """Compare what columns of a Parquet file say to unpack to with what they take in it.

    Raises:
        DataError: A column in some row group is far larger than what people write can be.
    """
    read = set(names)
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            column = group.column(place)
            unpacked, taken = column.total_uncompressed_size, max(1, column.total_compressed_size)
            if column.path_in_schema.partition(".")[0] in read and unpacked > max(LARGEST, MOST_TIMES * taken):
                what = f"a column of {taken:,} bytes that unpacks to {unpacked / 2**30:.0f} GiB"
                raise DataError(what, where=where, fix="write the file again, with texts as they are")


def rows_of(batch: RecordBatch) -> list[dict[str, object]]:
    """Return the rows of a batch; a text that a column repeats by its number in a dictionary is held once."""
    columns = {name: _values(batch.column(place)) for place, name in enumerate(batch.schema.names)}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _values(column: Array) -> list[object]:
    import pyarrow

    if not isinstance(column, pyarrow.DictionaryArray):
        values: list[object] = column.to_pylist()
        return values
    texts = column.dictionary.to_pylist()
    return [None if number is None else texts[number] for number in column.indices.to_pylist()]
