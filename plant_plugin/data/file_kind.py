"""What a file is by its first bytes: text in which encoding, or something else, which is named with its cure."""

from __future__ import annotations

import codecs

from plant_plugin.errors import DataError

HEAD = 4096  # bytes that are looked at
MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16",
         codecs.BOM_UTF16_BE: "utf-16"}  # fmt: skip
OFFICE = "save it as CSV UTF-8 (Excel: File, Save as), as plain text, or as a table whose name ends in .xlsx"
UNPACK = "take the text files out of it, and name one of them"
# What a file that is no text begins with, what it is, and what to do.
KINDS = (
    (b"%PDF-", "a PDF", "take the text out of it: pdftotext FILE.pdf FILE.txt"),
    (b"PK\x03\x04", "a zip archive, or a file of Word or Excel, which is one", f"{OFFICE}; of an archive {UNPACK}"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old file of Word or Excel", OFFICE),
    (b"{\\rtf", "rich text (RTF)", "save it as plain text in UTF-8"),
    (b"\x1f\x8b", "compressed by gzip", "let its name end in .gz"),
    (b"\xfd7zXZ\x00", "compressed by xz", "let its name end in .xz"),
    (b"BZh91AY&SY", "compressed by bzip2", "unpack it: bunzip2 FILE"),
    (b"(\xb5/\xfd", "compressed by zstd", "unpack it: unzstd FILE"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (b"Rar!\x1a", "a RAR archive", UNPACK),
    (b"PAR1\x15", "Parquet", "let its name end in .parquet"),
    (b"ARROW1\x00", "an Arrow file", "give the folder that it lies in"),
    (b"SQLite format 3\x00", "a SQLite database", "export its table as CSV"),
    (b"\x89HDF\r\n", "HDF5", "write its table as CSV or Parquet"),
    (b"\x93NUMPY", "an array of numpy", "write texts and labels as CSV, JSON lines or Parquet"),
    (b"\x80\x02", "a pickle of Python", "write it as CSV, JSON lines or Parquet; pickles are not loaded"),
    (b"\x80\x03", "a pickle of Python", "write it as CSV, JSON lines or Parquet; pickles are not loaded"),
    (b"\x80\x04", "a pickle of Python", "write it as CSV, JSON lines or Parquet; pickles are not loaded"),
    (b"\x80\x05", "a pickle of Python", "write it as CSV, JSON lines or Parquet; pickles are not loaded"),
    (b"\x89PNG", "a picture", "give the text in it"),
    (b"\xff\xd8\xff", "a picture", "give the text in it"),
    (b"II*\x00", "a picture", "give the text in it"),
)
SPARSE = 0.8  # the share of NUL among every second byte that Latin letters have in UTF-16


def encoding_of(head: bytes, where: str, otherwise: str = "utf-8-sig") -> str:
    """Return the encoding of a text file that begins with these bytes: what its mark says, else ``otherwise``.

    Raises:
        DataError: The file is no text, or one of UTF-16 without a mark; the message says what it is and what to do.
    """
    for mark, encoding in MARKS.items():
        if head.startswith(mark):
            return encoding
    for magic, name, fix in KINDS:
        if head.startswith(magic):
            raise DataError(f"the file is {name}, not text", where=where, fix=fix)
    if len(head) > 3 and otherwise.startswith("utf-8"):
        big, little = (every.count(0) > SPARSE * len(every) for every in (head[::2], head[1::2]))
        if big != little:
            fix = f"save it as UTF-8 (iconv -f utf-16{'le' if little else 'be'} -t utf-8), or name --encoding"
            raise DataError("the file is UTF-16 without a mark, or no text at all", where=where, fix=fix)
    return otherwise
