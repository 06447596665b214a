"""Decide for ``choose: true``: from facts of the data to the keys that a configuration leaves open.

Each decision is computed once, from facts and from what was decided before, and says why in one line. The numbers of
the rules are those of the packaged configurations that won on their data (benchmarks/FINDINGS.md, TRIALS.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from plant_plugin.config.options import AUTO, EXACT_DOCUMENTS, MOST_EXACT
from plant_plugin.config.values import Keys
from plant_plugin.evaluation.verdict import Comparison
from plant_plugin.report.gain import spelled

SHORTEST, LONGEST = 128, 2500  # words read of a document: the least that is worth an encoder, and MIMIC's
STEP = 50  # lengths are multiples of it
MANY = 20_000  # documents; from here on EURLEX57K's configurations are followed, not EURLEX-6K's
REFITTED = 5000  # documents, up to which training is always done again with those of validation
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
BEFORE_LAAT = {"strategy", "evidence.training_file", "shortlist.size"}  # keys that its network would not go with
# What is decided for every network, under the keys of ours; the rest is for PLANT over words.
OURS_ONLY = {"stage1.epochs", "val_metric", "monitor_metrics"}  # but for these, of LibMultiLabel's networks
FOR_WORDS = {"max_seq_length", "min_vocab_freq"}
SIZES = {"stage2.epochs", "val_size", "refit"} | OURS_ONLY | FOR_WORDS
FEW_TRUE = 0.15  # share of all labels that a document has, below the one in five that this logit means
LEAD = 40  # words
WORD_LETTERS = 6  # see plant_yso.yml
# Pairs of label and word that an epoch of a network may read on a processor: five times EURLEX-6K's, which take two
# minutes. Beyond, planted scores propose labels, as for YSO.
MOST_PAIRS = 30e9
SHORTLIST = 100  # labels of a document that are proposed, see plant_yso.yml
MOST_WORDS = 12e6  # words of an epoch on a processor; EURLEX57K's are cut to 256 words a document
KERNEL_BYTES = 6  # for each pair of documents that ridge regression solves at once, its copies included
MANY_LABELS = 8  # a document, of which five ranks see too little
MEMORY_SHARE = 0.75  # of what is free


@dataclass(frozen=True)
class Facts:
    """Counts of the training file and what lies beside it; paths are as a configuration would write them."""

    documents: int
    labels: int
    labels_per_document: float
    words: int  # of the median document
    long: int  # words that 99 of 100 documents do not exceed
    language: str = "unknown"  # of most documents, a code of two letters
    evidence: str | None = None  # file of marks beside the training file
    val_evidence: str | None = None
    names: str | None = None  # where names of the labels are known from: a file, icd9 or icd10
    has_validation: bool = False  # a file of its own
    scores: bool = True  # planted scores are wanted
    batch_size: int | None = None  # that the user gives
    network: bool = False  # which is open: it is that of plant.yml
    gpu: bool = False
    free_memory: int = 8 * 1024**3  # bytes
    named: int = 0  # labels of which only a name is known, and which are to be tried
    lead: Comparison | None = None  # what `planted_scores.lead` gains of nDCG@5 on validation; None: not tried
    letters: Comparison | None = None  # the same of `planted_scores.word_letters`
    mined: Comparison | None = None  # the same of `evidence.mine`
    more: Comparison | None = None  # the same of training on as many documents more as validation has

    @property
    def marks(self) -> bool:
        """Tell whether there are phrases, marked or mined."""
        return bool(self.evidence) or pays(self.mined)


def pays(gain: Comparison | None) -> bool:
    """Tell whether an option was tried and found better: the interval of its gain lies above 0."""
    return gain is not None and gain.low > 0


@dataclass(frozen=True)
class Decision:
    """Keys (dotted) with their values, and why; ``keys`` may be empty where there is only something to say."""

    keys: Keys
    reason: str


def decide(facts: Facts) -> list[Decision]:
    """Decide everything, in the order in which a configuration is written; values that others need come first."""
    wanted = STEP * math.ceil(facts.long / STEP)
    room = LONGEST if facts.gpu else min(LONGEST, STEP * int(MOST_WORDS / facts.documents / STEP))
    length = max(SHORTEST, min(wanted, room))
    batch_size = 32 if facts.documents >= MANY else 16
    pairs = facts.documents * facts.labels * length
    proposed = not facts.gpu and facts.scores and pairs > MOST_PAIRS
    one_stage = not facts.gpu and not proposed and facts.documents >= MANY
    fits_laat = FEW <= facts.documents <= TOO_MANY and not facts.evidence
    laat = facts.network and fits_laat and not proposed and not one_stage
    return [
        _network(laat),
        _length(length, length < wanted, facts),
        _batches(batch_size, laat, facts),
        _strategy(proposed, one_stage, facts),
        _labels(facts),
        _evidence(facts),
        _stage1(proposed, one_stage, laat, facts),
        _stage2(facts.batch_size or batch_size, proposed, laat, facts),
        _planted_scores(facts),
        _validation(facts),
    ]


def _network(laat: bool) -> Decision:
    if not laat:
        return Decision({}, "the network stays as it is given")
    why = f"{FEW} to {TOO_MANY:,} documents without evidence: planted, it is the best there"
    return Decision({"model_name": "LAAT", "network_config": dict(LAAT)}, why)


def _length(length: int, is_cut: bool, facts: Facts) -> Decision:
    why = f"99 % of the documents have at most {facts.long:,} words"
    if is_cut:
        why = f"documents have up to {facts.long:,} words; more than this a processor would read for hours"
    return Decision({"max_seq_length": length}, why)


def _batches(batch_size: int, laat: bool, facts: Facts) -> Decision:
    keys: Keys = {"batch_size": batch_size, "min_vocab_freq": 2}
    why = "words of a single document say nothing of others"
    if facts.documents >= MANY:
        keys["min_vocab_freq"] = 3
        why = f"{facts.documents:,} documents: larger, fewer steps"
    if not laat:  # which has a rate for each stage
        keys["learning_rate"] = LEARNING_RATE
    return Decision(keys, why)


def _strategy(proposed: bool, one_stage: bool, facts: Facts) -> Decision:
    keys: Keys = {"strategy": AUTO if facts.scores else "plant"}
    why = "attention learns to rank, then all is trained"
    if proposed:
        keys["shortlist.size"] = SHORTLIST
        why = f"so many labels and words take hours on a processor; planted scores propose {SHORTLIST} a document"
    if one_stage:
        keys["stage1.epochs"] = 0
        why = "beside planted scores and prior one stage is as good, and sooner"
    return Decision(keys, why + "; the network stays if it is better than planted scores alone" * facts.scores)


def _labels(facts: Facts) -> Decision:
    if not facts.named:
        return Decision({}, "no names say more labels, or there are too many of them")
    why = f"{facts.named:,} labels have only a name; they are listed too if that is better"
    return Decision({"label_set": AUTO}, why)


def _evidence(facts: Facts) -> Decision:
    if facts.evidence:
        keys: Keys = {"evidence.training_file": facts.evidence}
        if facts.val_evidence:
            keys["evidence.val_file"] = facts.val_evidence
        return Decision(keys, "it lies beside the documents: what coders marked is worth more than all else")
    if facts.mined is None:
        return Decision({"evidence.mine": False}, "nobody marked words, and to mine phrases takes few words")
    gained = f"{spelled(facts.mined)} points of nDCG@5 for a linear model on validation documents"
    return Decision({"evidence.mine": pays(facts.mined)}, f"nobody marked words; mined phrases: {gained}")


def _stage1(proposed: bool, one_stage: bool, laat: bool, facts: Facts) -> Decision:
    if one_stage:
        return Decision({}, "there is none")
    keys: Keys = {"stage1.k": max(LEAST_K, min(K, facts.words // 5)), "stage1.epochs": 1 if proposed else 2}
    if laat:
        keys |= {"stage1.epochs": LAAT_EPOCHS[0], "stage1.learning_rate": LAAT_RATES[0]}
    return Decision(keys, f"a typical document has {facts.words} words")


def _stage2(batch_size: int, proposed: bool, laat: bool, facts: Facts) -> Decision:
    steps = math.ceil(facts.documents / batch_size)
    negatives = None if proposed or facts.labels <= HARD_NEGATIVES else HARD_NEGATIVES
    if proposed:
        epochs, why = 2, "all that is proposed is learned from"
    elif facts.marks:  # phrases are sure from the first step on
        epochs, why = 3 if facts.evidence else 4, "phrases know most already"
    elif laat:
        epochs, why = LAAT_EPOCHS[1], "at a higher rate few are enough"
    else:
        epochs = max(FEWEST_EPOCHS, min(MOST_EPOCHS, round(STEPS / steps)))
        why = f"an epoch has steps: {steps:,}; {STEPS:,} are enough"
    why += "; the best on validation counts"
    keys: Keys = {"stage2.epochs": epochs, "patience": max(3, epochs // 2), "stage2.hard_negatives": negatives}
    if laat:
        keys["stage2.learning_rate"] = LAAT_RATES[1]
    few_true = facts.labels_per_document <= FEW_TRUE * facts.labels
    if epochs * steps < FEW_STEPS and few_true and not facts.evidence:  # with evidence validation gained nothing
        keys["network_config.initial_logit"] = INITIAL_LOGIT
        why += f"; labels start at {INITIAL_LOGIT}, as few are true and {epochs * steps} steps teach that slowly"
    return Decision(keys, why)


def _planted_scores(facts: Facts) -> Decision:
    keys: Keys = {}
    why = []
    if facts.names in ("icd9", "icd10"):
        keys["planted_scores.names"] = facts.names
        why.append("labels are ICD codes, texts English")
    elif facts.names:
        why.append("names of labels lie beside the documents")
    keys["planted_scores.lead"] = LEAD if pays(facts.lead) else 0
    if facts.lead is None:
        known = "evidence says where to look" if facts.evidence else "not tried on so few documents"
        why.append(f"{known}, so no word counts by its place")
    else:
        gained = f"{spelled(facts.lead)} points of nDCG@5"
        why.append(f"first {LEAD} words counted more: {gained} for a linear model on validation documents")
    if facts.letters is not None:
        keys["planted_scores.word_letters"] = WORD_LETTERS if pays(facts.letters) else None
        why.append(f"the first {WORD_LETTERS} letters of words too: {spelled(facts.letters)}")
    if facts.documents >= MANY:
        keys["planted_scores.top"] = 10_000
    if facts.documents > EXACT_DOCUMENTS:
        kernel = KERNEL_BYTES * facts.documents**2
        fits = facts.documents <= MOST_EXACT and kernel <= MEMORY_SHARE * facts.free_memory
        keys["planted_scores.model"] = "ridge" if fits else "label_ridge"
        why.append("all documents are solved at once" if fits else "so many documents are solved label by label")
    return Decision(keys, "; ".join(why))


def _validation(facts: Facts) -> Decision:
    keys: Keys = {}
    again = facts.documents < REFITTED or pays(facts.more)
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
    if facts.more is not None:
        why += f": {spelled(facts.more)} points of nDCG@5 for a linear model"
    return Decision(keys, f"{why}; {facts.labels_per_document:.1f} labels a document")
