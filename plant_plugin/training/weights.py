"""Fit planted scores before stage 1, and choose their weights after stage 2.

Trained together with the network (on leave-one-out scores) they made it worse than either by itself: see
``benchmarks/TRIALS.md``. So the network trains as if they were not there.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from plant_plugin.config.options import NAME_SOURCES, NO_NAMES, PLANTED_SCORES
from plant_plugin.config.sections import Settings
from plant_plugin.data.label_names import label_names
from plant_plugin.data.names_beside import names_source
from plant_plugin.errors import ConfigError, DataError
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.evaluation.names import parse_metric
from plant_plugin.files import atomic_folder, cache_folder, cached
from plant_plugin.model.folder import read_labels
from plant_plugin.relevance.mined_phrases import MinedPhrases
from plant_plugin.relevance.phrases import Phrases, PlantedPhrases
from plant_plugin.relevance.planted_scores import PlantedScores, read_sentences
from plant_plugin.relevance.ridge import RidgeOptions
from plant_plugin.report.record import Further
from plant_plugin.report.run import Run
from plant_plugin.training.devices import is_first
from plant_plugin.training.first_pass import with_first_weights
from plant_plugin.training.further import few_are_new, folder_before
from plant_plugin.training.inputs import Encoded, Floats, Inputs, Logits, Places
from plant_plugin.training.phrase_weights import choose_beside_phrases

CACHE_VERSION = 7  # counts up when the solver or what is written changes
# Tried weights, in units that give the linear scores the spread of the network's logits.
SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0)
# And with a shortlist: the logits of all other labels are equal there, so that the spread is small.
MORE_SHARES = (1.5, 2.0, 3.0, 5.0)
# Tried adjustments, in units of the linear score (0 absent, 1 present) for a label e times rarer.
ADJUSTMENTS = (0.0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05)
# Tried weights ν of the labels' names, in units of the linear score; with 4 a name that is the whole document counts 4.
NAME_WEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
# γ where there is no network: of 3 to 30 the lowest cross-entropy on validation documents of EURLEX-6K, once the
# threshold of micro-F1 is the probability 0.5. It changes probabilities, not which labels are predicted.
WITHOUT_NETWORK = 20.0
ROWS, CELLS = 256, 10_000_000  # validation documents, and scores, at once by the linear model
# This far below the best `val_metric` is as good: what it does for rare labels decides (benchmarks/TRIALS.md).
NEAR_TIE = 0.002


def fit_phrases(documents: Encoded, settings: Settings, run: Run) -> Phrases | None:
    """Fit phrases on the training documents: marked ones where these have evidence, else mined ones if wanted.

    They are not kept in the cache folder: they know what each training document holds, which nobody else needs.
    Without planted scores there are none, for nothing would keep them with the model.
    """
    train = documents.corpus.train
    if settings.planted_scores.model == "none":
        return None
    with run.phase("planted_scores"):
        if train.evidence is not None:
            labels = documents.corpus.label_names
            return PlantedPhrases.fit(train.texts, documents.document_labels, train.evidence, labels)
        return MinedPhrases.fit(train.texts, documents.document_labels) if settings.evidence.mine else None


def fit_scores(documents: Encoded, phrases: Phrases | None, settings: Settings, run: Run) -> PlantedScores | None:
    """Fit the linear models on the training split, in the first process; their scores have no weight yet.

    Raises:
        ConfigError: The weight is to be chosen on validation documents and there are none.
        DataError: The configured names are of none of the labels.
    """
    options, labels, counts = settings.planted_scores, documents.corpus.label_names, documents.train_counts
    if options.model == "none" or not is_first():
        return None
    with run.phase("planted_scores"):
        if _configured_weight(settings) is None and "val" not in documents.arrays:
            what = "there are no validation documents to choose it on"
            fix = "give val_file or val_size, or a weight"
            raise ConfigError(what, where="planted_scores.weight", fix=fix)
        names = _known_names(labels, settings, run)
        if options.model == "auto":
            rows, columns = documents.document_labels.shape
            model = RidgeOptions.of(options).model_for(rows, columns)
            run.log(f"planted scores: model {model}, of {rows:,} documents and {columns:,} labels")
        planted = with_first_weights(replace(_fitted(documents, settings, run.further), phrases=phrases), run)
        return planted if names is None or counts is None else planted.with_names(names, counts)


def _fitted(documents: Encoded, settings: Settings, further: Further | None) -> PlantedScores:
    """Fit the linear models, or read what a run, possibly this one before it was resumed, fitted to these documents.

    Where few documents are new, :func:`.few_are_new`, the model of sentences that the run before has is taught them.
    """
    options, train = RidgeOptions.of(settings.planted_scores), documents.corpus.train
    names = documents.corpus.label_names
    fit = functools.partial(PlantedScores.fit, train.texts, documents.document_labels, options, train.evidence, names)
    if further is not None and few_are_new(further) and train.evidence is not None:
        before = folder_before(further, settings)
        known = read_sentences(before, read_labels(before)[0], names)
        if known is not None:
            return fit(known.taught(train.texts, train.evidence, names, options, further["new"]))
    hashes, labels = documents.hashes, documents.hashes["labels"]
    made_of = [CACHE_VERSION, version("scikit-learn"), hashes["train"], labels, asdict(options), hashes.get("evidence")]
    path = (
        cache_folder(settings.cache_dir) / "planted_scores" / hashlib.sha256(json.dumps(made_of).encode()).hexdigest()
    )
    read = functools.partial(PlantedScores.load, labels=labels, num_labels=documents.num_labels)

    def write(folder: Path, fitted: PlantedScores) -> None:
        with atomic_folder(folder) as temporary:
            fitted.save(temporary, labels)

    return cached(path, read, fit, write, "Planted scores are")


def _known_names(labels: list[str], settings: Settings, run: Run) -> list[str] | None:
    """Return the name of every label, empty where it has none; None where there are no names or they are not wanted."""
    source = names_source(settings)
    if source in (None, NO_NAMES):
        return None
    known = label_names([source], labels=labels, say=run.log)
    names = [known(label) or "" for label in labels]
    named = sum(map(bool, names))
    if settings.planted_scores.names and not named:
        fix = "it has to name labels as the training file does"
        if source in NAME_SOURCES:
            fix = f"say another of {', '.join(NAME_SOURCES)}, or give a file of label TAB name"
        raise DataError(f"none of the {len(labels)} labels has a name there", where=source, fix=fix)
    run.log(f"planted scores: {named} of {len(labels)} labels have a name in {source}")
    return names


def blocks(documents: int, labels: int) -> Iterator[slice]:
    """Yield the validation documents scored at once: of very many labels few, as a row of all is held several times."""
    step = max(1, min(ROWS, CELLS // max(1, labels)))
    return (slice(start, start + step) for start in range(0, documents, step))


def _configured_weight(settings: Settings) -> float | None:
    """Return γ, where it need not be chosen."""
    weight = settings.planted_scores.weight
    return WITHOUT_NETWORK if weight is None and settings.strategy == PLANTED_SCORES else weight


def weigh(
    planted: PlantedScores | None, inputs: Inputs, validation: Sequence[Logits], settings: Settings, run: Run
) -> PlantedScores | None:
    """Return planted scores with the weights of their parts: the configured ones, else the best on validation.

    Only the first process has any. Its weights are chosen in three steps, each by ``val_metric`` on validation
    documents:

    1. τ, the adjustment for rare labels, on the linear scores only.
    2. λ of the linear scores, σ of sentences and the bend of the sum of phrases, where there are any, without the
       network.
    3. γ of the whole sum and ν of the labels' names, together, on the sum with the network's logits. Values within
       ``NEAR_TIE`` of the best are equally good there: of these PSP@5 decides, then the lowest.

    A label without training documents counts as wrong in step 3, whatever document has it. Where no ``label_file``
    names it, it is known from a validation document: there it would be right, and nowhere else.

    nDCG@5 takes the place of a ``val_metric`` that is the loss or needs a threshold, for no threshold is tuned yet.
    With shortlists all weights but γ stay as they were when the labels were proposed.

    Args:
        planted: Fitted scores; None: there are none to weigh.
        inputs: The documents and, where there are any, the shortlists.
        validation: The network's own logits of the validation documents.
        settings: With the weights that are configured.
        run: Its clock, and where the chosen weights are printed.
    """
    if planted is None:
        return None
    # The second training of `refit` has names weighed by the first: it has no documents to choose on.
    fixed = {"weight": _configured_weight(settings), "name_weight": planted.name_weight or None}
    if inputs.shortlists.labels:
        fixed["name_weight"] = planted.name_weight
    with run.phase("planted_scores"):
        choice = _Choice(replace(planted, weight=0.0), fixed, inputs, settings)
        choice.choose_adjustment()
        choice.choose_beside_phrases()
        choice.choose_beside_network(validation)
        weighed = choice.planted
        weights = f"weight {weighed.weight:.3g}, adjustment {weighed.adjustment:.3g}, names {weighed.name_weight:.3g}"
        beside = f"linear {weighed.linear_weight:.3g}, sentences {weighed.sentence_weight:.3g}, bend {weighed.bend:g}"
        run.log(f"planted scores: {weights}, {beside}")
    return weighed


def weigh_alone(
    planted: PlantedScores | None, inputs: Inputs, settings: Settings, run: Run
) -> tuple[PlantedScores | None, list[Logits]]:
    """Weigh planted scores as they are without a network; the logits of validation documents are 0 then."""
    settings = replace(settings, strategy=PLANTED_SCORES)
    documents, nothing = inputs.documents, list[Logits]()
    if "val" in documents.labels:
        number, labels = documents.labels["val"].shape
        places = (np.arange(number)[rows] for rows in blocks(number, labels))
        nothing = [(np.broadcast_to(np.float32(0), (len(rows), labels)), rows) for rows in places]
    return weigh(planted, inputs, nothing, settings, run), nothing


def ranked_metric(labels: int, settings: Settings) -> str:
    """Return ``val_metric``, or nDCG@5 where that is the loss or needs a threshold."""
    watched = parse_metric(settings.val_metric)
    ranks = watched.threshold is None and watched.family != "Loss"
    return settings.val_metric if ranks else f"nDCG@{min(5, labels)}"


def compared_metric(labels: int, settings: Settings) -> str:
    """Return what compares two models document by document: ``val_metric``, or nDCG@5 where that is kept of none.

    In the place of MAP it is MAP-gold, which knows of labels that only one of both can say.
    """
    watched = parse_metric(ranked_metric(labels, settings))
    if watched.family.startswith("MAP"):
        return "MAP-gold"
    return watched.name if watched.k and not watched.is_added else f"nDCG@{min(5, labels)}"


class _Choice:
    """Choose the weights of planted scores on validation documents, step by step.

    Without validation documents a weight that is not configured keeps its default.
    """

    def __init__(
        self, planted: PlantedScores, fixed: Mapping[str, float | None], inputs: Inputs, settings: Settings
    ) -> None:
        val, labels = inputs.documents.corpus.val, inputs.documents.num_labels
        self.planted, self.fixed, self.inputs, self.settings = planted, fixed, inputs, settings
        self.texts = None if val is None else val.texts
        self.evidence: Floats | None = None  # (N, L), what phrases and sentences add to each document
        self.metric = ranked_metric(labels, settings)  # decides
        self.of_rare = f"PSP@{min(5, labels)}"  # decides between equals

    @functools.cached_property
    def _features(self) -> sp.csr_array:
        """Return what the linear model reads of the documents."""
        return self.planted.linear.features(self.texts or [])

    def choose_adjustment(self) -> None:
        """Choose τ, unless the shortlists were proposed with it or there are no validation documents."""
        if self.texts is None or self.inputs.shortlists.labels:
            return
        truth, evaluators = self.inputs.documents.labels["val"], self._evaluators(len(ADJUSTMENTS))
        for rows in blocks(*truth.shape):
            scores = self.planted.linear_scores_of(self._features[rows])
            for adjustment, evaluator in zip(ADJUSTMENTS, evaluators, strict=True):
                evaluator.update(self.planted.adjusted(scores, adjustment), truth[rows])
        self.planted = replace(self.planted, adjustment=ADJUSTMENTS[self._best(evaluators)])

    def choose_beside_phrases(self) -> None:
        """Choose λ, σ and the bend where there are phrases, and note what these and sentences add to each document."""
        if self.planted.phrases is None or self.texts is None:
            return
        if self.inputs.shortlists.labels:
            self.evidence = self.planted.evidence_scores(self.texts)  # type: ignore[assignment]
            return
        of_documents = self.planted.linear_scores_of(self._features)
        self.planted, self.evidence = choose_beside_phrases(self.planted, self.texts, of_documents, self._best_scores)

    def choose_beside_network(self, validation: Sequence[Logits]) -> None:
        """Choose γ and ν."""
        documents = self.inputs.documents
        counts = documents.train_counts
        assert counts is not None  # a training split was read
        name_weights = (0.0,) if self.planted.names is None else NAME_WEIGHTS
        few = (self.inputs.shortlists.length or len(counts)) < len(counts)
        shares = (*SHARES, *MORE_SHARES) if few else SHARES
        unit = 0.0  # the γ that gives the planted scores of a batch the spread of the network's logits
        if self.fixed["weight"] is None and validation:
            logits, numbers = validation[0]
            unit = (float(logits.std()) or 1.0) / (float(self._scores(numbers)[0].std()) or 1.0)
        weights = self._tried("weight", [share * unit for share in shares])
        pairs, best = list(itertools.product(weights, self._tried("name_weight", name_weights))), 0
        if len(pairs) > 1:
            evaluators = self._evaluators(len(pairs), self.metric, self.of_rare)
            for logits, numbers in validation:
                scores, of_names = self._scores(numbers)
                of_trained = documents.labels["val"][numbers].multiply(counts > 0).tocsr()
                for (weight, name), evaluator in zip(pairs, evaluators, strict=True):
                    added = np.float32(weight) * (scores + np.float32(name) * of_names)
                    sums: Floats = np.add(logits, added)
                    evaluator.update(self.inputs.placed("val", numbers, sums), of_trained, numbers)
            values_of = [evaluator.compute() for evaluator in evaluators]
            enough = max(values[self.metric] for values in values_of) - NEAR_TIE
            near = [place for place, values in enumerate(values_of) if values[self.metric] >= enough]
            best = max(near, key=lambda place: values_of[place][self.of_rare], default=0)  # the first of equals, or NaN
        weight, name = pairs[best]
        self.planted = replace(self.planted, weight=weight).with_name_weight(name)

    def _tried(self, name: str, values: Sequence[float]) -> Sequence[float]:
        """Return the values of a weight that are tried: only the one that is fixed, if there is any."""
        fixed = self.fixed.get(name)
        if fixed is None and self.texts is not None:
            return values
        return (getattr(self.planted, name) if fixed is None else fixed,)

    def _scores(self, numbers: Places) -> tuple[Floats, Floats | np.float32]:
        """Return planted scores of documents for the labels of their logits, and what names add to them at ν = 1."""
        if "val" in self.inputs.shortlists.scores:
            return self.inputs.shortlists.scores["val"][numbers], np.float32(0)
        rows, linear = self._features[numbers], np.float32(self.planted.linear_weight)
        scores, of_names = linear * self.planted.linear_scores_of(rows), linear * self.planted.name_scores_of(rows)
        return scores if self.evidence is None else scores + self.evidence[numbers], of_names

    def _evaluators(self, number: int, *metrics: str) -> list[Evaluator]:
        names = metrics or (self.metric,)
        return [self.inputs.documents.evaluator(names, "val", self.settings) for _ in range(number)]

    def _best_scores(self, scores: Iterable[Floats]) -> int:
        """Return the place of the first of several scores (N, L) with the highest ``metric``."""
        evaluators = []
        for tried in scores:
            evaluators += self._evaluators(1)
            evaluators[-1].update(tried, self.inputs.documents.labels["val"])
        return self._best(evaluators)

    def _best(self, evaluators: Sequence[Evaluator]) -> int:
        """Return the place of the first with the highest ``metric``."""
        return int(np.argmax([evaluator.compute()[self.metric] for evaluator in evaluators]))
