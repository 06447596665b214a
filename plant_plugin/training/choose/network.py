"""Whether a network is trained and how long: on few documents of many labels none, and none beyond its minutes.

Of 100 documents with 1.0 to 1.7 documents a label (CodiEsp in both languages, BC5CDR, YSO, EURLEX-6K) no network was
better on validation documents; of made-up notes with 9.6 a label it was, by 12.9 points of nDCG@5.
"""

from __future__ import annotations

import time
from dataclasses import replace

from plant_plugin.config.options import PLANTED_SCORES
from plant_plugin.config.sections import Settings
from plant_plugin.config.values import Keys
from plant_plugin.training.choose.decisions import Decision, Facts

MOST_DOCUMENTS, MOST_OF_A_LABEL = 100, 2.0

MINUTE = 60.0
FOR_EPOCHS = 0.5  # share of a budget; the rest reads, solves the linear model, validates and tests
SHORTENED = 250, 128  # words: what is tried first, and the shortest that a budget leaves


def without_network(decisions: list[Decision], facts: Facts, user_keys: set[str]) -> list[Decision]:
    """Return decisions for planted scores alone where documents are few, unless the user asks for a network."""
    of_a_label = facts.documents * facts.labels_per_document / facts.labels
    few = facts.documents <= MOST_DOCUMENTS and of_a_label <= MOST_OF_A_LABEL and facts.scores and facts.network
    of_stages = {key for one in decisions for key in one.keys if key.startswith("stage")}
    if not few or of_stages & user_keys:
        return decisions
    why = f"a network learns nothing more of {facts.documents} documents, {of_a_label:.1f} a label"
    others = [one for one in decisions if of_stages.isdisjoint(one.keys) and "strategy" not in one.keys]
    return [Decision({"strategy": PLANTED_SCORES}, f"{why}; `--strategy plant` trains one"), *others]


def fit_into(minutes: float, config: Settings, facts: Facts, started: float) -> Decision:
    """Choose epochs, length or strategy with which training ends in about so many minutes.

    The time since ``started``, in which the data were looked at and steps are timed, is taken from them. First the
    second stage gets fewer epochs, then documents are read less far, then no network is trained.
    """
    if config.strategy == PLANTED_SCORES:
        return Decision({}, "")
    stage2 = replace(config.stage2, epochs=config.stage2.epochs or None)  # without epochs it would not be measured
    from plant_plugin.training.pace import measure  # Lightning, which nothing without a network needs

    stages = measure(replace(config, stage2=stage2)).stages
    epoch1, epoch2 = (stages[name].training_seconds if name in stages else 0.0 for name in ("stage1", "stage2"))
    left = MINUTE * minutes - (time.perf_counter() - started)
    room = max(0.0, left) * FOR_EPOCHS / (2 if config.refit != "none" else 1)
    epochs = [config.epochs if stage.epochs is None else stage.epochs for stage in (config.stage1, config.stage2)]
    ranked, wanted = 0 if config.strategy == "end_to_end" else epochs[0], max(1, epochs[1])
    length, words = config.max_seq_length or facts.long, max(1, facts.words)  # 0: most documents hold only numbers
    for shorter in (length, *(short for short in SHORTENED if short < length)):
        share = min(1.0, min(shorter, words) / min(length, words))  # a step takes as long as its words
        first, second = share * epoch1, share * epoch2
        for epochs1 in range(ranked, -1, -1):
            epochs2 = min(wanted, int((room - epochs1 * first) / second))
            if epochs2 >= min(wanted, max(1, epochs1)):  # a shortened second stage is no shorter than the first
                keys: Keys = {"stage1.epochs": epochs1, "max_seq_length": shorter, "stage2.epochs": epochs2}
                why = f"an epoch takes {first:.0f} and {second:.0f} seconds"
                return Decision(keys, f"{why}; {left / MINUTE:.1f} of {minutes:g} minutes are left")
    return Decision({"strategy": PLANTED_SCORES}, f"an epoch of the network does not fit into {minutes:g} minutes")
