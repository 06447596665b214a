"""Compile the Triton kernels for a GPU that need not be here: ``python compile_triton_kernels.py 90``.

One line a kernel: its name, bytes of shared memory, type, label tile. Fails where one does not compile or takes more
shared memory than the smallest GPU of that kind gives a block.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from plant_plugin.networks.kernels import ranking_loss_triton as ranking
from plant_plugin.networks.kernels.label_attention_triton import (
    LABELS_BACKWARD,
    LABELS_FORWARD,
    Tiles,
    attend,
    score_gradients,
)

SHARED = 99 * 1024  # capability 8.6 and 8.9
NAMES = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}
WIDE = ("table", "strength", "attended", "normaliser", "arriving", "to_strength")
OTHERS = {"mask": "*u8", "lengths": "*i32", "columns": "*i64"}
NUMBERS = ("labels", "positions", "first", "count", "width")


def compiled(kernel: Any, types: dict[str, str], constants: dict[str, Any], capability: int, warps: int) -> int:
    """Bytes of shared memory."""
    names = kernel.arg_names
    types = {name: "constexpr" if name in constants else types[name] for name in names}
    aligned = {(place,): [["tt.divisibility", 16]] for place, name in enumerate(names) if types[name].startswith("*")}
    source = ASTSource(kernel, types, {(names.index(name),): value for name, value in constants.items()}, aligned)
    target = GPUTarget("cuda", capability, 32)
    return triton.compile(source, target=target, options={"num_warps": warps}).metadata.shared


def attention(kernel: Any, most: int, kind: torch.dtype, capability: int, width: int, labels: int) -> None:
    tiles = Tiles.of(most, kind, labels, 8, width)
    types = {name: f"*{NAMES[kind]}" for name in kernel.arg_names}
    types |= {name: "*fp32" for name in WIDE} | OTHERS | {name: "i32" for name in NUMBERS}
    constants = {
        "HEADS": 8, "KEY_WIDTH": width, "VALUE_WIDTH": width, "PLANTED": True, "LABELS": tiles.labels,
        "POSITIONS": tiles.positions, "STEP": tiles.step, "PRECISION": "ieee",
    }  # fmt: skip
    shared = compiled(kernel, types, constants, capability, tiles.warps)
    assert shared <= SHARED, f"{kernel.__name__} takes {shared} bytes"
    print(kernel.__name__, shared, NAMES[kind], tiles.labels)


def main(capability: int) -> None:
    for kernel, most in ((attend, LABELS_FORWARD), (score_gradients, LABELS_BACKWARD)):
        attention(kernel, most, torch.bfloat16, capability, 1024, 30_938)
        attention(kernel, most, torch.float16, capability, 20, 30_938)
        attention(kernel, most, torch.float32, capability, 128, 30_938)
        attention(kernel, most, torch.bfloat16, capability, 64, 100)
    types = {name: "*fp32" for name in ranking.sum_of_pairs.arg_names} | {"width": "i32"}
    types |= {"better_counts": "*i32", "counts": "*i32"}
    constants = {"BETTER": ranking.BETTER, "OTHERS": ranking.OTHERS}
    print("sum_of_pairs", compiled(ranking.sum_of_pairs, types, constants, capability, ranking.WARPS))


if __name__ == "__main__":
    main(int(sys.argv[1]))
