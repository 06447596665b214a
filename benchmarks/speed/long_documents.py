"""Peak memory of a training step against the length of a document.

    OMP_NUM_THREADS=1 python benchmarks/speed/long_documents.py

PLANT over a BiGRU (width 256) and over a random BERT (width 256, 4 layers, windows of 512 sub-words) on the processor:
two training steps on one document, 200 labels, each case in a process of its own. Writes
``benchmarks/tables/long_documents.md``.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from backbones import HEAD, resident

TABLE = Path(__file__).resolve().parents[1] / "tables" / "long_documents.md"
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
LABELS, CHOSEN, WORDS, WINDOW = 200, 50, 1000, 512
WAYS = {
    "BiGRU": {"encoder": "bigru"},
    "BERT in windows": {"lm_window": WINDOW},
}


def step(options: dict[str, Any], tokens: int) -> None:
    """Two training steps."""
    import torch

    from plant_plugin.networks.plant import PLANT

    vectors = None if "lm_weight" in options else torch.randn(WORDS, 100)
    network = PLANT(LABELS, vectors, **HEAD, **options).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-5)
    text = torch.randint(3, WORDS, (1, tokens))
    batch = {"text": text, "length": torch.tensor([tokens]), "mask": torch.ones_like(text, dtype=torch.bool)}
    for _ in range(2):
        labels = torch.randint(LABELS, (1, CHOSEN))
        network.selected_logits(network.encode(batch), labels).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def measure(way: str, tokens: int) -> float:
    """Megabytes that two steps add at their highest."""
    options = dict(WAYS[way])
    if "lm_window" in options:
        from transformers import BertConfig, BertModel

        options["lm_weight"] = tempfile.mkdtemp()
        config = BertConfig(
            vocab_size=WORDS, hidden_size=256, intermediate_size=688, num_hidden_layers=4, num_attention_heads=8,
            max_position_embeddings=WINDOW,
        )  # fmt: skip
        BertModel(config).save_pretrained(options["lm_weight"])
    step(options, 8)  # what the libraries load on first use is not the network's
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the highest mark starts anew
    before = resident("VmRSS")
    step(options, tokens)
    return (resident("VmHWM") - before) / 1e6


def main() -> None:
    """Measure every case in a fresh process, then write the table."""
    if "MALLOC_MMAP_THRESHOLD_" not in os.environ:  # so that freed memory is given back and the peak is what is in use
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"})
    import torch

    import plant_plugin.networks.plant  # noqa: F401 loaded once, so that no case pays for it

    torch.set_num_threads(1)
    found = {}
    for case in itertools.product(WAYS, LENGTHS):
        with multiprocessing.get_context("fork").Pool(1) as pool:
            found[case] = pool.apply(measure, case)
        print(*case, f"{found[case]:.0f} MB", file=sys.stderr, flush=True)
    lines = [f"| tokens | {' | '.join(WAYS)} |", f"|--:{'|--:' * len(WAYS)}|"]
    for tokens in LENGTHS:
        lines.append(f"| {tokens:,} | {' | '.join(f'{found[way, tokens]:.0f}' for way in WAYS)} |")
    head = (
        "# Memory against length\n\nWritten by `python benchmarks/speed/long_documents.py`: megabytes that two "
        "training steps of\nPLANT on one document add at their highest, on a processor.\n\n"
    )
    TABLE.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
