"""Native calls at the largest size that memory here allows, with two threads: each ends in a result or in a line.

What a process of its own does, for one that ends without a word to be seen. The table of docs/reliability.md says what
guards each. `make limits` tries them.
"""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

resource = pytest.importorskip("resource", reason="needs limits on memory")
pytestmark = pytest.mark.limits

GIB = 1 << 30
MEMORY = 9 * GIB  # of addresses, of which a process that has imported torch needs one or two

BEGIN = """
import numpy as np, scipy.sparse as sp, torch
drawn = np.random.default_rng(0)
torch.set_num_threads(2)
def rows(documents, terms, each):
    columns = drawn.integers(0, terms, (documents, each), dtype=np.int32)
    columns.sort(axis=1)
    offsets = np.arange(documents + 1, dtype=np.int64) * each
    made = sp.csr_array((np.full(columns.size, 0.1, np.float32), columns.ravel(), offsets), shape=(documents, terms))
    made.sum_duplicates()
    return made
"""

CALLS = {
    # label_ridge has no limit of its own: memory
    "label_ridge": """
from plant_plugin.relevance.label_ridge import solve_by_label
from plant_plugin.relevance.ridge import RidgeOptions
labels = rows(60_000, 31_000, 3)
labels.data[:] = 1
print(solve_by_label(rows(60_000, 300_000, 60), labels, RidgeOptions(model="label_ridge", top=200)).shape)
""",
    "relevance": """
from plant_plugin.config.options import RelevanceOptions
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.relevance.mutual_information import compute_relevance
ids = drawn.integers(0, 2_000_000, 300_000_000, dtype=np.int32)
arrays = TokenArrays(ids, np.arange(0, len(ids) + 1, 1000))
labels = rows(300_000, 20_000, 3)
labels.data[:] = 1
print(compute_relevance(arrays, labels, 2_000_000, [0], RelevanceOptions(top=100), workers=2).matrix.shape)
""",
    "ranking loss": """
from plant_plugin.networks.kernels.ranking_loss import lambda_rank_loss
scores = torch.randn(1, 8_930, 20_000).requires_grad_()
relevance = torch.zeros(1, 8_930, 20_000)
relevance[..., ::50] = torch.rand(1, 8_930, 400)
lambda_rank_loss(scores, relevance, torch.ones(1, 20_000, dtype=torch.bool), 2000).sum().backward()
print(bool(scores.grad.isfinite().all()))
""",
    "pairs of the ranker": """
from plant_plugin.l2r.pair_scores import ranker_scores
parts = torch.randn(60_000, 8), torch.randn(8_930, 8), torch.randn(8)
scores = ranker_scores(*(part.requires_grad_() for part in parts))
scores[:, 0].sum().backward()
print(scores.shape)
""",
    "index of labels": """
from plant_plugin.relevance.pruned_index import PrunedIndex
weights = rows(670_000, 500_000, 200)
index = PrunedIndex.of(weights)
print(index.candidates(rows(100, 500_000, 200), weights, 100)[0].max() < 670_000)
""",
    # CSR with more entries than 32 bits count
    "offsets of 64 bits": """
from plant_plugin.relevance.index_kernels import count_above_0
columns = np.broadcast_to(np.zeros(1, np.int32), 2**31 + 5)
print(count_above_0(columns, np.broadcast_to(np.ones(1, np.float32), 2**31 + 5), 3))
""",
    "dropout": """
from plant_plugin.networks.kernels.compiled import fill_mask
mask = np.empty(2**31 + 5, np.float16).view(np.int16)
fill_mask(mask, np.int16(1), np.uint64(2**15), np.uint64(3))
print(mask[-5:].sum() <= 5)
""",
    "nf4": """
import bitsandbytes.functional as bits
packed, state = bits.quantize_4bit(torch.zeros(2**14, 2**15 + 64, dtype=torch.bfloat16), quant_type="nf4")
print(bits.dequantize_4bit(packed, state).shape)
""",
    "int8": """
import bitsandbytes.functional as bits
print([part.shape for part in bits.int8_vectorwise_quant(torch.ones(2**14, 2**15, dtype=torch.float16))[:2]])
""",
}


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.mark.parametrize("call", CALLS)
def test_a_native_call_at_its_largest_ends_in_a_result(call: str) -> None:
    if psutil.virtual_memory().available < MEMORY:
        pytest.skip("needs 9 GiB of free memory")
    if call in ("nf4", "int8"):
        pytest.importorskip("bitsandbytes")
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    arguments = [sys.executable, "-c", BEGIN + CALLS[call]]
    ended = subprocess.run(arguments, env=environment, capture_output=True, text=True, preexec_fn=limited)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout
