"""When planted scores are made and how their weight is chosen: fitted before stage 1, weighed after stage 2.

Trained together with the network (on leave-one-out scores) they made it worse than either alone: see
``benchmarks/TRIALS.md``. So the network trains as if they were not there.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.config.options import NAME_SOURCES, NO_NAMES, PLANTED_SCORES, PlantedScoresOptions
from plant_plugin.config.sections import Settings
from plant_plugin.data.label_names import label_names, names_beside
from plant_plugin.errors import ConfigError, DataError
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.evaluation.names import parse_metric
from plant_plugin.files import atomic_folder, cache_folder, cached
from plant_plugin.model.folder import read_labels
from plant_plugin.relevance.mined_phrases import MinedPhrases
from plant_plugin.relevance.phrases import Phrases, PlantedPhrases
from plant_plugin.relevance.planted_scores import PlantedScores, read_sentences
from plant_plugin.relevance.ridge import RidgeOptions
from plant_plugin.report.run import Run
from plant_plugin.training.devices import in_first
from plant_plugin.training.further import few_are_new, folder_before
from plant_plugin.training.inputs import Floats, Inputs, Logits, Places
from plant_plugin.training.prepare import Encoded

CACHE_VERSION = 5  # counts up when the solver or what is written changes
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


@in_first
def fit_scores(documents: Encoded, phrases: Phrases | None, settings: Settings, run: Run) -> PlantedScores | None:
    """Fit the linear models on the training split; their scores have no weight yet.

    Raises:
        ConfigError: The weight is to be chosen on validation documents and there are none, or there are no names that
            ``name_weight`` could weigh.
        DataError: The configured names are of none of the labels.
    """
    options, labels, counts = settings.planted_scores, documents.corpus.label_names, documents.train_counts
    if options.model == "none":
        return None
    with run.phase("planted_scores"):
        if _configured_weight(settings) is None and "val" not in documents.arrays:
            what = "there are no validation documents to choose it on"
            fix = "give val_file or val_size, or a weight"
            raise ConfigError(what, where="planted_scores.weight", fix=fix)
        names = _known_names(labels, options, settings.training_file, run)
        if options.model == "auto":
            rows, columns = documents.document_labels.shape
            model = RidgeOptions.of(options).model_for(rows, columns)
            run.log(f"planted scores: model {model}, of {rows:,} documents and {columns:,} labels")
        planted = replace(_fitted(documents, settings), phrases=phrases)
        return planted if names is None or counts is None else planted.with_names(names, counts)


def _fitted(documents: Encoded, settings: Settings) -> PlantedScores:
    """Fit the linear models, or read what a run, possibly this one before it was resumed, fitted to these documents.

    Where few documents are new, :func:`.few_are_new`, the model of sentences that the run before has is taught them.
    """
    options, train = RidgeOptions.of(settings.planted_scores), documents.corpus.train
    names = documents.corpus.label_names
    fit = functools.partial(PlantedScores.fit, train.texts, documents.document_labels, options, train.evidence, names)
    if few_are_new(settings) and train.evidence is not None:
        before = folder_before(settings)
        known = read_sentences(before, read_labels(before)[0], names)
        if known is not None and not known.model.half:  # those of many labels are fitted anew, label by label
            return fit(known.taught(train.texts, train.evidence, names, options, settings.new_documents))
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
    named = sum(map(bool, names))
    if options.names and not named:
        fix = "each line has to be: label TAB name, the label as in the training file"
        if options.names in NAME_SOURCES:
            fix = f"say another of {', '.join(NAME_SOURCES)}, or give a file of label TAB name"
        raise DataError(f"none of the {len(labels)} labels has a name there", where=str(source), fix=fix)
    run.log(f"planted scores: {named} of {len(labels)} labels have a name in {source}")
    return names


def blocks(documents: int, labels: int) -> Iterator[slice]:
    """Validation documents scored at once: of very many labels few, for a row of all is held several times."""
    step = max(1, min(ROWS, CELLS // max(1, labels)))
    return (slice(start, start + step) for start in range(0, documents, step))


def _configured_weight(settings: Settings) -> float | None:
    """γ, where it need not be chosen."""
    weight = settings.planted_scores.weight
    return ALONE if weight is None and settings.strategy == PLANTED_SCORES else weight


@in_first
def weigh(
    planted: PlantedScores | None, inputs: Inputs, validation: Sequence[Logits], settings: Settings, run: Run
) -> PlantedScores | None:
    """Return planted scores with the weights of their parts: the configured ones, else the best on validation.

    The five weights are chosen in three steps, each by ``val_metric`` on validation documents:

    1. τ, the adjustment for rare labels, on the linear scores only.
    2. λ of the linear scores and σ of sentences, beside phrases if there are any, without the network.
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
    options = settings.planted_scores
    if inputs.shortlists.labels:
        names = "adjustment", "name_weight", "linear_weight", "sentence_weight"
        options = replace(options, **{name: getattr(planted, name) for name in names})
    options = replace(options, weight=_configured_weight(settings))
    with run.phase("planted_scores"):
        weighed, reached = replace(planted, weight=0.0, offset=options.offset or 0.0), ""
        if inputs.documents.corpus.val is None:
            weighed = _as_configured(weighed, options)
        else:
            choice = _Choice.of(weighed, options, inputs, settings)
            weighed = choice.adjusted(weighed)
            weighed, evidence = choice.with_evidence(weighed)
            weighed, reached = choice.beside_network(weighed, evidence, validation)
        weights = f"weight {weighed.weight:.3g}, adjustment {weighed.adjustment:.3g}, names {weighed.name_weight:.3g}"
        if weighed.phrases is not None:
            weights += f", linear {weighed.linear_weight:.3g}, sentences {weighed.sentence_weight:.3g}"
        run.log(f"planted scores: {weights}{reached}")
    return weighed


def _as_configured(planted: PlantedScores, options: PlantedScoresOptions) -> PlantedScores:
    """Give scores the weights of the configuration, where there are no validation documents to choose others on."""
    planted = replace(planted, adjustment=options.adjustment or 0.0, weight=options.weight or 0.0)
    if planted.phrases is not None:
        linear = 1.0 if options.linear_weight is None else options.linear_weight
        sentence = 0.0 if planted.sentences is None else options.sentence_weight or 0.0
        planted = replace(planted, linear_weight=linear, sentence_weight=sentence)
    return planted.with_name_weight(options.name_weight or 0.0)


@dataclass(frozen=True)
class _Choice:
    """Weights chosen on validation documents, of which the linear model's ``features`` are known."""

    options: PlantedScoresOptions
    inputs: Inputs
    settings: Settings
    features: sp.csr_array
    metric: str  # that decides
    of_rare: str  # that decides between equals

    @classmethod
    def of(cls, planted: PlantedScores, options: PlantedScoresOptions, inputs: Inputs, settings: Settings) -> _Choice:
        """Read the validation documents once for all steps."""
        val = inputs.documents.corpus.val
        assert val is not None
        watched, cutoff = parse_metric(settings.val_metric), min(5, inputs.documents.num_labels)
        ranks = watched.threshold is None and watched.family != "Loss"
        metric = settings.val_metric if ranks else f"nDCG@{cutoff}"
        return cls(options, inputs, settings, planted.linear.features(val.texts), metric, f"PSP@{cutoff}")

    def adjusted(self, planted: PlantedScores) -> PlantedScores:
        """Give scores τ."""
        if self.options.adjustment is not None:
            return replace(planted, adjustment=self.options.adjustment)
        truth, plain = self.inputs.documents.labels["val"], replace(planted, adjustment=0.0)
        evaluators = self._evaluators(len(ADJUSTMENTS), self.metric)
        for rows in blocks(*truth.shape):
            scores = plain.linear_scores_of(self.features[rows])
            for adjustment, evaluator in zip(ADJUSTMENTS, evaluators, strict=True):
                evaluator.update(plain.adjusted(scores, adjustment), truth[rows])
        return replace(planted, adjustment=ADJUSTMENTS[self._best(evaluators)])

    def with_evidence(self, planted: PlantedScores) -> tuple[PlantedScores, Floats | None]:
        """Give scores λ and σ, and return what phrases and sentences add to each document, (N, L); None without any."""
        val, options = self.inputs.documents.corpus.val, self.options
        if planted.phrases is None or val is None:
            return planted, None
        of_phrases, of_documents = planted.phrases.scores(val.texts), planted.linear_scores_of(self.features)
        of_sentences: Floats | np.float32 = np.float32(0)
        linear_weights = LINEAR_WEIGHTS if options.linear_weight is None else (options.linear_weight,)
        sentence_weights: tuple[float, ...] = (0.0,)
        if planted.sentences is not None:
            of_sentences = planted.sentences.scores(val.texts)
            sentence_weights = SENTENCE_WEIGHTS if options.sentence_weight is None else (options.sentence_weight,)
        pairs = list(itertools.product(linear_weights, sentence_weights))
        evaluators = self._evaluators(len(pairs), self.metric)
        for (linear, sentence), evaluator in zip(pairs, evaluators, strict=True):
            sums = np.float32(linear) * of_documents + of_phrases + np.float32(sentence) * of_sentences
            evaluator.update(sums, self.inputs.documents.labels["val"])
        linear, sentence = pairs[self._best(evaluators)]
        weighed = replace(planted, linear_weight=linear, sentence_weight=sentence)
        return weighed, of_phrases + np.float32(sentence) * of_sentences

    def beside_network(
        self, planted: PlantedScores, evidence: Floats | None, validation: Sequence[Logits]
    ) -> tuple[PlantedScores, str]:
        """Give scores γ and ν; the text tells what the lowest and the best values reach, where any are tried."""
        counts = self.inputs.documents.train_counts
        assert counts is not None  # a training split was read
        name_weights: tuple[float, ...] = NAME_WEIGHTS
        if planted.names is None or self.options.name_weight is not None:
            name_weights = (self.options.name_weight or 0.0,)
        weights: tuple[float, ...] = (self.options.weight or 0.0,)
        if self.options.weight is None:
            few = (self.inputs.shortlists.length or len(counts)) < len(counts)
            unit = self._unit(planted, evidence, validation[0])
            weights = tuple(share * unit for share in ((*SHARES, *MORE_SHARES) if few else SHARES))
        pairs, best, reached = list(itertools.product(weights, name_weights)), 0, ""
        if len(pairs) > 1:
            metrics = self.metric, self.of_rare
            evaluators = self._evaluators(len(pairs), *metrics)
            for logits, truth, numbers in self.inputs.with_truth("val", validation):
                scores, of_names = self._scores(planted, evidence, logits, numbers)
                values = logits.data if sp.issparse(logits) else logits
                of_trained = truth.multiply(counts > 0).tocsr()
                for (weight, name), evaluator in zip(pairs, evaluators, strict=True):
                    sums = values + np.float32(weight) * (scores + np.float32(name) * of_names)
                    evaluator.update(_like(logits, sums), of_trained, numbers)
            values_of = [evaluator.compute() for evaluator in evaluators]
            enough = max(values[self.metric] for values in values_of) - NEAR_TIE
            near = [place for place, values in enumerate(values_of) if values[self.metric] >= enough]
            best = max(near, key=lambda place: values_of[place][self.of_rare], default=0)  # the first of equals, or NaN
            lowest, highest = (
                ", ".join(f"{name} {values_of[place][name]:.4f}" for name in metrics) for place in (0, best)
            )
            reached = f"; {lowest} with the lowest, {highest} with these"
        weight, name = pairs[best]
        return replace(planted, weight=weight).with_name_weight(name), reached

    def _unit(self, planted: PlantedScores, evidence: Floats | None, first: Logits) -> float:
        """γ that gives the planted scores of the first batch the spread of the network's logits."""
        ((logits, _, numbers),) = self.inputs.with_truth("val", [first])
        scores, _ = self._scores(planted, evidence, logits, numbers)
        values = logits.data if sp.issparse(logits) else logits
        return (float(values.std()) or 1.0) / (float(scores.std()) or 1.0)

    def _scores(
        self, planted: PlantedScores, evidence: Floats | None, logits: Floats | sp.csr_array, numbers: Places
    ) -> tuple[Floats, Floats | np.float32]:
        """Planted scores of what is scored, in the order of its logits, and what names add to them at ν = 1."""
        if sp.issparse(logits):
            return self.inputs.shortlists.scores["val"][numbers].ravel(), np.float32(0)
        rows, linear = self.features[numbers], np.float32(planted.linear_weight)
        scores, of_names = linear * planted.linear_scores_of(rows), linear * planted.name_scores_of(rows)
        return scores if evidence is None else scores + evidence[numbers], of_names

    def _evaluators(self, number: int, *metrics: str) -> list[Evaluator]:
        return [self.inputs.documents.evaluator(metrics, "val", self.settings) for _ in range(number)]

    def _best(self, evaluators: Sequence[Evaluator]) -> int:
        """Place of the first with the highest ``metric``."""
        return int(np.argmax([evaluator.compute()[self.metric] for evaluator in evaluators]))


def _like(logits: Floats | sp.csr_array, values: npt.NDArray[np.floating]) -> npt.NDArray[np.floating] | sp.csr_array:
    """Other values in the place of the logits."""
    if not sp.issparse(logits):
        return values
    return sp.csr_array((values, logits.indices, logits.indptr), shape=logits.shape)
