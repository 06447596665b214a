"""Runs of the first PLANT: ranker, thawing, rates of layers, and a kill in the middle of it."""

from __future__ import annotations

import itertools
import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from killed_runs import in_process, killed_at, same_weights
from made_up_task import made_config, write_splits

from plant_plugin import Predictor
from plant_plugin.config import Config
from plant_plugin.errors import ConfigError
from plant_plugin.l2r import ranker as ranker_module
from plant_plugin.l2r.ranker import LabelLists
from plant_plugin.model.label_profile import label_profile
from plant_plugin.networks.losses import attention_ndcg
from plant_plugin.training.resume import resume_newest
from plant_plugin.training.run import run
from plant_plugin.training.stage import learning_rate_factor
from plant_plugin.training.stage2 import Stage2

SIZES = {"embed_dim": 8, "hidden_size": 12, "num_layers": 2, "ranker_size": 8, "ranker_hidden": 8, "segment_tokens": 10,
         "inattention": 5}  # fmt: skip
RANKS = {"stage1__epochs": 12, "stage1__learning_rate": 0.03, "stage1__pairs": "top_vs_all", "stage1__batch_size": 4}


def over(folder: Path, **changes: Any) -> Config:
    given = {"model_name": "PLANTL2R", "network_config": SIZES, **RANKS, "stage2__hard_negatives": None,
             "stage2__loss": "bce", "optimizer": "adamw", "batch_size": 20}  # fmt: skip
    return made_config(folder, **{**given, **changes})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_splits(tmp_path)
    return tmp_path


def folder_of(config: Config) -> Path:
    return next(path for path in Path(config.result_dir).iterdir() if path.is_dir())


def test_the_ranker_learns_by_itself_and_can_be_looked_at(folder):
    config = over(folder, stage2__epochs=4, learning_rate=0.05)
    result = run(config)
    found = folder_of(config)
    reached = [epoch["ranker-nDCG@10"] for epoch in json.loads((found / "logs.json").read_text())["stage1"]]
    assert max(reached) > 2 * reached[0]
    assert result["metrics"]["nDCG@5"] > 0.8, "each label has its own words"
    model = Predictor.load(found, device="cpu")
    word = model.tokens.id_of["sign3x"]
    ranker = model.network.rankers()[0]
    attended = dict(label_profile(model, "L3", top=80).attended)
    assert attended["sign3x"] == pytest.approx(ranker(torch.tensor([word]))[0, model.column_of["L3"]].item(), abs=1e-5)


def test_both_directions_start_from_one_ranker_and_the_planted_weights_are_its_own(folder, monkeypatch):
    seen = {}

    def look(network: Any, inputs: Any, *others: Any) -> None:
        seen["rankers"] = [ranker.state_dict() for ranker in network.rankers()]
        batch = next(iter(inputs.batches("val", 4)))
        hidden = network.eval().encode(batch)
        labels = torch.arange(inputs.documents.num_labels).expand(4, -1)
        parts = network.heads[1].parts(network.members(hidden)[1][1], labels)
        scores = network.rankers()[0](batch["text"].flatten()).unflatten(0, batch["text"].shape).transpose(1, 2)
        padding = ~batch["mask"][:, None]
        kept = torch.stack(
            [one[:, real].topk(5).values[:, -1] for one, real in zip(scores, batch["mask"], strict=True)]
        )
        dropped = scores < kept[..., None]
        torch.testing.assert_close(
            parts["differentiable"], scores.masked_fill(dropped | padding, float("-inf")).softmax(dim=-1)
        )

    monkeypatch.setattr("plant_plugin.training.stage2.run_stage2", look)
    run(over(folder, network_config={**SIZES, "directions": "both"}))
    one, other = seen["rankers"]
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.integration
def test_a_run_that_is_killed_in_either_stage_ends_with_the_same_weights(folder):
    often = {"stage1__epochs": 3, "stage2__unfreeze_every": 1, "stage2__rate_decay": 2.6, "stage2__epochs": 2,
             "checkpoint_every": "2"}  # fmt: skip
    whole, cut = (over(folder, **often, result_dir=str(folder / name)) for name in ("whole", "cut"))
    run(whole)
    for owner, call in ((ranker_module.RankerStage, 5), (Stage2, 9)):
        config = resume_newest(replace(cut, resume="auto"))
        process = in_process(killed_at, config, owner, "training_step", call)
        process.join()
        assert process.exitcode == -signal.SIGKILL
    run(resume_newest(replace(cut, resume="auto")))
    same_weights(folder_of(whole), folder_of(cut))


def test_layers_thaw_from_the_top_and_what_is_frozen_does_not_move(folder, monkeypatch):
    seen: list[dict[str, Any]] = []
    thaw = Stage2._thaw

    def look(self: Stage2, **whole: bool) -> None:
        thaw(self, **whole)
        if whole or len(seen) > self.current_epoch:
            return
        stacks = self.network.backbone.layers()
        seen.append({
            "weights": [[one.detach().clone() for one in stack] for stack in stacks],
            "trains": [all(one.requires_grad for one in stack) for stack in stacks],
            "rates": {group["name"]: group["initial_lr"] for group in self.optimizers().param_groups},
        })  # fmt: skip

    monkeypatch.setattr(Stage2, "_thaw", look)
    config = over(folder, strategy="end_to_end", stage2__epochs=4, stage2__unfreeze_every=1, stage2__rate_decay=2.0,
                  learning_rate=0.04, weight_decay=0.1, stage2__planted_learning_rate=0.02, patience=9)  # fmt: skip
    run(config)
    assert [epoch["trains"] for epoch in seen] == [[False] * 3, [False, False, True], [False, True, True], [True] * 3]
    for before, after in itertools.pairwise(seen):
        for trains, old, new in zip(before["trains"], before["weights"], after["weights"], strict=True):
            assert trains != all(torch.equal(*pair) for pair in zip(old, new, strict=True))
    wanted = {"encoder_0": 0.005, "encoder_1": 0.01, "encoder_2": 0.02, "attention": 0.02, "rest": 0.04}
    assert seen[0]["rates"] == pytest.approx(wanted)


@pytest.mark.parametrize("encoder", ["cnn", "bigru"])
def test_other_encoders_thaw_too(folder, encoder):
    config = made_config(folder, network_config__encoder=encoder, stage2__unfreeze_every=1, stage2__rate_decay=2.6)
    assert run(config)["metrics"]["nDCG@5"] > 0


def test_a_frozen_encoder_costs_no_backward_pass(folder, monkeypatch):
    needed = []
    loss = Stage2.training_loss

    def look(self: Stage2, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        needed.append(self.network.encode(batch).states.requires_grad)
        return loss(self, batch)

    monkeypatch.setattr(Stage2, "training_loss", look)
    run(over(folder, strategy="end_to_end", stage2__epochs=2, stage2__unfreeze_every=1, batch_size=60))
    # the second is the largest batch, tried with all layers so that a lack of memory shows at once
    assert needed == [False, True, False, True, True]


def test_stage_1_without_a_ranker_is_told(folder):
    with pytest.raises(ConfigError, match=r"stage 1 trains the ranker(?s:.*)end_to_end"):
        run(over(folder, network_config={**SIZES, "differentiable": False}))


def test_lists_hold_the_most_relevant_words_and_drawn_ones():
    relevance = sp.random(9, 400, density=0.2, format="csr", random_state=0)
    relevance.data[relevance.indptr[4] : relevance.indptr[5]] = 0
    relevance.eliminate_zeros()
    words = np.arange(2, 400)
    lists = LabelLists(sp.csr_array(relevance), words, 4, seed=1, whole=False)
    first, second = ([*lists], [*lists])
    assert len(first) == len(lists) == 2
    assert sorted(torch.cat([batch["document"] for batch in first]).tolist()) == [0, 1, 2, 3, 5, 6, 7, 8]
    for batch, again in zip(first, second, strict=True):
        assert torch.equal(batch["text"], again["text"])
        for label, text, values in zip(batch["document"], batch["text"].numpy(), batch["relevance"], strict=True):
            row = relevance[[int(label)]].toarray()[0]
            assert set(np.flatnonzero(row)) <= set(text.tolist())
            np.testing.assert_array_equal(values, row[text])
    lists.set_epoch(1, start=1)
    assert len([*lists]) == 1
    assert not torch.equal(next(iter(lists))["text"], first[1]["text"])
    whole = next(iter(LabelLists(sp.csr_array(relevance), words, 4, seed=1, whole=True)))
    assert whole["text"].shape == (4, 398)
    perfect = whole["relevance"][:, None]
    assert attention_ndcg(perfect, perfect, torch.ones(4, 398, dtype=torch.bool), 10).min() == pytest.approx(1)


def test_a_cycle_climbs_and_falls():
    slanted = learning_rate_factor("slanted_triangular", 0.0, 100)
    # Howard and Ruder 2018, equation 3, with cut_frac 0.1 and ratio 32
    for step in (0, 4, 10, 55, 100):
        height = step / 10 if step < 10 else 1 - (step - 10) / (10 * (1 / 0.1 - 1))
        assert slanted(step) == pytest.approx((1 + height * 31) / 32)
    cycle = learning_rate_factor("one_cycle", 0.0, 100)
    assert [round(cycle(step), 4) for step in (0, 25, 100)] == [0.04, 1.0, 0.0]
    assert cycle(12) < cycle(13) < cycle(25) > cycle(26) > cycle(99)
