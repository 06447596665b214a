"""Backbones: what trains, how large a checkpoint is, memory and speed.

    OMP_NUM_THREADS=1 python benchmarks/speed/backbones.py

Small random models on the processor, each in a process of its own: two training steps of PLANT with AdamW. Language
models: width 256, 6 layers, 1,000 sub-words, 2 documents of 512 sub-words, 200 labels. Word-level encoders: width 256,
8 documents of 512 words out of 5,000, 1,000 labels; of PLANTL2R the embeddings are 128 wide. Writes
``benchmarks/speed/backbones.json`` and ``benchmarks/tables/backbones.md``. Times are for comparing rows of
one run, not machines.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

HERE = Path(__file__).resolve().parent
RESULTS, TABLE = HERE / "backbones.json", HERE.parent / "tables" / "backbones.md"
TOKENS, STEPS = 512, 2
FAMILIES = ("mistral", "llama", "phi3", "bert")
WAYS: dict[str, dict[str, Any]] = {
    "all of it, float32": {},
    "LoRA, int8": {"quantization": "int8", "lora": {}},
    "LoRA, nf4": {"quantization": "nf4", "lora": {}},
    "LoRA, nf4, checkpointing": {"quantization": "nf4", "lora": {}, "gradient_checkpointing": True},
}
HEAD = {"num_heads": 8, "pool_size": 128}
WORD_LEVEL: dict[str, dict[str, Any]] = {
    "cnn": {"filter_sizes": [3, 5]},
    "bigru": {},
    "bigru, 2 layers": {"num_layers": 2},
    "bilstm": {},
    "bilstm, 2 layers": {"num_layers": 2},
}
L2R = {"embed_dim": 128, "hidden_size": 256, "num_layers": 2, "ranker_size": 64, "ranker_hidden": 64, "inattention": 20}
FIRST_PLANT: dict[str, dict[str, Any]] = {
    "segments of 72": {},
    "one segment": {"segment_tokens": None},
    "segments of 72, gradient to the last 2": {"gradient_segments": 2},
    "segments of 72, both directions": {"directions": "both"},
    "segments of 72, A alone": {"static": 0.0, "differentiable": False, "inattention": None},
    "segments of 72, 3 layers of 512": {"num_layers": 3, "hidden_size": 512},
}
PRIORS = {"all of it, float32": {}, "with a planted prior": {"planted_prior": "additive"}}


class Size(NamedTuple):
    """Documents of a batch, labels, chosen labels and the vocabulary."""

    batch: int
    labels: int
    chosen: int
    words: int


OVER_LANGUAGE_MODELS, OVER_WORDS = Size(2, 200, 50, 1000), Size(8, 1000, 100, 5000)


def shape(family: str) -> Any:
    """The configuration of a small language model."""
    from transformers import AutoConfig

    own: dict[str, Any] = {"attention_probs_dropout_prob": 0.0} if family == "bert" else {"num_key_value_heads": 4}
    own |= {"num_key_value_heads": 8} if family == "phi3" else {}
    return AutoConfig.for_model(
        family, vocab_size=OVER_LANGUAGE_MODELS.words, hidden_size=256, intermediate_size=688, num_hidden_layers=6,
        num_attention_heads=8, max_position_embeddings=TOKENS, bos_token_id=1, eos_token_id=2, pad_token_id=0, **own,
    )  # fmt: skip


def case(family: str, way: str) -> tuple[dict[str, Any], Size]:
    """``network_config`` without ``lm_weight``, and the sizes."""
    if family in FAMILIES:
        return WAYS[way], OVER_LANGUAGE_MODELS
    if family == "PLANTL2R":
        return {**L2R, **FIRST_PLANT[way]}, OVER_WORDS
    return {"encoder": family.partition(",")[0], **WORD_LEVEL[family], **PRIORS[way]}, OVER_WORDS


def resident(field: str) -> int:
    """``VmRSS`` or ``VmHWM`` of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("this program reads /proc/self/status: run it on Linux")


def train(options: dict[str, Any], size: Size, tokens: int) -> tuple[Any, float]:
    """Two training steps, selected as in stage 2: the network, and the seconds of the second step."""
    import torch
    from scipy import sparse

    from plant_plugin.l2r.network import PLANTL2R
    from plant_plugin.networks.plant import PLANT

    first_plant = "ranker_size" in options
    vectors = None if "lm_weight" in options else torch.randn(size.words, options.get("embed_dim", 100))
    arguments = options if first_plant else {**HEAD, **options}
    network = (PLANTL2R if first_plant else PLANT)(size.labels, vectors, **arguments).train()
    if network.has_prior:
        shape = (size.labels, size.words)
        network.plant_relevance(sparse.random_array(shape, density=0.05, format="csr", dtype="float32", rng=0))
    optimizer = torch.optim.AdamW([weight for weight in network.parameters() if weight.requires_grad], lr=1e-5)
    text = torch.randint(3, size.words, (size.batch, tokens))
    if first_plant:  # its tables are as large as there are distinct words
        text = torch.randperm(size.words - 3)[: size.batch * tokens].reshape(size.batch, tokens) + 3
    length = torch.full((size.batch,), tokens)
    batch = {"text": text, "length": length, "mask": torch.ones_like(text, dtype=torch.bool)}
    labels, seconds = torch.randint(size.labels, (size.batch, size.chosen)), 0.0
    for _ in range(STEPS):
        start = time.perf_counter()
        hidden = network.encode(batch)
        if first_plant:  # every label of every direction has a gradient
            sum(head(own).square().mean() for head, own in network.members(hidden)).backward()
        else:
            with torch.no_grad():
                network.logits(hidden)
            network.selected_logits(hidden, labels).square().mean().backward()
        del hidden
        optimizer.step()
        optimizer.zero_grad()
        seconds = time.perf_counter() - start
    return network, seconds


def measure(family: str, way: str) -> dict[str, Any]:
    """One row of the table."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModel

    from plant_plugin.networks.trained_state import trained_state

    folder, (options, size) = tempfile.mkdtemp(), case(family, way)
    if family in FAMILIES:
        torch.manual_seed(0)
        AutoModel.from_config(shape(family)).save_pretrained(folder)
        options = {"lm_weight": folder, **options}
    train(options, size._replace(batch=1), 8)  # what the libraries load on first use is not the network's
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the highest mark starts anew
    before, mapped = resident("VmRSS"), resident("RssFile")
    network, seconds = train(options, size, TOKENS)
    # Weights that do not train are mapped from their file; the system takes such pages back where memory is short.
    peak = resident("VmHWM") - before - max(0, resident("RssFile") - mapped)
    state = {name: tensor.detach().contiguous() for name, tensor in trained_state(network).items()}
    save_file(state, Path(folder) / "model.safetensors")
    return {
        "backbone": family,
        "way": way,
        "trained": sum(weight.numel() for weight in network.parameters() if weight.requires_grad),
        "checkpoint_bytes": (Path(folder) / "model.safetensors").stat().st_size,
        "peak_bytes": peak,
        "tokens_per_second": size.batch * TOKENS / seconds,
    }


def page(record: dict[str, Any]) -> str:
    """The whole table as Markdown."""
    head = (
        "# Backbones\n\nWritten by `python benchmarks/speed/backbones.py`: small random models on one processor core, "
        "two training\nsteps. Peak memory is without pages of weights that are mapped from their file. Times were "
        "taken under other\nload: compare rows, not machines.\n\n"
    )
    return head + table(record["measurements"]) + "\n"


def table(found: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    names = "backbone", "trained how", "trained parameters", "checkpoint, MB", "peak memory, MB"
    names += ("tokens a second",)
    lines = [f"| {' | '.join(names)} |", f"|---|---{'|--:' * (len(names) - 2)}|"]
    for row in found:
        peak = row["peak_bytes"] / 1e6
        values = [row["backbone"], row["way"], f"{row['trained']:,}", f"{row['checkpoint_bytes'] / 1e6:.1f}"]
        values += [f"{peak:.0f}", f"{row['tokens_per_second']:,.0f}"]
        lines.append(f"| {' | '.join(values)} |")
    return "\n".join(lines)


def measured() -> dict[str, Any]:
    """Every row, from a process of its own."""
    import bitsandbytes  # noqa: F401 loaded once, so that no row pays for it
    import peft  # noqa: F401
    import torch

    import plant_plugin.networks.plant  # noqa: F401

    torch.set_num_threads(1)
    found = []
    for row in [
        *itertools.product(FAMILIES, WAYS),
        *itertools.product(WORD_LEVEL, PRIORS),
        *itertools.product(["PLANTL2R"], FIRST_PLANT),
    ]:
        with multiprocessing.get_context("fork").Pool(1) as pool:
            found.append(pool.apply(measure, row))
        print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    return {"torch": torch.__version__, "threads": 1, "load": os.getloadavg()[0], "measurements": found}


def main() -> None:
    """Measure, then write both files."""
    if "MALLOC_MMAP_THRESHOLD_" not in os.environ:  # so that freed memory is given back and the peak is what is in use
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"})
    record = measured()
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    TABLE.write_text(page(record), encoding="utf-8")
    print(table(record["measurements"]))


if __name__ == "__main__":
    main()
