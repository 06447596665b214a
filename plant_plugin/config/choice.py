"""What ``choose: true`` decides: from counts of the data to the keys that a configuration leaves open.

Each rule is a function of :class:`Facts`, so that nothing but what stands there can decide, and says why in one line.
Its numbers are those of the packaged configurations that won on their data (benchmarks/FINDINGS.md, TRIALS.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from plant_plugin.config.options import EXACT_DOCUMENTS, MOST_EXACT
from plant_plugin.config.problems import Problems
from plant_plugin.config.sections import Settings
from plant_plugin.config.values import Keys, Value

SHORTEST, LONGEST = 128, 2500  # words read of a document: the least that is worth an encoder, and MIMIC's
STEP = 50  # lengths are multiples of it
MANY = 20_000  # documents; from here on EURLEX57K's configurations are followed, not EURLEX-6K's
LEARNING_RATE = 0.003
STEPS = 1500  # of stage 2, that EURLEX-6K's four epochs take
FEWEST_EPOCHS, MOST_EPOCHS = 3, 12
K, LEAST_K = 20, 5
HARD_NEGATIVES = 200
FEW_STEPS, INITIAL_LOGIT = 500, -1.5  # of stage 2, in which a bias does not come far; see plant_codiesp_text.yml
# What hundreds of documents without evidence are coded best with: planted_laat_bc5cdr.yml, planted_laat_codiesp.yml. Of
# fewer PLANT's own network learns more (200 made-up notes), of more nothing is known.
FEW, TOO_MANY = 400, 2000
LAAT: Keys = {"hidden_size": 128, "projection_size": 128, "embed_dim": 128, "planted_prior": "additive"}
LAAT_RATES, LAAT_EPOCHS = (0.01, 0.006), (6, 4)  # of both stages
FEW_TRUE = 0.15  # share of all labels that a document has, below the one in five that this logit stands for
LEAD = 40  # words
WORD_LETTERS = 6  # see plant_yso.yml
GAIN = 0.005  # of nDCG@5 on validation documents, above which an option is taken
# Pairs of label and word that an epoch of a network may read on a processor: five times EURLEX-6K's, which take two
# minutes. Beyond, planted scores propose labels, as for YSO.
MOST_PAIRS = 30e9
SHORTLIST = 100  # labels of a document that are proposed, see plant_yso.yml
MOST_WORDS = 12e6  # words of an epoch on a processor; EURLEX57K's are cut to 256 words a document
KERNEL_BYTES = 6  # for each pair of documents that ridge regression solves at once, its copies included
MANY_LABELS = 8  # a document, of which five ranks see too little
MEMORY_SHARE = 0.75  # of what is free
ENGLISH = "en"


@dataclass(frozen=True)
class Facts:
    """What is looked at. Counts are of the training file; paths are as a configuration would say them."""

    documents: int
    labels: int
    labels_per_document: float
    words: int  # of the median document
    long: int  # words that 99 of 100 documents do not exceed
    language: str = "unknown"  # of most documents, a code of two letters
    repeated: int = 0  # documents whose text stands before them already
    evidence: str | None = None  # file of marks beside the training file
    val_evidence: str | None = None
    names: str | None = None  # where names of the labels are known from: a file, icd9 or icd10
    has_validation: bool = False  # a file of its own
    scores: bool = True  # planted scores are wanted
    batch_size: int | None = None  # that is given
    network: bool = False  # which is open: it is that of plant.yml
    gpu: bool = False
    free_memory: int = 8 * 1024**3  # bytes
    lead_gain: float | None = None  # nDCG@5 on validation that `planted_scores.lead` adds; None: not tried
    letters_gain: float | None = None  # the same of `planted_scores.word_letters`
    mined_gain: float | None = None  # the same of `evidence.mine`


@dataclass(frozen=True)
class Choice:
    """Keys (dotted) with their values, and why; ``keys`` may be empty where only something is to be said."""

    keys: Mapping[str, Value]
    reason: str


def check_choose(settings: Settings, problems: Problems) -> None:
    """The rules begin with PLANT over words; what they take in its place they say."""
    if not settings.choose:
        if settings.minutes is not None:
            problems.add("minutes", "is for `choose: true`, which fits training into them", "leave it out, or choose")
        return
    if settings.linear or settings.model_name != "PLANT" or settings.network_config.get("lm_weight"):
        fix = "leave choose out; `plant list configurations` shows complete files, e.g. plant_minilm_eurlex6k.yml"
        problems.add("choose", "chooses for PLANT over words only", fix)


def choices(facts: Facts) -> list[Choice]:
    """What every rule chooses, in the order in which a configuration is written."""
    return [rule(facts) for rule in RULES]


def left_open(choice: Choice, given: Mapping[str, object]) -> Choice:
    """The choice without the keys that a user has given, also as a whole block or for both stages at once."""
    said = set(flat(given))
    keys = ("epochs", "patience", "batch_size", "learning_rate")
    both = {f"{stage}.{key}" for key in keys if key in said for stage in _STAGES}
    kept = {key: value for key, value in choice.keys.items() if key not in said | both}
    return Choice(kept, choice.reason)


def flat(given: Mapping[str, object], above: str = "") -> Iterator[str]:
    """The keys of a configuration, those of blocks with a dot."""
    for key, value in given.items():
        yield f"{above}{key}"
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{key}.")


def filled(given: Mapping[str, object], found: list[Choice]) -> Keys:
    """What was given with what was chosen: a configuration that needs no data to be looked at."""
    made: Keys = {key: dict(value) if isinstance(value, Mapping) else value for key, value in given.items()}
    for choice in found:
        for key, value in choice.keys.items():
            block, _, inner = key.rpartition(".")
            (made.setdefault(block, {}) if block else made)[inner] = value
    return made


_STAGES = ("stage1", "stage2")


def _length(facts: Facts) -> Choice:
    wanted = STEP * math.ceil(facts.long / STEP)
    room = LONGEST if facts.gpu else min(LONGEST, STEP * int(MOST_WORDS / facts.documents / STEP))
    chosen = max(SHORTEST, min(wanted, room))
    if chosen >= wanted:
        return Choice({"max_seq_length": chosen}, f"99 % of the documents have at most {facts.long:,} words")
    why = f"documents have up to {facts.long:,} words; more than this a processor would read for hours"
    return Choice({"max_seq_length": chosen}, why)


def _batches(facts: Facts) -> Choice:
    rate: Keys = {} if _takes_laat(facts) else {"learning_rate": LEARNING_RATE}
    if facts.documents >= MANY:
        why = f"{facts.documents:,} documents: larger, fewer steps"
        return Choice({"batch_size": 32, "min_vocab_freq": 3, **rate}, why)
    return Choice({"batch_size": 16, "min_vocab_freq": 2, **rate}, "words of a single document tell nothing of others")


def _strategy(facts: Facts) -> Choice:
    pairs = facts.documents * facts.labels * _length(facts).keys["max_seq_length"]
    if not facts.gpu and pairs > MOST_PAIRS and facts.scores:
        why = f"so many labels and words take hours on a processor; planted scores propose {SHORTLIST} a document"
        return Choice({"strategy": "plant", "shortlist.size": SHORTLIST}, why)
    if not facts.gpu and facts.documents >= MANY:
        return Choice({"strategy": "end_to_end"}, "beside planted scores and prior one stage is as good, and sooner")
    return Choice({"strategy": "plant"}, "attention learns to rank, then all is trained")


def _takes_laat(facts: Facts) -> bool:
    planted = _strategy(facts).keys
    in_two_stages = planted["strategy"] == "plant" and "shortlist.size" not in planted
    return facts.network and in_two_stages and FEW <= facts.documents <= TOO_MANY and not facts.evidence


def _network(facts: Facts) -> Choice:
    if not _takes_laat(facts):
        return Choice({}, "the network stays as it is given")
    why = f"{FEW} to {TOO_MANY:,} documents without evidence: planted, it is the best there"
    return Choice({"model_name": "LAAT", "network_config": dict(LAAT)}, why)  # more is filled into it


def _evidence(facts: Facts) -> Choice:
    if facts.evidence:
        keys: Keys = {"evidence.training_file": facts.evidence}
        if facts.val_evidence:
            keys["evidence.val_file"] = facts.val_evidence
        return Choice(keys, "it lies beside the documents: what coders marked is worth more than all else")
    if facts.mined_gain is None:
        return Choice({"evidence.mine": False}, "nobody marked words, and mined phrases are for few, short documents")
    gained = f"{100 * facts.mined_gain:+.1f} points of nDCG@5 for a linear model on validation documents"
    return Choice({"evidence.mine": facts.mined_gain > GAIN}, f"nobody marked words; mined phrases: {gained}")


def _stage1(facts: Facts) -> Choice:
    strategy = _strategy(facts).keys
    if strategy["strategy"] != "plant":
        return Choice({}, "there is none")
    k = max(LEAST_K, min(K, facts.words // 5))
    keys: Keys = {"stage1.k": k, "stage1.epochs": 1 if "shortlist.size" in strategy else 2}
    if _takes_laat(facts):
        keys |= {"stage1.epochs": LAAT_EPOCHS[0], "stage1.learning_rate": LAAT_RATES[0]}
    return Choice(keys, f"a typical document has {facts.words} words")


def _stage2(facts: Facts) -> Choice:
    steps = math.ceil(facts.documents / (facts.batch_size or int(_batches(facts).keys["batch_size"])))
    epochs = max(FEWEST_EPOCHS, min(MOST_EPOCHS, round(STEPS / steps)))
    why = f"{steps:,} steps an epoch, {STEPS:,} are enough; the best on validation counts"
    if facts.evidence or (facts.mined_gain or 0) > GAIN:  # phrases are sure from the first step on
        epochs, why = 3 if facts.evidence else 4, "phrases know most already; the best on validation counts"
    elif _takes_laat(facts):
        epochs, why = LAAT_EPOCHS[1], "at a higher rate few are enough; the best on validation counts"
    negatives = None if facts.labels <= HARD_NEGATIVES else HARD_NEGATIVES
    if "shortlist.size" in _strategy(facts).keys:
        epochs, negatives, why = 2, None, "all that is proposed is learned from; the best on validation counts"
    keys: Keys = {"stage2.epochs": epochs, "patience": max(3, epochs // 2), "stage2.hard_negatives": negatives}
    if _takes_laat(facts):
        keys["stage2.learning_rate"] = LAAT_RATES[1]
    few_true = facts.labels_per_document <= FEW_TRUE * facts.labels
    if epochs * steps < FEW_STEPS and few_true and not facts.evidence:  # with evidence validation gained nothing
        keys["network_config.initial_logit"] = INITIAL_LOGIT
        why += f"; labels start at {INITIAL_LOGIT}, as few are true and {epochs * steps} steps teach that slowly"
    return Choice(keys, why)


def _planted_scores(facts: Facts) -> Choice:
    keys: Keys = {}
    why = []
    if facts.names in ("icd9", "icd10"):
        keys["planted_scores.names"] = facts.names
        why.append("labels are ICD codes, texts English")
    elif facts.names:
        why.append("names of labels lie beside the documents")
    keys["planted_scores.lead"] = LEAD if (facts.lead_gain or 0) > GAIN else 0
    if facts.lead_gain is None:
        known = "evidence says where to look" if facts.evidence else "not tried on so few documents"
        why.append(f"{known}, so no word counts by its place")
    else:
        gained = f"{100 * facts.lead_gain:+.1f} points of nDCG@5"
        why.append(f"first {LEAD} words counted more: {gained} for a linear model on validation documents")
    if facts.letters_gain is not None:
        keys["planted_scores.word_letters"] = WORD_LETTERS if facts.letters_gain > GAIN else None
        why.append(f"the first {WORD_LETTERS} letters of words too: {100 * facts.letters_gain:+.1f}")
    if facts.documents >= MANY:
        keys["planted_scores.top"] = 10_000
    if facts.documents > EXACT_DOCUMENTS:
        kernel = KERNEL_BYTES * facts.documents**2
        fits = facts.documents <= MOST_EXACT and kernel <= MEMORY_SHARE * facts.free_memory
        keys["planted_scores.model"] = "ridge" if fits else "label_ridge"
        why.append("all documents are solved at once" if fits else "so many documents are solved label by label")
    return Choice(keys, "; ".join(why))


def _validation(facts: Facts) -> Choice:
    keys: Keys = {}
    again = facts.documents < MANY / 4
    why = "its file chooses weights and thresholds"
    if not facts.has_validation:
        keys["val_size"] = 0.05 if facts.documents >= MANY else 0.1 if facts.documents >= 1000 else 0.2
        why = f"{keys['val_size']:.0%} of the training documents choose weights and thresholds"
    keys["refit"] = "train+val" if again else "none"
    k = min(5, facts.labels - 1)  # a rank that is not all labels
    ranks = ["MAP", f"nDCG@{k}", *(f"P@{rank}" for rank in sorted({1, k}))] if k else []
    keys["val_metric"] = "Micro-F1" if not k else "MAP" if facts.labels_per_document > MANY_LABELS else f"nDCG@{k}"
    keys["monitor_metrics"] = [*ranks, "Micro-F1", "Macro-F1"]
    why += ", then they are trained on too" if again else "; training again with them would take as long"
    return Choice(keys, f"{why}; {facts.labels_per_document:.1f} labels a document")


RULES: tuple[Callable[[Facts], Choice], ...] = (
    _network, _length, _batches, _strategy, _evidence, _stage1, _stage2, _planted_scores, _validation,
)  # fmt: skip
