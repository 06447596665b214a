"""Label attention in Triton against the plain formula: in Triton's interpreter, and on a GPU where marked ``gpu``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from triton_cases import GPU, INTERPRETED, ON_BOTH, SIZES, case

from plant_plugin.networks.kernels import label_attention_triton
from plant_plugin.networks.kernels.label_attention import label_attention_reference
from plant_plugin.networks.kernels.prior import PriorLookup

pytestmark = pytest.mark.usefixtures("nan_in_new_tensors")
NARROW = {torch.float64: 1e-11, torch.float32: 2e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}


@pytest.fixture(autouse=True)
def _small_tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the interpreter a few labels and positions have to make several tiles; a GPU gets the real ones."""
    callspec = getattr(request.node, "callspec", None)
    if callspec is not None and callspec.params.get("device") == "cpu":
        small = label_attention_triton.Tiles(16, 16, 16, 4)
        monkeypatch.setattr(label_attention_triton.Tiles, "of", lambda *_: small)


def values_and_gradients(way: Callable[..., Tensor], parts: tuple) -> list[Tensor]:
    *operands, strength = parts
    free = [*operands[:4], *([] if strength is None else [strength])]
    logits = way(*operands, strength)
    direction = torch.linspace(-1, 1, logits.numel(), device=logits.device).sin().view(logits.shape)
    return [logits, *torch.autograd.grad((logits * direction).sum(), free)]


def through_triton(product_dtype: torch.dtype, block_elements: int) -> Callable[..., Tensor]:
    def way(*operands: Tensor) -> Tensor:
        *tensors, mask, prior, strength = operands
        apply = label_attention_triton.LabelAttentionTriton.apply
        return apply(*tensors, strength, mask, prior, product_dtype, block_elements)

    return way


def assert_as_the_reference(parts: tuple, products: torch.dtype, block_elements: int = 2**26) -> None:
    """Value and all gradients; the reference computes in float64 from what the products' type keeps of the operands."""
    found = values_and_gradients(through_triton(products, block_elements), parts)

    def exact(part: object, rounded: bool) -> object:
        if not isinstance(part, Tensor) or not part.is_floating_point():
            return part
        part = part.detach().to(products) if rounded else part.detach()
        return part.double().requires_grad_()

    *operands, prior, strength = parts
    doubled = [exact(part, rounded=True) for part in operands]
    planted = None if prior is None else PriorLookup(prior.table.double(), prior.columns)
    expected = values_and_gradients(label_attention_reference, (*doubled, planted, exact(strength, rounded=False)))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == parts[0].dtype
        scale = other.abs().max()
        torch.testing.assert_close(one.double() / scale, other / scale, atol=NARROW[products], rtol=0)


@ON_BOTH
def test_attention_with_a_prior_and_several_heads(device: str) -> None:
    kind = torch.float64 if device == "cpu" else torch.float32
    parts = case(device, kind, *SIZES[device])
    queries = parts[0]
    blocks_of = 9 * queries.shape[1] * parts[4].numel()  # the backward pass goes by 9 labels
    assert_as_the_reference(parts, kind, blocks_of)


@ON_BOTH
def test_attention_without_a_prior_past_padding_at_the_start(device: str) -> None:
    kind = torch.float64 if device == "cpu" else torch.float32
    shape, widths, lengths = ((1, 1, 35, 3), (16, 33), [35]) if device == "cpu" else SIZES[device]
    parts = case(device, kind, shape, widths, lengths, planted=False)
    mask, begin = parts[4], 17 if device == "cpu" else 69
    mask[0, :begin] = False  # more than a tile
    mask[0, begin + 1] = False
    assert_as_the_reference(parts, kind)


@pytest.mark.parametrize(
    ("device", "products"),
    # Triton's interpreter multiplies the bits of bfloat16 (3.7.1), so that type is compiled below, and tested on GPUs
    [("cpu", torch.float16), pytest.param(*GPU.values, torch.float16, marks=GPU.marks),
     pytest.param(*GPU.values, torch.bfloat16, marks=GPU.marks)],
)  # fmt: skip
def test_attention_with_narrow_products(device: str, products: torch.dtype) -> None:
    if device == "cpu" and not INTERPRETED:
        pytest.skip("runs on the GPU instead")
    shape, widths, lengths = ((1, 1, 9, 4), (7, 16), [8]) if device == "cpu" else SIZES[device]
    assert_as_the_reference(case(device, torch.float32, shape, widths, lengths), products)


@ON_BOTH
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy in the interpreter: 0/0
def test_attention_reads_no_padded_state_and_tells_an_empty_document(device: str) -> None:
    parts = case(device, torch.float32, (2, 1, 18, 3), (8, 8), [4, 0], planted=False)
    expected = label_attention_reference(*parts)
    with torch.no_grad():
        for states in parts[1:3]:
            states[0, 4:] = float("nan")
    found = through_triton(torch.float32, 10**6)(*parts)
    torch.testing.assert_close(found[0], expected[0], atol=1e-5, rtol=1e-5)
    assert found[1].isnan().all()
    assert expected[1].isnan().all()


@ON_BOTH
def test_attention_of_no_labels_and_no_documents(device: str) -> None:
    for batch, labels in ((2, 0), (0, 3)):
        parts = case(device, torch.float32, (batch, 1, 4, labels), (8, 8), [4] * batch)
        found = values_and_gradients(through_triton(torch.float32, 10**6), parts)
        assert found[0].shape == (batch, labels)
        assert not any(part.any() for part in found)


@pytest.mark.integration
@ON_BOTH
@pytest.mark.parametrize("width", [1, 64, 1024])
def test_attention_of_wide_heads(device: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the tiles that a GPU gets
    assert_as_the_reference(case(device, torch.float32, (2, 2, 40, 33), (width, width), [40, 17]), torch.float32)
    assert_as_the_reference(case(device, torch.float32, (2, 1, 40, 33), (width, 40), [3, 40]), torch.float16)


@pytest.mark.parametrize("device", [GPU])
def test_attention_of_more_labels_and_types_than_32_bits_count(device: str) -> None:
    if torch.cuda.get_device_properties(0).total_memory < 60 * 2**30:
        pytest.skip("needs 60 GiB of GPU memory")
    labels, types, last = 670_000, 3_300, 20  # table and queries have more than 2³¹ numbers
    torch.manual_seed(0)
    queries, outputs = (torch.randn(labels, 4, 1024, device=device, dtype=torch.bfloat16) / 32 for _ in range(2))
    keys, values = (torch.randn(1, 100, 4, 1024, device=device, dtype=torch.bfloat16) for _ in range(2))
    mask = torch.ones(1, 100, dtype=torch.bool, device=device)
    table = torch.rand(labels, types, device=device, dtype=torch.bfloat16)
    columns = torch.randint(types - 200, types, (1, 100), device=device)
    strength = torch.ones(labels, 4, device=device, dtype=torch.bfloat16)
    with torch.no_grad():
        prior = PriorLookup(table, columns)
        found = through_triton(torch.bfloat16, 2**26)(queries, keys, values, outputs, mask, prior, strength)
        end = PriorLookup(table[-last:].double(), columns)
        wide = [part.double() for part in (queries[-last:], keys, values, outputs[-last:])]
        expected = label_attention_reference(*wide, mask, end, strength[-last:].double())
    torch.testing.assert_close(found[:, -last:].double(), expected, atol=3e-2, rtol=3e-2)


COMPILES = Path(__file__).with_name("compile_triton_kernels.py")


@pytest.mark.integration
@pytest.mark.parametrize("capability", [80, 90])
def test_kernels_compile_for_gpus(capability: int, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment.update(TRITON_CACHE_DIR=str(tmp_path), PYTHONPATH=str(Path(__file__).resolve().parents[3]))
    done = subprocess.run(
        [sys.executable, str(COMPILES), str(capability)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 9
