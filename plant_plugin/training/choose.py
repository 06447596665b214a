"""``choose: true``: look at the data, let the rules of :mod:`plant_plugin.config.choice` decide, say and write it down.

Only training and validation documents are looked at. What has no rule is tried: a linear model with and without an
option, on validation documents.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median

import numpy as np
import scipy.sparse as sp
import yaml

from plant_plugin.config import Config
from plant_plugin.config.choice import (
    ENGLISH,
    LEAD,
    WORD_LETTERS,
    Choice,
    Facts,
    choices,
    filled,
    flat,
    left_open,
)
from plant_plugin.config.load import checked_config
from plant_plugin.config.methods import read_configuration
from plant_plugin.config.options import (
    AUTO,
    NO_NAMES,
    PLANTED_SCORES,
    EvidenceOptions,
    PlantedScoresOptions,
)
from plant_plugin.config.problems import Problems
from plant_plugin.config.sections import BLOCKS
from plant_plugin.config.values import Keys, Value
from plant_plugin.data.documents import DEMO_PREFIX, Corpus, Split, load_corpus
from plant_plugin.data.evidence import evidence_beside
from plant_plugin.data.label_names import label_names, names_beside
from plant_plugin.data.text import OPENERS, packed, plain_name
from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.relevance.linear import LinearModel
from plant_plugin.relevance.mined_phrases import MinedPhrases
from plant_plugin.report.machine import free_and_total_memory
from plant_plugin.report.run_folder import SETTLED
from plant_plugin.training.devices import device_of
from plant_plugin.training.inputs import Floats
from plant_plugin.training.pace import measure
from plant_plugin.training.weights import LINEAR_WEIGHTS, blocks

WORD = re.compile(r"\w*[^\W\d]\w*")  # no pure numbers: what a network reads
NETWORK = "model_name", "network_config"
LONG = 0.99  # the share of documents that `Facts.long` covers
LOOKED_AT = 500  # documents and labels by which language and kind of codes are known
# Words that stand in nearly every sentence of a language and are rare in the others.
COMMON = {
    "en": "the of and with was for is by that from", "es": "el los las con una por del que se fue",
    "de": "der die und mit ist von den nicht eine wurde", "fr": "le les des est une du avec dans pour par",
    "pt": "o os das com uma não por do ao foi", "it": "il di che con una per della è gli nel",
    "nl": "het een van met is voor niet zijn bij wordt", "fi": "ja on ei se että oli sekä tai myös kun",
}  # fmt: skip
ICD10 = re.compile(r"[A-Za-z]\d[0-9A-Za-z](\.[0-9A-Za-z]{1,4})?")
MOST_LABELS = 0.8  # share of the labels that have to be codes
TRIED, TRIED_ON = 4000, 1000  # training and validation documents of a trial at most
MINED_FROM = 2500  # documents, up to which phrases are mined at all: every run of words is counted in memory
REPEATED = 0.01  # share of the texts that may stand there again and nothing is said
LEAST_VALIDATION = 20  # documents, for a trial to say anything
MINUTE = 60.0
FOR_EPOCHS = 0.5  # share of a budget; the rest reads, solves the linear model, validates and tests
SHORTENED = 128, 250  # words: the shortest that a budget leaves, and what is tried first


def settle(config: Config) -> Config:
    """The configuration that says what ``config`` leaves to the data, with its file's content as ``settled``.

    Raises:
        ConfigError: What was given does not go with what is chosen.
        DataError: The files cannot be used.
    """
    if config.eval:
        what, fix = "a trained model has its own keys", f"name {SETTLED} of its run: --config RUN_FOLDER/{SETTLED}"
        raise ConfigError(what, where="choose", fix=fix)
    started = time.perf_counter()
    given = {key: value for key, value in config.given.items() if key not in ("choose", "minutes", "resume")}
    given |= {key: value for key, value in _beside(config).items() if key not in given}
    facts = look(replace(config, val_file=given.get("val_file")), given)
    chosen = choices(facts)
    if any("model_name" in choice.keys for choice in chosen):  # in the place of plant.yml's
        given = {key: value for key, value in given.items() if key not in NETWORK}
    found = [left_open(choice, given) for choice in chosen]
    settled = _checked(filled(given, found), config)
    if config.minutes:
        within = left_open(_within(config.minutes, settled, facts, started), given)
        found = [*(left_open(choice, filled({}, [within])) for choice in found), within]
        settled = _checked(filled(given, found), config)
    if not config.silent:
        print("\n".join(told(facts, found)), file=sys.stderr, flush=True)
    return replace(settled, settled=written(settled, filled(given, found), facts, found))


def told(facts: Facts, found: Iterable[Choice]) -> list[str]:
    """At most ten lines: what was looked at, and what was chosen why."""
    marked = "evidence" if facts.evidence else "no evidence"
    seen = f"{facts.documents:,} documents in {facts.language}, {facts.labels:,} labels, {marked}"
    if facts.repeated > REPEATED * facts.documents:
        seen += f"; {facts.repeated:,} texts stand there again, so validation is too good: remove them"
    lines = [f"{seen}; chosen ({SETTLED} of the run's folder):"]
    for choice in found:
        shown = {key: value for key, value in choice.keys.items() if key != "monitor_metrics"}
        keys = ", ".join(f"{key} {_spelled(value)}" for key, value in shown.items())
        if keys:
            lines.append(f"  {keys}: {choice.reason}")
    return lines


def written(config: Config, values: Mapping[str, Value], facts: Facts, found: Iterable[Choice]) -> str:
    """The settled configuration as a YAML file, which needs no data to be looked at."""
    known = config.as_dict()
    content: Keys = {}
    for key, value in values.items():
        whole = key in BLOCKS and isinstance(value, Mapping)
        content[key] = {inner: known[key][inner] for inner in value} if whole else known[key]
    head = ["libmultilabel --config FILE", "", *told(facts, found)]
    comment = "".join(f"# {line}\n" if line else "#\n" for line in head)
    return f"{comment}\n{yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000)}"


def _spelled(value: object) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("\n").removesuffix("\n...")


def _checked(values: Keys, config: Config) -> Config:
    made = checked_config(values, Problems(config.config_path))
    made = replace(made, resume=config.resume, trust_code=config.trust_code)
    return made if config.resume is None or config.resume == AUTO else made.resumed(Path(config.resume))


def _beside(config: Config) -> Keys:
    """A name for the data; of a file called ``train`` the validation and test files beside it, if none is given."""
    source = str(config.training_file)
    if source.startswith(DEMO_PREFIX):
        return {"data_name": "demo"}
    path = Path(source)
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


def look(config: Config, given: Mapping[str, object]) -> Facts:
    """The facts of what a configuration, with ``val_file`` where there is one, would train on."""
    corpus = load_corpus(replace(config, test_file=None, include_test_labels=False, evidence=EvidenceOptions()))
    splits = [corpus.train] if corpus.val is None or config.val_file is not None else [corpus.train, corpus.val]
    texts = [text for split in splits for text in split.texts]
    lengths = sorted(len(WORD.findall(text)) for text in texts)
    language = language_of(texts)
    scores_wanted = config.planted_scores.model != "none"
    evidence = (config.evidence.training_file or _evidence_of(config.training_file)) if scores_wanted else None
    said = set(flat(given))
    batch = config.stage2.batch_size or (config.batch_size if "batch_size" in said else None)
    truth = sp.vstack([corpus.label_matrix(split) for split in splits])  # with label_file of its labels alone
    facts = Facts(
        documents=len(texts),
        labels=max(1, int(np.count_nonzero(truth.sum(axis=0)))),
        labels_per_document=truth.nnz / len(texts),
        words=int(median(lengths)),
        long=max(1, lengths[min(len(lengths) - 1, math.ceil(LONG * len(lengths)))]),
        language=language,
        repeated=len(texts) - len(set(texts)),
        evidence=evidence,
        val_evidence=(config.evidence.val_file or _evidence_of(config.val_file)) if evidence else None,
        names=_names(config, corpus, language),
        has_validation=config.val_file is not None,
        scores=scores_wanted,
        batch_size=batch,
        network=_is_open(given),
        gpu=device_of(config.cpu).type == "cuda",
        free_memory=free_and_total_memory()[0],
    )
    if evidence or not scores_wanted or corpus.val is None or len(corpus.val) < LEAST_VALIDATION:
        return facts
    options = config.planted_scores
    trial, letters = Trial.of(corpus, options), replace(options, word_letters=WORD_LETTERS)
    return replace(
        facts,
        lead_gain=None if "planted_scores.lead" in said else trial.gain(replace(options, lead=LEAD)),
        letters_gain=None if "planted_scores.word_letters" in said else trial.gain(letters),
        mined_gain=None if "evidence.mine" in said or len(texts) > MINED_FROM else trial.mined(),
    )


def _is_open(given: Mapping[str, object]) -> bool:
    """Whether nothing is said of the network but what plant.yml says, and nothing that another would not go with."""
    own, _ = read_configuration("plant")
    said = {"strategy", "evidence.training_file", "shortlist.size"} & set(flat(given))
    return not said and all(given.get(key) == own[key] for key in NETWORK)


def _evidence_of(source: str | None) -> str | None:
    if source is None or source.startswith(DEMO_PREFIX):
        return None
    found = packed(evidence_beside(Path(source)))
    return None if found is None else str(found)


def language_of(texts: Sequence[str]) -> str:
    """The language whose commonest words most of the texts hold most of; ``unknown`` where hardly any stands there."""
    commons = {code: frozenset(words.split()) for code, words in COMMON.items()}
    votes: Counter[str] = Counter()
    for text in texts[:: max(1, len(texts) // LOOKED_AT)]:
        words = Counter(WORD.findall(text.lower()))
        counts = {code: sum(words[word] for word in common) for code, common in commons.items()}
        best = max(counts, key=counts.__getitem__)
        votes[best if counts[best] * 50 >= sum(words.values()) else "unknown"] += 1
    return votes.most_common(1)[0][0]


def _names(config: Config, corpus: Corpus, language: str) -> str | None:
    """Where names of labels are known from; English ones of ICD-10-CM only beside English texts."""
    if config.planted_scores.names == NO_NAMES:
        return None
    if beside := names_beside(config.training_file):
        return str(beside)
    some = corpus.label_names[:: max(1, len(corpus.label_names) // LOOKED_AT)]
    if language != ENGLISH or sum(bool(ICD10.fullmatch(label)) for label in some) < MOST_LABELS * len(some):
        return None
    known = label_names(["icd10"])
    return "icd10" if sum(known(label) is not None for label in some) >= MOST_LABELS * len(some) else None


@dataclass(frozen=True)
class Trial:
    """Some training and validation documents, on which a linear model says whether an option pays."""

    texts: Sequence[str]
    labels: sp.csr_array  # (N, L)
    val_texts: Sequence[str]
    truth: sp.csr_array  # (M, L)
    options: PlantedScoresOptions

    @classmethod
    def of(cls, corpus: Corpus, options: PlantedScoresOptions) -> Trial:
        """Of a corpus with validation documents, drawn at random where it has many."""
        assert corpus.val is not None
        return cls(*_drawn(corpus, corpus.train, TRIED), *_drawn(corpus, corpus.val, TRIED_ON), options)

    def gain(self, options: PlantedScoresOptions) -> float:
        """What nDCG@5 gains by other options of the linear model."""
        models = self._fitted(options), self._plain
        other, plain = self._reached(lambda texts: [model.scores_of(model.features(texts)) for model in models])
        return other - plain

    def mined(self) -> float:
        """What nDCG@5 gains by mined phrases, beside the linear model with the best of its weights."""
        linear, phrases = self._plain, MinedPhrases.fit(self.texts, self.labels)

        def scored(texts: Sequence[str]) -> list[Floats]:
            alone, beside = linear.scores_of(linear.features(texts)), phrases.scores(texts)
            return [alone, *(weight * alone + beside for weight in LINEAR_WEIGHTS)]

        alone, *both = self._reached(scored)
        return max(both) - alone

    @cached_property
    def _plain(self) -> LinearModel:
        return self._fitted(self.options)

    def _fitted(self, options: PlantedScoresOptions) -> LinearModel:
        return LinearModel.fit(self.texts, self.labels, options)

    def _reached(self, scored: Callable[[Sequence[str]], list[Floats]]) -> list[float]:
        """The nDCG@5 of each kind of scores (B, L) that is made of validation texts, few of them at a time."""
        labels, found = self.truth.shape[1], list[Evaluator]()
        name = f"nDCG@{min(5, labels)}"
        for rows in blocks(*self.truth.shape):
            scores = scored(self.val_texts[rows])
            found = found or [Evaluator(labels, metrics=[name]) for _ in scores]
            for one, evaluator in zip(scores, found, strict=True):
                evaluator.update(one, self.truth[rows])
        return [float(evaluator.compute()[name]) for evaluator in found]


def _drawn(corpus: Corpus, split: Split, most: int) -> tuple[list[str], sp.csr_array]:
    """Texts and labels of at most so many documents of a split, drawn at random."""
    rows = np.arange(len(split))
    if len(split) > most:
        rows = np.sort(np.random.default_rng(0).choice(len(split), most, replace=False))
    return [split.texts[row] for row in rows], corpus.label_matrix(split)[rows]


def _within(minutes: float, config: Config, facts: Facts, started: float) -> Choice:
    """Epochs, length or strategy with which training ends in about so many minutes, from the time of a few steps.

    What it took to look at the data and to time the steps, since ``started``, is gone from them.
    First the second stage gets fewer epochs, then documents are read less far, then no network is trained.
    """
    if config.strategy == PLANTED_SCORES:
        return Choice({}, "")
    stage2 = replace(config.stage2, epochs=config.stage2.epochs or None)  # without epochs it would not be measured
    stages = measure(replace(config, stage2=stage2)).stages
    epoch1, epoch2 = (stages[name].training_seconds if name in stages else 0.0 for name in ("stage1", "stage2"))
    left = MINUTE * minutes - (time.perf_counter() - started)
    room = max(0.0, left) * FOR_EPOCHS / (2 if config.refit != "none" else 1)
    ranks, wanted = (config.epochs if own.epochs is None else own.epochs for own in (config.stage1, config.stage2))
    ranks, wanted = ranks if config.strategy == "plant" else 0, max(1, wanted)
    length, words = config.max_seq_length or facts.long, max(1, facts.words)  # 0: most documents hold numbers alone
    for shorter in (length, *(short for short in reversed(SHORTENED) if short < length)):
        share = min(1.0, min(shorter, words) / min(length, words))  # a step takes as long as its words
        first, second = share * epoch1, share * epoch2
        for epochs1 in range(ranks, -1, -1):
            epochs2 = min(wanted, int((room - epochs1 * first) / second))
            if epochs2 >= min(wanted, max(1, epochs1)):  # a shortened second stage is no shorter than the first
                keys: Keys = {"strategy": "plant", "stage1.epochs": epochs1} if epochs1 else {"strategy": "end_to_end"}
                keys |= {"max_seq_length": shorter, "stage2.epochs": epochs2}
                why = f"an epoch takes {first:.0f} and {second:.0f} seconds"
                return Choice(keys, f"{why}; {left / MINUTE:.1f} of {minutes:g} minutes are left")
    return Choice({"strategy": PLANTED_SCORES}, f"an epoch of the network does not fit into {minutes:g} minutes")
