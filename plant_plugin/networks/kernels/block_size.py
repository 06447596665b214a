"""How many labels label attention works on at once.

Shape key: **A** heads · **D** width of one · **C** columns, the positions of a few documents · **l** labels of a block.
"""

from __future__ import annotations

from torch import Tensor

# Elements of one (l, C) buffer. On a CPU 2 MiB in float32 (measured best of 0.5, 1, 2); a GPU wants large products.
BLOCK_ELEMENTS, BLOCK_ELEMENTS_GPU = 2**19, 2**26
# Each block of labels reads the keys and values of its columns anew. So on a CPU a block of a long document has this
# many labels, in up to so many times the memory: 1.1 times as fast at 8,000 words, 1.6 at 20,000.
LABELS, TIMES = 256, 8


def labels_at_once(elements: int, keys: Tensor) -> int:
    """Return l, of which (l, C) has about so many ``elements``, for keys (A, D, C)."""
    columns = keys.shape[2]
    longest = min(LABELS, TIMES * elements // columns) if keys.device.type == "cpu" else 1
    return max(1, elements // columns, longest)
