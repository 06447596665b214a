r"""Files whose texts have no spaces between words, written with spaces: LibMultiLabel finds words by ``\w+``."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from plant_plugin.config import Config
from plant_plugin.config.rules import DATA_KEYS
from plant_plugin.config.values import Keys
from plant_plugin.data.documents import reader_of
from plant_plugin.data.text import text_lines
from plant_plugin.data.words import SAMPLE, splitter_of, words_by
from plant_plugin.host.checks import cached_text
from plant_plugin.host.text_files import READ_BY_LIBMULTILABEL, files_as_text


def files_with_words(config: Config, *, pairs: bool) -> Keys:
    """Return :func:`files_as_text`; where the texts of the first file have no spaces, all with spaces.

    A language model reads whole texts, which are left as they are. ``pairs``: words are pairs of letters, because
    linear models leave single ones out.
    """
    keys = files_as_text(config)
    files = {key: str(keys[key]) for key in DATA_KEYS if key in keys}
    sparse = any(reader_of(source, config) in READ_BY_LIBMULTILABEL for source in files.values())
    if not files or sparse or config.network_config.get("lm_weight"):
        return keys
    with text_lines(Path(next(iter(files.values())))) as lines:
        splitter = splitter_of([line.rpartition("\t")[2] for line in islice(lines, SAMPLE)])
    if splitter is None:
        return keys
    return keys | {key: str(_with_spaces(Path(source), splitter, config, pairs=pairs)) for key, source in files.items()}


def _with_spaces(source: Path, splitter: str, config: Config, *, pairs: bool) -> Path:
    words = words_by(splitter)
    with text_lines(source) as lines:
        parts = [line.rpartition("\t") for line in lines]
    spaced = (before + tab + " ".join(words.spaced(text, pairs=pairs)) for before, tab, text in parts)
    return cached_text("".join(f"{line}\n" for line in spaced), config)
