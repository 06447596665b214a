"""GGUF files, in which llama.cpp's programs keep language models, converted to folders that transformers loads."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from plant_plugin.config import registry
from plant_plugin.errors import ConfigError, PlantError, needs_extra
from plant_plugin.files import atomic_folder, cache_folder, locked, sha256

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PretrainedConfig

MAGIC = b"GGUF"  # the first bytes of every such file
KEY = "network_config: lm_weight"


def language_model(lm_weight: str) -> str:
    """Return the name or folder for transformers: a preset's name on the hub, a file's folder, others as they are."""
    path = Path(lm_weight)
    if os.path.isfile(path) or (path.suffix.lower() == ".gguf" and not os.path.isdir(path)):
        return str(folder_of_gguf(lm_weight))
    entry = registry.preset(lm_weight)
    return lm_weight if entry is None else str(entry.weights)


def folder_of_gguf(lm_weight: str) -> Path:
    """Return a folder with configuration, tokenizer and weights of a GGUF file, the weights dequantised to float16.

    It is made once, named by the file's content, in the user's cache folder and not in ``cache_dir``: a finished run is
    read without its configuration, and several runs share it. Of several processes at once only the first makes it.

    Raises:
        ConfigError: The file is missing, torn, no GGUF, or holds a model that transformers cannot read from GGUF.
        MissingExtraError: gguf or accelerate is not installed.
        PlantError: The cache folder cannot be written, or the disk is full.
    """
    path = Path(lm_weight)
    folder = cache_folder() / "language_models" / _content(path)
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fix = "name another cache folder in the environment variable XDG_CACHE_HOME, or change its permissions"
        raise PlantError(f"cannot be written ({error.strerror})", where=str(folder.parent), fix=fix) from error
    with locked(folder.with_suffix(".lock")):
        if not folder.is_dir():
            with atomic_folder(folder) as temporary:
                _convert(path, temporary)
    return folder


def _content(path: Path) -> str:
    """Return the hash of a file that begins as a GGUF does."""
    try:
        with open(path, "rb") as stream:
            begins = stream.read(len(MAGIC))
        status = path.stat()
    except OSError as error:
        raise _unreadable(path, f"cannot be read ({error.strerror})") from error
    if begins != MAGIC:
        raise _unreadable(path, "not a GGUF file: it does not begin with these four letters")
    return _hash(path.resolve(), status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=8)
def _hash(path: Path, size: int, changed: int) -> str:
    """Hash a file of gigabytes once, although tokens, configuration and weights each need the hash."""
    return sha256(path)


def _convert(path: Path, folder: Path) -> None:
    with needs_extra("llm", where=f"{KEY}: {path.name}"):
        import accelerate  # noqa: F401 transformers reads GGUF through both
        import gguf  # noqa: F401
    import torch
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    place, name = str(path.parent), path.name
    try:
        config = AutoConfig.from_pretrained(place, gguf_file=name)
        tokenizer = AutoTokenizer.from_pretrained(place, gguf_file=name)
        with torch.device("meta"):
            whole = AutoModel.from_config(config, dtype=torch.float16)  # one that knows nothing of GGUF can be saved
        weights = _weights(path, config)
    except ConfigError:
        raise
    except Exception as error:  # transformers and gguf raise errors of a dozen kinds here
        what = f"the model in it cannot be read ({type(error).__name__}: {error})"
        raise _unreadable(path, what.splitlines()[0]) from error
    whole.save_pretrained(folder, state_dict=weights)
    tokenizer.save_pretrained(folder)


def _weights(path: Path, config: PretrainedConfig) -> dict[str, Tensor]:
    """Return the weights by name, dequantised."""
    import transformers
    from transformers import AutoModel

    options = {}
    if hasattr(transformers, "GgufConfig"):  # newer versions may leave them in GGUF's blocks, which do not train
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    model, report = AutoModel.from_pretrained(
        str(path.parent), gguf_file=path.name, config=config, dtype="float16", output_loading_info=True, **options
    )
    if missing := sorted(report["missing_keys"]):  # else they would be drawn at random
        raise _unreadable(path, f"it lacks {len(missing)} of the model's weights ({missing[0]}, …)")
    weights: dict[str, Tensor] = model.state_dict()
    if not all(value.isfinite().all() for value in weights.values()):
        raise _unreadable(path, "weights in it are no numbers, or too large for float16")
    return weights


def _unreadable(path: Path, what: str) -> ConfigError:
    fix = (
        "give a whole GGUF file of one part with a decoder that transformers knows (Llama, Mistral, Qwen, Phi-3, …), "
        "or download it again; or the folder of the same model"
    )
    return ConfigError(what, where=f"{KEY}: {path}", fix=fix)
