"""Language models as backbones: what trains, how large a checkpoint is, memory and speed, and the formula beside them.

    OMP_NUM_THREADS=1 python benchmarks/speed/language_models.py

Small random models (width 256, 6 layers, 1,000 sub-words) on the processor, each in a process of its own: two training
steps of PLANT (2 documents of 512 sub-words, 200 labels) with AdamW. Writes ``benchmarks/speed/language_models.json``
and ``benchmarks/tables/language_models.md``. Times are for comparing rows of one run, not machines.
"""

from __future__ import annotations

import ctypes
import gc
import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

HERE = Path(__file__).resolve().parent
RESULTS, TABLE = HERE / "language_models.json", HERE.parent / "tables" / "language_models.md"
BATCH, TOKENS, LABELS, CHOSEN, WORDS, STEPS = 2, 512, 200, 50, 1000, 2
FAMILIES = ("mistral", "llama", "phi3", "bert")
WAYS: dict[str, dict[str, Any]] = {
    "all of it, float32": {},
    "LoRA, int8": {"quantization": "int8", "lora": {}},
    "LoRA, nf4": {"quantization": "nf4", "lora": {}},
    "LoRA, nf4, checkpointing": {"quantization": "nf4", "lora": {}, "gradient_checkpointing": True},
}
HEAD = {"num_heads": 8, "pool_size": 128}


def write_model(family: str, folder: str) -> None:
    """A random model from its configuration."""
    import torch
    from transformers import AutoConfig, AutoModel

    own: dict[str, Any] = {"attention_probs_dropout_prob": 0.0} if family == "bert" else {"num_key_value_heads": 4}
    own |= {"num_key_value_heads": 8} if family == "phi3" else {}
    torch.manual_seed(0)
    config = AutoConfig.for_model(
        family, vocab_size=WORDS, hidden_size=256, intermediate_size=688, num_hidden_layers=6, num_attention_heads=8,
        max_position_embeddings=TOKENS, bos_token_id=1, eos_token_id=2, pad_token_id=0, **own,
    )  # fmt: skip
    AutoModel.from_config(config).save_pretrained(folder)


def resident(field: str) -> int:
    """``VmRSS`` or ``VmHWM`` of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("this program reads /proc/self/status: run it on Linux")


def train(folder: str, options: dict[str, Any], documents: int, tokens: int) -> tuple[Any, float]:
    """Two training steps: the network, and the seconds of the second step."""
    import torch

    from plant_plugin.networks.plant import PLANT

    network = PLANT(LABELS, lm_weight=folder, **HEAD, **options).train()
    optimizer = torch.optim.AdamW([weight for weight in network.parameters() if weight.requires_grad], lr=1e-5)
    text = torch.randint(3, WORDS, (documents, tokens))
    batch = {"text": text, "length": torch.full((documents,), tokens), "mask": torch.ones_like(text, dtype=torch.bool)}
    labels, seconds = torch.randint(LABELS, (documents, CHOSEN)), 0.0
    for _ in range(STEPS):
        start = time.perf_counter()
        network.selected_logits(network.encode(batch), labels).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        seconds = time.perf_counter() - start
    return network, seconds


def measure(family: str, way: str) -> dict[str, Any]:
    """One row of the table."""
    from safetensors.torch import save_file

    from plant_plugin.networks.footprint import Plan, footprint
    from plant_plugin.networks.trained_state import trained_state
    from plant_plugin.options import LoraOptions

    options, folder = WAYS[way], tempfile.mkdtemp()
    write_model(family, folder)
    train(folder, options, 1, 8)  # what the libraries load on first use is not the network's
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the highest mark starts anew
    before = resident("VmRSS")
    network, seconds = train(folder, options, BATCH, TOKENS)
    peak = resident("VmHWM") - before
    state = {name: tensor.detach().contiguous() for name, tensor in trained_state(network).items()}
    save_file(state, Path(folder) / "model.safetensors")
    plan = Plan(
        BATCH, TOKENS, LABELS, chosen=CHOSEN, quantization=options.get("quantization", "none"),
        lora=LoraOptions() if "lora" in options else None, narrow=4, stored=4, noise=4,
        gradient_checkpointing=options.get("gradient_checkpointing", False), **HEAD,
    )  # fmt: skip
    expected = footprint(network.backbone.config, plan)
    return {
        "backbone": family,
        "way": way,
        "trained": expected.trained,
        "checkpoint_bytes": (Path(folder) / "model.safetensors").stat().st_size,
        "peak_bytes": peak,
        "formula_bytes": expected.total,
        "tokens_per_second": BATCH * TOKENS / seconds,
    }


def table(found: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    names = "backbone", "trained how", "trained parameters", "checkpoint, MB", "peak memory, MB", "formula, MB"
    names += "formula / measured", "tokens a second"
    lines = [f"| {' | '.join(names)} |", f"|---|---{'|--:' * (len(names) - 2)}|"]
    for row in found:
        peak, formula = row["peak_bytes"] / 1e6, row["formula_bytes"] / 1e6
        values = [row["backbone"], row["way"], f"{row['trained']:,}", f"{row['checkpoint_bytes'] / 1e6:.1f}"]
        values += [f"{peak:.0f}", f"{formula:.0f}", f"{formula / peak:.2f}", f"{row['tokens_per_second']:,.0f}"]
        lines.append(f"| {' | '.join(values)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure every row in a fresh process, then write both files."""
    if "MALLOC_MMAP_THRESHOLD_" not in os.environ:  # so that freed memory is given back and the peak is what is in use
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"})
    import bitsandbytes  # noqa: F401 loaded once, so that no row pays for it
    import peft  # noqa: F401
    import torch

    import plant_plugin.networks.plant  # noqa: F401

    torch.set_num_threads(1)
    found = []
    for family in FAMILIES:
        for way in WAYS:
            with multiprocessing.get_context("fork").Pool(1) as pool:
                found.append(pool.apply(measure, (family, way)))
            print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    record = {"torch": torch.__version__, "threads": 1, "load": os.getloadavg()[0], "measurements": found}
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    head = (
        "# Language models as backbones\n\nWritten by `python benchmarks/speed/language_models.py`: small random "
        "models on one processor core, two\ntraining steps. Times were taken under other load: compare rows, not "
        "machines.\n\n"
    )
    TABLE.write_text(head + table(found) + "\n", encoding="utf-8")
    print(table(found))


if __name__ == "__main__":
    main()
