"""When planted scores are made and how their weight is chosen: fitted before stage 1, weighed after stage 2.

Trained together with the network (on leave-one-out scores) they made it worse than either alone: see
``benchmarks/TRIALS.md``. So the network trains as if they were not there.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.config import Config
from plant_plugin.config.options import NAME_SOURCES, NO_NAMES, PLANTED_SCORES, PlantedScoresOptions
from plant_plugin.data.label_names import label_names, names_beside
from plant_plugin.errors import ConfigError, DataError
from plant_plugin.evaluation.metrics import PROBABILITY_HALF
from plant_plugin.evaluation.names import parse_metric
from plant_plugin.evaluation.thresholds import Tuned
from plant_plugin.files import atomic_folder, cache_folder, cached
from plant_plugin.model.folder import read_labels
from plant_plugin.relevance.mined_phrases import MinedPhrases
from plant_plugin.relevance.phrases import Phrases, PlantedPhrases
from plant_plugin.relevance.planted_scores import CHOSEN, PlantedScores, read_sentences
from plant_plugin.report.run import Run
from plant_plugin.training.devices import is_first
from plant_plugin.training.further import few_are_new, folder_before
from plant_plugin.training.prepare import Prepared

CACHE_VERSION = 4  # counts up when the solver or what is written changes
UNREAD = {*CHOSEN, "names"}  # options that change nothing of what is fitted
# Tried weights, in units that give the linear scores the spread of the network's logits.
SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0)
# And with a shortlist: the logits of all other labels are equal there, so that the spread is small.
MORE_SHARES = (1.5, 2.0, 3.0, 5.0)
# Tried adjustments, in units of the linear score (0 absent, 1 present) for a label e times rarer.
ADJUSTMENTS = (0.0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05)
# Tried weights ν of the labels' names, in units of the linear score; with 4 a name that is the whole document counts 4.
NAME_WEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
# Tried weights λ of the linear model of documents and σ of that of sentences, beside phrases.
LINEAR_WEIGHTS, SENTENCE_WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0), (0.0, 0.5, 1.0, 2.0, 4.0, 6.0)
# γ where there is no network: of 3 to 30 the lowest cross-entropy on validation documents of EURLEX-6K, once the
# threshold of micro-F1 is the probability 0.5. It changes probabilities, not which labels are found.
ALONE = 20.0
ROWS, CELLS = 256, 10_000_000  # validation documents, and scores, at once by the linear model alone
# This far below the best `val_metric` is as good: what it does for rare labels decides (benchmarks/TRIALS.md).
NEAR_TIE = 0.002

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]
ScoreBatch = tuple[Floats | sp.csr_array, sp.csr_array, Places]  # logits and truth (B, L), numbers of documents
ScoreBatches = Callable[[], Iterable[ScoreBatch]]


def fit_scores(prepared: Prepared, config: Config, run: Run) -> Phrases | None:
    """Fit phrases and, in the first process, the linear model on the training split; they have no weight yet.

    Returns:
        The phrases of the training documents, marked ones where they have evidence, else mined ones if asked for. They
        are not kept in the cache folder: they know what each training document holds, which nobody else needs.

    Raises:
        ConfigError: The weight is to be chosen on validation documents and there are none, or there are no names that
            ``name_weight`` could weigh.
        DataError: The configured names are of none of the labels.
    """
    options = config.planted_scores
    if options.model == "none":  # nothing would keep phrases with the model
        return None
    with run.phase("planted_scores"):
        train, labels = prepared.corpus.train, prepared.corpus.label_names
        phrases: Phrases | None = None
        if train.evidence is not None:
            phrases = PlantedPhrases.fit(train.texts, prepared.document_labels, train.evidence, labels)
        elif config.evidence.mine:
            phrases = MinedPhrases.fit(train.texts, prepared.document_labels)
        if is_first():
            if _weight(options, config.strategy) is None and "val" not in prepared.arrays:
                what = "there are no validation documents to choose it on"
                fix = "give val_file or val_size, or a weight"
                raise ConfigError(what, where="planted_scores.weight", fix=fix)
            counts = prepared.train_counts
            names = _known_names(labels, options, config.training_file, run)
            if options.model == "auto":
                documents, columns = prepared.document_labels.shape
                chosen = options.model_for(documents, columns)
                run.log(f"planted scores: model {chosen}, of {documents:,} documents and {columns:,} labels")
            prepared.planted_scores = _fitted(prepared, config)
            prepared.planted_scores.phrases = phrases
            if names is not None and counts is not None:
                prepared.planted_scores.plant_names(names, counts)
    return phrases


def _fitted(prepared: Prepared, config: Config) -> PlantedScores:
    """Fit the linear models, or read what a run, possibly this one before it was resumed, fitted to these documents.

    Where few documents are new, :func:`.few_are_new`, the model of sentences that the run before has is taught them.
    """
    options, train, names = config.planted_scores, prepared.corpus.train, prepared.corpus.label_names
    fit = functools.partial(PlantedScores.fit, train.texts, prepared.document_labels, options, train.evidence, names)
    if few_are_new(config) and train.evidence is not None:
        before = folder_before(config)
        known = read_sentences(before, read_labels(before)[0], names)
        if known is not None and not known.model.half:  # those of many labels are fitted anew, label by label
            return fit(known.taught(train.texts, train.evidence, names, options, config.new_documents))
    asked = {name: value for name, value in asdict(options).items() if name not in UNREAD}
    hashes, labels = prepared.hashes, prepared.hashes["labels"]
    made_of = [CACHE_VERSION, version("scikit-learn"), hashes["train"], labels, asked, hashes.get("evidence")]
    path = cache_folder(config.cache_dir) / "planted_scores" / hashlib.sha256(json.dumps(made_of).encode()).hexdigest()
    read = functools.partial(PlantedScores.load, labels=labels, num_labels=prepared.num_labels)

    def write(folder: Path, fitted: PlantedScores) -> None:
        with atomic_folder(folder) as temporary:
            fitted.save(temporary, labels)

    return cached(path, read, fit, write, "Planted scores are")


def _known_names(
    labels: list[str], options: PlantedScoresOptions, training_file: str | None, run: Run
) -> list[str] | None:
    """The name of every label, empty where it has none; None where there are no names or they are not wanted."""
    if options.name_weight == 0:
        return None
    source = options.names or names_beside(training_file)
    if source in (None, NO_NAMES):
        if options.name_weight:
            fix = "give planted_scores.names, or put label_names.tsv beside the training file"
            raise ConfigError("labels have no names to weigh", where="planted_scores.name_weight", fix=fix)
        return None
    known = label_names([str(source)])
    names = [known(label) or "" for label in labels]
    found = sum(map(bool, names))
    if options.names and not found:
        fix = "each line has to be: label TAB name, the label as in the training file"
        if options.names in NAME_SOURCES:
            fix = f"say another of {', '.join(NAME_SOURCES)}, or give a file of label TAB name"
        raise DataError(f"none of the {len(labels)} labels has a name there", where=str(source), fix=fix)
    run.log(f"planted scores: {found} of {len(labels)} labels have a name in {source}")
    return names


def blocks(documents: int, labels: int) -> Iterator[slice]:
    """Validation documents scored at once: of very many labels few, for a row of all is held several times."""
    step = max(1, min(ROWS, CELLS // max(1, labels)))
    return (slice(start, start + step) for start in range(0, documents, step))


def _weight(options: PlantedScoresOptions, strategy: str) -> float | None:
    """γ, where it need not be chosen."""
    return ALONE if options.weight is None and strategy == PLANTED_SCORES else options.weight


def plant_weight(prepared: Prepared, config: Config, run: Run, validation: ScoreBatches) -> None:
    """Give the scores their adjustment τ, their weight γ and the weight ν of names: as configured, or the best.

    τ is chosen first, on the linear scores alone, for the highest ``val_metric`` on validation documents (nDCG@5 where
    that is the loss, or needs a threshold: there is none yet). Then γ and ν together on the sums: of the values whose
    ``val_metric`` is within ``NEAR_TIE`` of the highest, those with the highest PSP@5; of equals, the lowest. There a
    label without training documents counts as wrong wherever it is found: without a ``label_file`` it is known because
    a validation document has it, so there, but not in other documents, each is true somewhere. The offset comes after
    the thresholds, see :func:`centred`. Where there are phrases, λ and σ are chosen between, without the network.

    ``validation`` starts a pass over the network's own logits (B, L), truth and document numbers. Where logits are
    sparse nothing else is scored, and names are in the linear scores already.
    """
    planted, options, val = prepared.planted_scores, config.planted_scores, prepared.corpus.val
    counts = prepared.train_counts
    if planted is None or counts is None:
        return
    with run.phase("planted_scores"):
        watched, cutoff = parse_metric(config.val_metric), min(5, prepared.num_labels)
        ranks = watched.threshold is None and watched.family != "Loss"
        features = None if val is None else planted.linear.features(val.texts)  # once for all passes
        metric, of_rare = config.val_metric if ranks else f"nDCG@{cutoff}", f"PSP@{cutoff}"
        weighing = _Weighing(prepared, planted, options, metric, of_rare, counts > 0, features)
        planted.offset = options.offset or 0.0
        planted.adjustment = weighing.adjustment()
        marked = weighing.weigh_evidence()
        if marked is not None:
            prepared.evidence_scores["val"] = marked
        told = weighing.weigh(_weight(options, config.strategy), marked, validation)
        chosen = f"weight {planted.weight:.3g}, adjustment {planted.adjustment:.3g}, names {planted.name_weight:.3g}"
        if planted.phrases is not None:
            chosen += f", linear {planted.linear_weight:.3g}, sentences {planted.sentence_weight:.3g}"
        run.log(f"planted scores: {chosen}{told}")


@dataclass(frozen=True)
class _Weighing:
    """Validation documents, by which weights are chosen; without ``features`` there are none."""

    prepared: Prepared
    planted: PlantedScores
    options: PlantedScoresOptions
    metric: str
    of_rare: str
    trained: npt.NDArray[np.bool_]  # labels that training documents have, (L,)
    features: sp.csr_array | None

    def adjustment(self) -> float:
        """τ: the configured one, or the best for the linear scores alone; 0 where there are no documents."""
        planted, configured = self.planted, self.options.adjustment
        if configured is not None or self.features is None:
            return configured or 0.0
        truth = self.prepared.labels["val"]
        evaluators = [self.prepared.evaluator([self.metric], "val") for _ in ADJUSTMENTS]
        planted.adjustment = 0.0
        for rows in blocks(*truth.shape):
            scores = planted.linear_scores_of(self.features[rows])
            for adjustment, evaluator in zip(ADJUSTMENTS, evaluators, strict=True):
                evaluator.update(planted.adjusted(scores, adjustment), truth[rows])
        return ADJUSTMENTS[int(np.argmax([evaluator.compute()[self.metric] for evaluator in evaluators]))]

    def weigh_evidence(self) -> Floats | None:
        """Give linear model and sentences their weights λ and σ beside phrases: as configured, or the best.

        Returns:
            What phrases and sentences add to each document, (N, L); None without phrases or documents.
        """
        planted, val, linear = self.planted, self.prepared.corpus.val, self.options.linear_weight
        if planted.phrases is None:
            return None
        sentence = 0.0 if planted.sentences is None else self.options.sentence_weight
        if val is None or self.features is None:
            planted.linear_weight, planted.sentence_weight = 1.0 if linear is None else linear, sentence or 0.0
            return None
        phrases = planted.phrases.scores(val.texts)
        sentences = np.float32(0) if planted.sentences is None else planted.sentences.scores(val.texts)
        documents = planted.linear_scores_of(self.features)
        linears = LINEAR_WEIGHTS if linear is None else (linear,)
        tried = list(itertools.product(linears, SENTENCE_WEIGHTS if sentence is None else (sentence,)))
        found = []
        for one, other in tried:
            evaluator = self.prepared.evaluator([self.metric], "val")
            sums = np.float32(one) * documents + phrases + np.float32(other) * sentences
            evaluator.update(sums, self.prepared.labels["val"])
            found.append(evaluator.compute()[self.metric])
        planted.linear_weight, planted.sentence_weight = tried[int(np.argmax(found))]
        return phrases + np.float32(planted.sentence_weight) * sentences

    def weigh(self, unit: float | None, marked: Floats | None, validation: ScoreBatches) -> str:
        """Choose γ (``unit`` where it is known) and ν on the sums with the network's logits; tells what they reach."""
        planted, metrics = self.planted, [self.metric, self.of_rare]
        names: tuple[float, ...] = NAME_WEIGHTS
        if planted.names is None or self.options.name_weight is not None:
            names = (self.options.name_weight or 0.0,)
        listed = (self.prepared.shortlist_size or len(self.trained)) < len(self.trained)
        shares = (*SHARES, *MORE_SHARES) if listed else SHARES
        tried = list(itertools.product(shares if unit is None else (1.0,), names))
        best, told = 0, ""
        if len(tried) > 1 and self.features is not None:
            evaluators = [self.prepared.evaluator(metrics, "val") for _ in tried]
            for logits, truth, documents in validation():
                scores, named = self._scores(logits, documents, marked)
                values = logits.data if sp.issparse(logits) else logits
                if unit is None:  # of the first batch: the same for all
                    unit = (float(values.std()) or 1.0) / (float(scores.std()) or 1.0)
                of_trained = truth.multiply(self.trained).tocsr()
                for (share, name), evaluator in zip(tried, evaluators, strict=True):
                    sums = values + np.float32(share * unit) * (scores + np.float32(name) * named)
                    evaluator.update(_like(logits, sums), of_trained, documents)
            found = [evaluator.compute() for evaluator in evaluators]
            enough = max(one[self.metric] for one in found) - NEAR_TIE
            near = [way for way, one in enumerate(found) if one[self.metric] >= enough]
            best = max(near, key=lambda way: found[way][self.of_rare], default=0)  # the first of equals, or of NaN
            first, reached = (", ".join(f"{name} {found[way][name]:.4f}" for name in metrics) for way in (0, best))
            told = f"; {first} with the lowest, {reached} with these"
        share, name = tried[best]
        planted.weight = share * (unit or 0.0)
        planted.add_names(name)
        return told

    def _scores(
        self, logits: Floats | sp.csr_array, documents: Places, marked: Floats | None
    ) -> tuple[Floats, Floats | np.float32]:
        """Planted scores of what is scored, in its order, and what names add to them at ν = 1."""
        if sp.issparse(logits):
            return self.prepared.shortlist_scores["val"][documents].ravel(), np.float32(0)
        assert self.features is not None  # there are validation documents
        rows, linear = self.features[documents], np.float32(self.planted.linear_weight)
        scores, named = (linear * of(rows) for of in (self.planted.linear_scores_of, self.planted.name_scores_of))
        return scores if marked is None else scores + marked[documents], named


def _like(logits: Floats | sp.csr_array, values: npt.NDArray[np.floating]) -> npt.NDArray[np.floating] | sp.csr_array:
    """Other values in the place of the logits."""
    if not sp.issparse(logits):
        return values
    return sp.csr_array((values, logits.indices, logits.indptr), shape=logits.shape)


def centred(planted: PlantedScores, tuned: Tuned, configured: float | None) -> Tuned:
    """Take the threshold of micro-F1 off every logit, and off the thresholds that were tuned before that.

    Linear scores shift all logits by what has no meaning; so a probability of 0.5 is again where a label is predicted.
    That threshold becomes the offset of the planted scores, unless one is ``configured``.
    """
    if configured is not None or not planted.weight:
        return tuned
    planted.offset = tuned.thresholds["micro"]
    thresholds = {name: value - planted.offset for name, value in tuned.thresholds.items()}
    return Tuned(thresholds, tuned.documents, {**tuned.f1, **dict.fromkeys(PROBABILITY_HALF, tuned.f1["micro"])})
