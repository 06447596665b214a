"""Rows of label tables that a step has no gradient for stay as they are; the others move as by Adam."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from plant_plugin.config import Config
from plant_plugin.errors import ConfigError, Stopped
from plant_plugin.training import stage as stages
from plant_plugin.training.rows import RowAdam, RowAdamW, clip_norm
from plant_plugin.training.run import run
from plant_plugin.training.stage2 import Stage2

Made = Callable[..., Config]
PAIRS = [(RowAdam, torch.optim.Adam), (RowAdamW, torch.optim.AdamW)]
LABELS = 12
TOUCHED = {"planted_scores__model": "ridge", "shortlist__rows": "touched"}


def trained(kind: type[torch.optim.Optimizer], rows: list[list[int]], sparse: bool, **options: float) -> list[Tensor]:
    """A table and a vector after a step for each list of rows, which all documents of the step have, some twice."""
    torch.manual_seed(0)
    table, vector = nn.Parameter(torch.randn(LABELS, 3)), nn.Parameter(torch.randn(3))
    optimizer = kind([table, vector], lr=0.1, **options)
    for chosen in rows:
        optimizer.zero_grad()
        few = nn.functional.embedding(torch.tensor([*chosen, chosen[0]]), table, sparse=sparse)
        (few @ vector).tanh().pow(2).sum().backward()
        clip_norm([table, vector], 0.5)
        optimizer.step()
    return [table.detach(), vector.detach()]


@pytest.mark.parametrize(("kind", "plain"), PAIRS)
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_with_all_rows_it_is_adam(kind: type, plain: type, decay: float) -> None:
    every = [list(range(LABELS))] * 5
    found, expected = (trained(*one, weight_decay=decay) for one in ((kind, every, True), (plain, every, False)))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(trained(kind, every, False, weight_decay=decay), expected)  # dense gradients


@pytest.mark.parametrize(("kind", "plain"), PAIRS)
def test_rows_without_a_gradient_stay_and_the_others_are_as_torch_has_them(kind: type, plain: type) -> None:
    rows = [[0, 4], [4, 7], [0, 1], [7, 4]]
    torch.manual_seed(0)
    start = torch.randn(LABELS, 3)
    table, _ = trained(kind, rows, True, weight_decay=0.1)
    moved = (table != start).any(dim=1).nonzero().flatten().tolist()
    assert moved == [0, 1, 4, 7]

    def lazily(optimizer: type[torch.optim.Optimizer]) -> Tensor:
        weight = nn.Parameter(start.clone())
        stepping = optimizer([weight], lr=0.1)
        for chosen in rows:
            stepping.zero_grad()
            nn.functional.embedding(torch.tensor(chosen), weight, sparse=True).pow(2).sum().backward()
            stepping.step()
        return weight.detach()

    adam = kind if kind is RowAdam else (lambda tables, lr: kind(tables, lr=lr, weight_decay=0.0))
    torch.testing.assert_close(lazily(adam), lazily(torch.optim.SparseAdam))
    assert not torch.equal(table, trained(plain, rows, False, weight_decay=0.1)[0])


def test_clipping_is_torchs() -> None:
    torch.manual_seed(0)
    tables = [nn.Parameter(torch.randn(LABELS, 3)) for _ in range(4)]
    for table, sparse in zip(tables, (True, False, True, False), strict=True):
        nn.functional.embedding(torch.tensor([1, 5, 1]), table, sparse=sparse).pow(2).sum().backward()
    dense = [nn.Parameter(torch.zeros(LABELS, 3)) for _ in tables]
    for one, table in zip(dense, tables, strict=True):
        assert table.grad is not None
        one.grad = table.grad.to_dense().clone()
    torch.testing.assert_close(clip_norm(tables, 0.3), nn.utils.clip_grad_norm_(dense, 0.3))
    for one, table in zip(dense, tables, strict=True):
        assert table.grad is not None
        torch.testing.assert_close(table.grad.to_dense(), one.grad)


@pytest.mark.integration
def test_a_shortlist_of_all_labels_trains_the_same_numbers(made: Made) -> None:
    own = {**TOUCHED, "shortlist__size": LABELS, "stage1__epochs": 1, "stage2__epochs": 1}
    configs = [made(**own), made(**{**own, "shortlist__rows": "all"}, result_dir=f"{made().result_dir}_2")]
    weights = []
    for config in configs:
        run(config)
        weights.append(load_file(config.checkpoint_dir / "model.safetensors"))
    torch.testing.assert_close(*weights, rtol=1e-4, atol=1e-5)


@pytest.mark.integration
def test_a_run_touches_rows_and_goes_on_to_the_same_bytes(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """One document a batch and a shortlist of 3: the labels of a batch are fewer than all, so gradients are sparse."""
    own = {**TOUCHED, "shortlist__size": 3, "batch_size": 1, "stage1__epochs": 1, "stage2__epochs": 1}
    own["limit_train_batches"] = 60
    whole = made(**own, result_dir=f"{made().result_dir}_whole")
    sparse: list[bool] = []
    clip = stages.clip_norm

    def seen(parameters: list[nn.Parameter], most: float) -> Tensor:
        sparse.extend(one.grad.is_sparse for one in parameters if one.grad is not None and len(one) == LABELS)
        return clip(parameters, most)

    monkeypatch.setattr(stages, "clip_norm", seen)
    run(whole)
    assert sum(sparse) > 50
    config, loss, calls = made(**own, checkpoint_every="10"), Stage2.training_loss, []

    def stop(self: Stage2, batch: dict[str, Tensor]) -> Tensor:
        calls.append(1)
        if len(calls) == 47:
            raise Stopped("here")
        return loss(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Stage2, "training_loss", stop)
        with pytest.raises(Stopped):
            run(config)
    run(made(**own, checkpoint_every="10", resume="auto"))
    left, right = (load_file(one.checkpoint_dir / "model.safetensors") for one in (whole, config))
    assert [name for name in left if left[name].numpy().tobytes() != right[name].numpy().tobytes()] == []


@pytest.mark.parametrize("change", [{"optimizer": "sgd"}, {"model_name": "LAAT"}, {"devices": 2}], ids=str)
def test_what_cannot_touch_rows_is_refused(made: Made, change: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="only PLANT with Adam on one device can"):
        made(**TOUCHED, shortlist__size=3, **change)
