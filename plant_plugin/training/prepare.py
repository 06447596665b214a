"""From files to what training reads: documents, token arrays, sparse labels and the relevance."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

from plant_plugin.config import Config
from plant_plugin.config.options import RelevanceOptions, StageOptions
from plant_plugin.data.batches import Batches, FrozenStates, TokenMarks
from plant_plugin.data.documents import Corpus, Split, load_corpus, with_sentences
from plant_plugin.data.token_arrays import WHOLE_DOCUMENT
from plant_plugin.data.tokens import TokenArrays, Tokens, build_tokens, encode_cached
from plant_plugin.errors import CheckpointError, DataError
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.evaluation.names import check_ranks
from plant_plugin.files import sha256
from plant_plugin.relevance import Relevance, compute_relevance
from plant_plugin.relevance.marks import phrase_marks
from plant_plugin.relevance.phrases import Phrases
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.relevance.site_counts import SiteCounts
from plant_plugin.report.result import labels_outside
from plant_plugin.report.run import Run
from plant_plugin.training.devices import count, is_first, rank


@dataclass
class Prepared:
    """Everything that a stage reads; made once per run. Dictionaries are by split: ``train``, ``val``, ``test``.

    ``training`` is what ``arrays["train"]`` is of: the training documents and, where ``evidence.sentences`` asks for
    them, their sentences with evidence.
    """

    corpus: Corpus
    tokens: Tokens
    arrays: dict[str, TokenArrays]
    labels: dict[str, sparse.csr_array]  # (N, L)
    training: Split
    config: Config
    hashes: dict[str, str]  # of splits, labels, vocabulary and evidence
    relevance: Relevance | None = None  # None: nothing is planted
    planted_scores: PlantedScores | None = None
    states: dict[str, FrozenStates] = field(default_factory=dict)  # of a frozen language model, where they are kept
    marks: dict[str, TokenMarks] = field(default_factory=dict)  # by phrases, for the planted prior
    shortlists: dict[str, npt.NDArray[np.int32]] = field(default_factory=dict)  # (N, S); none: all labels are scored
    # Planted scores (N, S) of these at γ = 1, of validation and test, where labels are too many to score others
    shortlist_scores: dict[str, npt.NDArray[np.float32]] = field(default_factory=dict)

    # What phrases and sentences add to each document, (N, L), once their weights are chosen; what is not here is made.
    evidence_scores: dict[str, npt.NDArray[np.float32]] = field(default_factory=dict)

    @property
    def splits(self) -> list[Split]:
        """What the arrays are of."""
        return [self.training, *self.corpus.splits[1:]]

    @property
    def document_labels(self) -> sparse.csr_array:
        """Labels of the training documents without their sentences, (N, L)."""
        return self.labels["train"][: len(self.corpus.train)]

    @property
    def num_labels(self) -> int:
        """L."""
        return len(self.corpus.label_names)

    @property
    def shortlist_size(self) -> int | None:
        """S, how many labels of a document are scored; None: all."""
        return next((listed.shape[1] for listed in self.shortlists.values()), None)

    def placed(
        self, split: str, documents: npt.NDArray[np.int64], logits: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32] | sparse.csr_array:
        """Logits of documents (B,) of a split: (B, L) as they are, of the shortlist (B, S) sparse (B, L)."""
        if split not in self.shortlist_scores:
            return logits
        columns, ends = self.shortlists[split][documents], np.arange(len(documents) + 1) * logits.shape[1]
        return sparse.csr_array((logits.ravel(), columns.ravel(), ends), shape=(len(documents), self.num_labels))

    @property
    def train_counts(self) -> npt.NDArray[np.int64] | None:
        """Training documents of each label, (L,); None where only a test file was read."""
        if "train" not in self.arrays:
            return None
        return np.bincount(self.document_labels.indices, minlength=self.num_labels).astype(np.int64)

    @property
    def num_train(self) -> int | None:
        """Training documents; None where only a test file was read."""
        return len(self.corpus.train) if "train" in self.arrays else None

    @property
    def truncated(self) -> dict[str, float]:
        """Share of the documents of each split that are longer than what is read of them, in [0, 1]."""
        documents = {split.name: len(split) for split in self.corpus.splits}
        return {name: arrays.truncated / max(1, documents[name]) for name, arrays in self.arrays.items()}

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where the tokens of a text that are read begin and end."""
        return self.tokens.spans(text, self.config.max_seq_length or WHOLE_DOCUMENT)

    def texts(self, name: str, documents: Iterable[int]) -> list[str]:
        """The texts of documents of a split, by their numbers in its arrays."""
        texts = self._split(name).texts
        return [texts[document] for document in documents]

    def text_hashes(self, documents: Iterable[int]) -> list[str]:
        """The first 12 digits of the SHA-256 of what is trained on: they name a document to who has the file only."""
        return [hashlib.sha256(text.encode()).hexdigest()[:12] for text in self.texts("train", documents)]

    def split(
        self,
        name: str,
        size: int | None = None,
        shuffle: bool = False,
        seed: int = 0,
        tokens: int | None = None,
        rows: npt.NDArray[np.int64] | None = None,
    ) -> Batches:
        """Batches of a split: of ``tokens`` tokens or ``size`` documents, ``eval_batch_size`` where none is given."""
        size, pad = size or self.config.eval_batch_size, self.tokens.pad_id
        optional = self.states.get(name), self.marks.get(name), self.shortlists.get(name)
        return Batches(self.arrays[name], self.labels[name], size, pad, shuffle, seed, tokens, *optional, rows)

    def batches(self, options: StageOptions) -> tuple[Batches, Batches | None]:
        """Training batches of a stage and, where there is a validation split, its batches: this process's part."""
        config, rows = self.config, self._further()
        size, seed = options.batch_size or config.batch_size, config.seed or 0
        train = self.split("train", size, config.shuffle, seed, options.batch_tokens, rows).take_part(rank(), count())
        return train, self.split("val").take_part(rank(), count()) if "val" in self.arrays else None

    def _further(self) -> npt.NDArray[np.int64] | None:
        """What a network that goes on reads: the new documents, others drawn at random, and sentences of both."""
        config, documents = self.config, len(self.corpus.train)
        if config.go_on_from is None:
            return None
        new = min(config.new_documents + config.waiting_documents, documents)
        again = min(round(config.replay * new), documents - new)
        drawn = new + np.random.default_rng(config.seed or 0).choice(documents - new, again, replace=False)
        parents = np.array(self.training.parents or range(documents))
        return np.flatnonzero(np.isin(parents, [*range(new), *drawn.tolist()]))

    def outside(self, name: str) -> npt.NDArray[np.int64]:
        """Labels of each document of a split that are not in the label set, (N,)."""
        return labels_outside(self._split(name).labels, self.corpus.label_names)

    def evaluator(self, metrics: Sequence[str], split: str) -> Evaluator:
        """An evaluator of a split for named metrics at the configured ``metric_threshold``."""
        probability = self.config.metric_threshold
        return Evaluator(
            self.num_labels,
            metrics=metrics,
            train_label_counts=self.train_counts,
            num_train=self.num_train,
            thresholds={"0.5": float(np.log(probability) - np.log1p(-probability))},
            propensity=(self.config.propensity_a, self.config.propensity_b),
            outside=self.outside(split) if "MAP-gold" in metrics else None,
        )

    def _split(self, name: str) -> Split:
        return next(split for split in self.splits if split.name == name)


def prepare(config: Config, run: Run, tokens: Tokens | None = None, label_names: list[str] | None = None) -> Prepared:
    """Read all splits, build the vocabulary from training and encode; or with a checkpoint's vocabulary and labels.

    Raises:
        DataError: The files cannot be used, or there is nothing to train on.
        ConfigError: A metric that needs more labels than there are.
        CheckpointError: ``label_file`` names other labels than the checkpoint.
    """
    with run.phase("read"):
        corpus = load_corpus(config)
    if label_names is not None:
        if config.label_file and corpus.label_names != label_names:
            what = f"the checkpoint knows {len(label_names)} labels, label_file names {len(corpus.label_names)} others"
            fix = "leave out label_file, or train on these labels"
            raise CheckpointError(what, where=config.label_file, fix=fix)
        corpus = corpus.with_labels(label_names)
    keys = dict.fromkeys(config.monitor_metrics, "monitor_metrics")
    num_labels, stop_on = len(corpus.label_names), config.early_stopping_metric or config.val_metric
    keys |= {stop_on: "early_stopping_metric", config.val_metric: "val_metric"}
    check_ranks(keys, config.save_k_predictions, num_labels, most=num_labels - 1)
    with run.phase("tokens"):
        tokens = tokens or build_tokens(config, corpus.train)
        sentences = config.evidence.sentences and corpus.train.evidence is not None and not config.eval
        training = with_sentences(corpus.train) if sentences else corpus.train
        encode = functools.partial(encode_cached, tokens, max_length=config.max_seq_length, cache_dir=config.cache_dir)
        arrays = {split.name: encode(split) for split in corpus.splits if len(split)}
        _report(corpus, arrays, len(training) - len(corpus.train), run)
        if training is not corpus.train:
            first = len(corpus.train)
            behind = replace(training, texts=training.texts[first:], labels=training.labels[first:])
            arrays["train"] = arrays["train"].followed_by(encode(behind))
    labels = {split.name: corpus.label_matrix(split) for split in (training, *corpus.splits[1:])}
    hashes = {"labels": corpus.label_hash(), "vocabulary": tokens.hash()}
    hashes |= {split.name: split.hash() for split in corpus.splits if len(split)}
    if corpus.train.evidence is not None:
        hashes["evidence"] = hashlib.sha256(json.dumps(corpus.train.evidence).encode()).hexdigest()
    if not config.eval and not labels["train"].nnz:
        raise DataError("no training document has a label of the label set", where=str(config.training_file))
    return Prepared(corpus, tokens, arrays, labels, training, config, hashes)


def mark_tokens(prepared: Prepared, phrases: Phrases | None, strength: float, splits: Iterable[Split]) -> None:
    """Mark tokens by phrases of the training documents, for the planted prior, with ``evidence.prior`` as strength."""
    if phrases is None or not strength:
        return
    for split in splits:
        if split.name in prepared.arrays:
            own = (split.parents or range(len(split))) if split.name == "train" else None
            of_split = split.texts, prepared.arrays[split.name], prepared.places
            prepared.marks[split.name] = phrase_marks(phrases, *of_split, strength, own)


def add_relevance(prepared: Prepared, options: RelevanceOptions, run: Run) -> None:
    """Compute the relevance of the training split or of counts, or read it where this run has already written it."""
    asked = asdict(options)
    counts = asked.pop("counts")
    key = json.dumps([asked, sha256(counts) if counts else prepared.training.hash()])
    expect = {name: prepared.hashes[name] for name in ("labels", "vocabulary")}
    expect["options"] = hashlib.sha256(key.encode()).hexdigest()
    path = run.folder / "relevance.npz"
    with run.phase("relevance"):
        if path.is_file():
            try:
                shape = (prepared.num_labels, prepared.tokens.size)
                prepared.relevance = Relevance.load(path, expect, shape)
                return
            except CheckpointError as error:  # the data are the same, see training/resume.py: so the file is damaged
                run.log(f"{error.message}\nThe relevance is computed again.")
        tokens, (arrays, labels) = prepared.tokens, (prepared.arrays["train"], prepared.labels["train"])
        if counts:
            prepared.relevance = _relevance_of_counts(prepared, Path(counts), options, run)
        else:
            prepared.relevance = compute_relevance(arrays, labels, tokens.size, tokens.special_ids, options)
        if is_first():
            prepared.relevance.save(path, **expect)


def _relevance_of_counts(prepared: Prepared, path: Path, options: RelevanceOptions, run: Run) -> Relevance:
    """The relevance that sites have counted; how much of what is trained on they know is said."""
    found, names = SiteCounts.load(path), prepared.corpus.label_names
    if found.cut != type(prepared.tokens).__name__:
        what = f"counts {found.cut}, this network reads {type(prepared.tokens).__name__}"
        raise DataError(what, where=str(path), fix="count with the network_config that is trained")
    relevance = found.relevance(names, prepared.tokens, options)
    known = int((np.diff(relevance.matrix.indptr) > 0).sum())
    run.log(f"relevance of {found.documents:,} counted documents; {known} of {len(names)} labels have words there")
    if not known:
        raise DataError("no label here has a word there", where=str(path), fix="merge counts of the same labels")
    return relevance


def _report(corpus: Corpus, arrays: dict[str, TokenArrays], sentences: int, run: Run) -> None:
    """Say what was read and what was left out; counts only."""
    for split in corpus.splits:
        if not len(split):
            continue
        lengths = arrays[split.name].lengths
        run.log(
            f"{split.name}: {len(split)} documents ({split.dropped} dropped, {split.without_labels} "
            f"without labels, {arrays[split.name].unknown_only} without a known token), "
            f"{lengths.mean():.0f} tokens each, {lengths.max()} at most, {arrays[split.name].truncated} cut there"
        )
    if corpus.train.evidence is not None:
        marked = sum(map(bool, corpus.train.evidence))
        run.log(f"evidence of {marked} training documents; {sentences} sentences of theirs are trained on too")
    known = set(corpus.train.texts)
    for split in corpus.splits[1:]:
        if repeated := sum(text in known for text in split.texts):
            run.log(f"{split.name}: {repeated} texts are in training too, so its numbers are too good")
    unseen, dropped = corpus.counts["labels_unseen_in_training"], corpus.counts["dropped_labels"]
    run.log(
        f"{len(corpus.label_names)} labels; in test {unseen} labels were never seen in training "
        f"and {dropped} label occurrences are outside the label set"
    )
