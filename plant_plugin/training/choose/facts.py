"""Look at the data of a configuration: counts, language, and what lies beside the training file.

Only training and validation documents are read. What has no rule is tried: a linear model with and without an option,
on validation documents, says whether the option pays.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import scipy.sparse as sp

from plant_plugin.config.options import NO_NAMES, EvidenceOptions
from plant_plugin.config.rules import is_plant_over_words
from plant_plugin.config.sections import Settings
from plant_plugin.config.values import Keys
from plant_plugin.data.documents import DEMO_PREFIX, Corpus, load_corpus
from plant_plugin.data.evidence import evidence_beside
from plant_plugin.data.label_names import label_name_rows, label_names
from plant_plugin.data.names_beside import names_beside
from plant_plugin.data.text import OPENERS, packed, plain_name
from plant_plugin.data.words import NO_NUMBER, lengths_of
from plant_plugin.report.machine import free_and_total_memory
from plant_plugin.training.choose.decisions import LEAD, MANY, REFITTED, WORD_LETTERS, Facts
from plant_plugin.training.choose.trials import Trial
from plant_plugin.training.devices import device_of

LONG = 0.99  # the share of documents that `Facts.long` covers
LOOKED_AT = 500  # documents and labels by which language and kind of codes are known
# Words of nearly every sentence of a language and are rare in the others.
COMMON = {
    "en": "the of and with was for is by that from", "es": "el los las con una por del que se fue",
    "de": "der die und mit ist von den nicht eine wurde", "fr": "le les des est une du avec dans pour par",
    "pt": "o os das com uma não por do ao foi", "it": "il di che con una per della è gli nel",
    "nl": "het een van met is voor niet zijn bij wordt", "fi": "ja on ei se että oli sekä tai myös kun",
}  # fmt: skip
ENGLISH = "en"
ICD10 = re.compile(r"[A-Za-z]\d[0-9A-Za-z](\.[0-9A-Za-z]{1,4})?")
MOST_LABELS = 0.8  # share of the labels that have to be codes
MINED_FROM = 1_000_000  # words, up to which phrases are mined at all: every run of words is counted in memory
MOST_NAMES = 200_000  # that are tried: more take hours, or the memory of many machines
NAMES_MINUTES = 10.0  # of a budget, below which none are tried
LEAST_VALIDATION = 20  # documents, for a trial to say anything


def look(config: Settings, user_keys: set[str], *, network: bool) -> Facts:
    """Return the facts of what a configuration, with ``val_file`` where there is one, would train on.

    Args:
        config: What is given, and defaults.
        user_keys: The keys (dotted) that the user gives, which need no trial.
        network: Whether the network is open.
    """
    corpus = load_corpus(replace(config, test_file=None, include_test_labels=False, evidence=EvidenceOptions()))
    splits = [corpus.train] if corpus.val is None or config.val_file is not None else [corpus.train, corpus.val]
    texts = [text for split in splits for text in split.texts]
    lengths = sorted(lengths_of(texts))
    language = language_of(texts)
    scores_wanted = is_plant_over_words(config) and config.planted_scores.model != "none"
    evidence = (config.evidence.training_file or _evidence_of(config.training_file)) if scores_wanted else None
    names, in_haste = _names(config, corpus, language), config.minutes is not None and config.minutes < NAMES_MINUTES
    truth = sp.vstack([corpus.label_matrix(split) for split in splits])  # with label_file of its labels only
    facts = Facts(
        documents=len(texts),
        labels=max(1, int(np.count_nonzero(truth.sum(axis=0)))),
        labels_per_document=truth.nnz / len(texts),
        words=int(median(lengths)),
        long=max(1, lengths[min(len(lengths) - 1, math.ceil(LONG * len(lengths)))]),
        language=language,
        evidence=evidence,
        val_evidence=(config.evidence.val_file or _evidence_of(config.val_file)) if evidence else None,
        names=names,
        named=0 if in_haste else _named(names, corpus, len(texts)),
        has_validation=config.val_file is not None,
        scores=scores_wanted,
        batch_size=config.batch_size if "batch_size" in user_keys else None,
        network=network,
        gpu=device_of(config).type == "cuda",
        free_memory=free_and_total_memory()[0],
    )
    if evidence or not scores_wanted or corpus.val is None or len(corpus.val) < LEAST_VALIDATION:
        return facts
    options = config.planted_scores
    trial, letters = Trial(corpus, corpus.val, options), replace(options, word_letters=WORD_LETTERS)
    return replace(
        facts,
        lead=None if "planted_scores.lead" in user_keys else trial.gain(replace(options, lead=LEAD)),
        letters=None if "planted_scores.word_letters" in user_keys else trial.gain(letters),
        mined=None if "evidence.mine" in user_keys or sum(lengths) > MINED_FROM else trial.mined(),
        more=None if not REFITTED <= len(texts) < MANY else trial.more(),
    )


def beside(training_file: str) -> Keys:
    """Return a name for the data, and of a file called ``train`` the validation and test files beside it."""
    if training_file.startswith(DEMO_PREFIX):
        return {"data_name": "demo"}
    path = Path(training_file)
    plain = plain_name(path)
    if plain.stem != "train":
        return {"data_name": plain.stem}
    keys: Keys = {"data_name": path.resolve().parent.name or "train"}
    for key, names in {"val_file": ("valid", "validation", "val", "dev"), "test_file": ("test",)}.items():
        ends = (plain.suffix, *(plain.suffix + end for end in OPENERS))
        files = (path.with_name(name + end) for name in names for end in ends)
        if file := next((file for file in files if file.exists()), None):
            keys[key] = str(file)
    return keys


def _evidence_of(source: str | None) -> str | None:
    if source is None or source.startswith(DEMO_PREFIX):
        return None
    path = packed(evidence_beside(Path(source)))
    return None if path is None else str(path)


def language_of(texts: Sequence[str]) -> str:
    """Return the language whose commonest words most texts hold most of; ``unknown`` where they hold hardly any."""
    commons = {code: frozenset(words.split()) for code, words in COMMON.items()}
    votes: Counter[str] = Counter()
    for text in texts[:: max(1, len(texts) // LOOKED_AT)]:
        words = Counter(NO_NUMBER.findall(text.lower()))
        counts = {code: sum(words[word] for word in common) for code, common in commons.items()}
        best = max(counts, key=counts.__getitem__)
        votes[best if counts[best] * 50 >= sum(words.values()) else "unknown"] += 1
    return votes.most_common(1)[0][0]


def _names(config: Settings, corpus: Corpus, language: str) -> str | None:
    """Return where names of labels are known from; English ones of ICD-10-CM only beside English texts."""
    if config.planted_scores.names == NO_NAMES:
        return None
    if path := names_beside(config):
        return str(path)
    labels = corpus.label_names[:: max(1, len(corpus.label_names) // LOOKED_AT)]
    if language != ENGLISH or sum(bool(ICD10.fullmatch(label)) for label in labels) < MOST_LABELS * len(labels):
        return None
    known = label_names(["icd10"])
    return "icd10" if sum(known(label) is not None for label in labels) >= MOST_LABELS * len(labels) else None


def _named(names: str | None, corpus: Corpus, documents: int) -> int:
    """Count the labels of which only a name is known, unless there are too many of them or of documents to try."""
    if names is None or documents > MANY:
        return 0
    rows = label_name_rows([names], corpus.label_names)
    named = len({row.label for row in rows}.difference(corpus.label_names))
    return named if len(rows) <= MOST_NAMES else 0
