"""From files to what training reads: documents as arrays, and all that is known of them before a network trains.

Shapes: N documents, B of a batch, L labels, S of a shortlist.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from scipy import sparse

from plant_plugin.config.options import RelevanceOptions
from plant_plugin.config.sections import Settings
from plant_plugin.data.batches import Batches, FrozenStates, Places, TokenMarks
from plant_plugin.data.documents import Corpus, Split, label_hash, load_corpus, with_sentences
from plant_plugin.data.label_column import Trained
from plant_plugin.data.token_arrays import WHOLE_DOCUMENT, TokenArrays
from plant_plugin.data.tokens import Tokens, build_tokens, encode_cached
from plant_plugin.data.unicode_forms import alike_line
from plant_plugin.errors import CheckpointError, DataError
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.evaluation.names import check_ranks
from plant_plugin.evaluation.said import counted
from plant_plugin.relevance.marks import phrase_marks
from plant_plugin.relevance.mutual_information import Floats, Relevance, Small, compute_relevance
from plant_plugin.relevance.phrases import Phrases
from plant_plugin.report.record import Further
from plant_plugin.report.result import labels_outside
from plant_plugin.report.run import Run
from plant_plugin.training.devices import count, is_first, rank

Logits = tuple[Floats, Places]  # a network's own of a batch, (B, L) or (B, S) of its shortlist, and document numbers


@dataclass(frozen=True)
class Encoded:
    """The documents of a run as arrays. Dictionaries are by split: ``train``, ``val``, ``test``.

    ``training`` is what ``arrays["train"]`` is of: the training documents and, where ``evidence.sentences`` asks for
    them, their sentences with evidence.
    """

    corpus: Corpus
    tokens: Tokens
    max_length: int  # tokens that are read of a document
    arrays: dict[str, TokenArrays]
    labels: dict[str, sparse.csr_array]  # (N, L)
    training: Split
    hashes: dict[str, str]  # of splits, labels, vocabulary and evidence
    named: int = 0  # of the labels the last so many, which only a name makes known

    @property
    def splits(self) -> list[Split]:
        """Return the documents that the arrays are of."""
        return [self.training, *self.corpus.splits[1:]]

    @property
    def document_labels(self) -> sparse.csr_array:
        """Return labels of the training documents without their sentences, (N, L)."""
        return self.labels["train"][: len(self.corpus.train)]

    @property
    def num_labels(self) -> int:
        """Return L."""
        return len(self.corpus.label_names)

    @property
    def train_counts(self) -> Places | None:
        """Return the training documents of each label, (L,), -1 where only a name makes it known.

        None where only a test file was read.
        """
        if "train" not in self.arrays:
            return None
        counts = np.bincount(self.document_labels.indices, minlength=self.num_labels)
        counts[self.num_labels - self.named :] = -1
        return counts

    @property
    def num_train(self) -> int | None:
        """Return the number of training documents; None where only a test file was read."""
        return len(self.corpus.train) if "train" in self.arrays else None

    @property
    def truncated(self) -> dict[str, float]:
        """Return the share of the documents of each split that are longer than what is read of them, in [0, 1]."""
        documents = {split.name: len(split) for split in self.corpus.splits}
        return {name: arrays.truncated / max(1, documents[name]) for name, arrays in self.arrays.items()}

    def split(self, name: str) -> Split:
        """Return the documents that the arrays of a split are of."""
        return next(split for split in self.splits if split.name == name)

    def texts(self, name: str, documents: Iterable[int]) -> list[str]:
        """Return the texts of documents of a split, by their numbers in its arrays."""
        texts = self.split(name).texts
        return [texts[document] for document in documents]

    def outside(self, name: str) -> Places:
        """Return how many labels of each document of a split are not in the label set, (N,)."""
        return labels_outside(self.split(name).labels, self.corpus.label_names)

    def evaluator(
        self, metrics: Sequence[str], split: str, settings: Settings, *, keep_documents: bool = False
    ) -> Evaluator:
        """Return an evaluator of a split for named metrics at the configured ``metric_threshold``."""
        probability = settings.metric_threshold
        return Evaluator(
            self.num_labels,
            metrics=metrics,
            train_label_counts=self.train_counts,
            num_train=self.num_train,
            thresholds={"0.5": float(np.log(probability) - np.log1p(-probability))},
            propensity=(settings.propensity_a, settings.propensity_b),
            outside=self.outside(split) if "MAP-gold" in metrics else None,
            keep_documents=keep_documents,
        )


def prepare(
    settings: Settings, run: Run, tokens: Tokens | None = None, label_names: list[str] | None = None
) -> Encoded:
    """Read all splits, build the vocabulary from training and encode; or with a checkpoint's vocabulary and labels.

    Raises:
        DataError: The files cannot be used, or there is nothing to train on.
        ConfigError: A metric that needs more labels than there are.
        CheckpointError: ``label_file`` names other labels than the checkpoint.
    """
    with run.phase("read"):
        corpus = load_corpus(settings, Trained(labels=frozenset(label_names or ())))
    said = [f"{line}: label_separator says another one" for split in corpus.splits
            if split.column and (line := split.column.said)]  # fmt: skip
    for line in dict.fromkeys([*said, *(split.note for split in corpus.splits if split.note)]):
        run.log(line)
    if line := alike_line(corpus.label_names):
        run.log(line)
    if label_names is not None:
        if settings.label_file and corpus.label_names != label_names:
            what = f"the checkpoint knows {len(label_names)} labels, label_file names {len(corpus.label_names)} others"
            fix = "leave out label_file, or train on these labels"
            raise CheckpointError(what, where=settings.label_file, fix=fix)
        corpus = corpus.with_labels(label_names)
    keys = dict.fromkeys(settings.monitor_metrics, "monitor_metrics")
    num_labels = len(corpus.label_names)
    keys |= {settings.stop_on: "early_stopping_metric", settings.val_metric: "val_metric"}
    check_ranks(keys, settings.save_k_predictions, num_labels, most=num_labels - 1)
    with run.phase("tokens"):
        tokens = tokens or build_tokens(settings, corpus.train)
        sentences = settings.evidence.sentences and corpus.train.evidence is not None and not settings.eval
        training = with_sentences(corpus.train) if sentences else corpus.train
        encode = functools.partial(
            encode_cached, tokens, max_length=settings.max_seq_length, cache_dir=settings.cache_dir
        )
        arrays = {split.name: encode(split) for split in corpus.splits if len(split)}
        _report(corpus, arrays, len(training) - len(corpus.train), run)
        if training is not corpus.train:
            first = len(corpus.train)
            added = replace(training, texts=training.texts[first:], labels=training.labels[first:])
            arrays["train"] = arrays["train"].followed_by(encode(added))
    labels = {split.name: corpus.label_matrix(split) for split in (training, *corpus.splits[1:])}
    hashes = {"labels": label_hash(corpus.label_names), "vocabulary": tokens.hash()}
    hashes |= {split.name: split.hash() for split in corpus.splits if len(split)}
    if corpus.train.evidence is not None:
        hashes["evidence"] = hashlib.sha256(json.dumps(corpus.train.evidence).encode()).hexdigest()
    if not settings.eval and not labels["train"].nnz:
        raise DataError("no training document has a label of the label set", where=str(settings.training_file))
    return Encoded(corpus, tokens, settings.max_seq_length or WHOLE_DOCUMENT, arrays, labels, training, hashes)


def planted_relevance(documents: Encoded, options: RelevanceOptions, run: Run) -> Relevance:
    """Compute the relevance of the training split, or read it where this run has already written it."""
    key = json.dumps([asdict(options), documents.training.hash()])
    expect = {name: documents.hashes[name] for name in ("labels", "vocabulary")}
    expect["options"] = hashlib.sha256(key.encode()).hexdigest()
    path, tokens = run.folder / "relevance.npz", documents.tokens
    with run.phase("relevance"):
        if path.is_file():
            try:
                return Relevance.load(path, expect, (documents.num_labels, tokens.size))
            except CheckpointError as error:  # the data are the same, see training/resume.py: so the file is damaged
                run.log(f"{error.message}\nThe relevance is computed again.")
        split = documents.arrays["train"], documents.labels["train"]
        relevance = compute_relevance(*split, tokens.size, tokens.special_ids, options)
        if is_first():
            relevance.save(path, **expect)
    return relevance


def _report(corpus: Corpus, arrays: dict[str, TokenArrays], sentences: int, run: Run) -> None:
    """Say what was read and what was left out; counts only."""
    for split in corpus.splits:
        if not len(split):
            continue
        lengths = arrays[split.name].lengths
        run.log(
            f"{split.name}: {counted(len(split), 'document')} ({split.dropped} dropped, {split.without_labels} "
            f"without labels, {arrays[split.name].unknown_only} without a known token), "
            f"{lengths.mean():.0f} tokens each, {lengths.max()} at most, {arrays[split.name].truncated} cut there"
        )
    if corpus.train.evidence is not None:
        marked = sum(map(bool, corpus.train.evidence))
        run.log(f"evidence of {counted(marked, 'training document')}; {counted(sentences, 'sentence')} of theirs too")
    known = set(corpus.train.texts)
    for split in corpus.splits[1:]:
        if repeated := sum(text in known for text in split.texts):
            run.log(f"{split.name}: texts that are in training too: {repeated}, so its numbers are too good")
    unseen, dropped = corpus.counts["labels_unseen_in_training"], corpus.counts["dropped_labels"]
    run.log(
        f"{counted(len(corpus.label_names), 'label')}; test has {counted(unseen, 'label')} that training never shows "
        f"and {counted(dropped, 'occurrence')} of labels outside the label set"
    )


@dataclass(frozen=True)
class Shortlists:
    """The labels of each document that a network scores, by split; without any it scores all."""

    labels: Mapping[str, Small] = field(default_factory=dict)  # (N, S), ascending
    # Planted scores (N, S) of these at γ = 1, of validation and test, where labels are too many to score others.
    scores: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def length(self) -> int | None:
        """S; None: all labels are scored."""
        return next((labels.shape[1] for labels in self.labels.values()), None)


@dataclass(frozen=True)
class Inputs:
    """The documents, and what is known of them before a network trains; dictionaries are by split."""

    documents: Encoded
    relevance: Relevance | None = None  # of words for labels; None: nothing is planted
    marks: Mapping[str, TokenMarks] = field(default_factory=dict)  # by phrases, for the planted prior
    states: Mapping[str, FrozenStates] = field(default_factory=dict)  # of a frozen language model, where they are kept
    shortlists: Shortlists = field(default_factory=Shortlists)
    rows: Places | None = None  # of the training documents that the network reads; None: all

    def batches(
        self,
        split: str,
        size: int,
        shuffle: bool = False,
        seed: int = 0,
        rows: Places | None = None,
    ) -> Batches:
        """Return batches of a split, of ``size`` documents, of all its ``rows`` or some."""
        documents = self.documents
        optional = self.states.get(split), self.marks.get(split), self.shortlists.labels.get(split)
        arrays, labels, pad = documents.arrays[split], documents.labels[split], documents.tokens.pad_id
        return Batches(arrays, labels, size, pad, shuffle, seed, *optional, rows)

    def stage_batches(self, size: int, settings: Settings) -> tuple[Batches, Batches | None]:
        """Return this process's part of a stage's training batches and, where there are any, validation batches."""
        train = self.batches("train", size, settings.shuffle, settings.seed or 0, self.rows)
        if "val" not in self.documents.arrays:
            return train.take_part(rank(), count()), None
        val = self.batches("val", settings.eval_batch_size)
        return train.take_part(rank(), count()), val.take_part(rank(), count())

    def placed(self, split: str, documents: Places, logits: Floats) -> Floats | sparse.csr_array:
        """Return logits of documents (B,) of a split: (B, L) as they are, of the shortlist (B, S) sparse (B, L)."""
        if split not in self.shortlists.scores:
            return logits
        columns, ends = self.shortlists.labels[split][documents], np.arange(len(documents) + 1) * logits.shape[1]
        shape = len(documents), self.documents.num_labels
        return sparse.csr_array((logits.ravel(), columns.ravel(), ends), shape=shape)


def rows_read_again(documents: Encoded, further: Further | None, seed: int | None) -> Places | None:
    """Return rows that a network trained further reads: new documents, as many others at random, sentences of both."""
    if further is None:
        return None
    known = len(documents.corpus.train)
    new = min(further["new"] + further["waiting"], known)
    again = min(new, known - new)
    drawn = new + np.random.default_rng(seed or 0).choice(known - new, again, replace=False)
    parents = np.array(documents.training.parents or range(known))
    return np.flatnonzero(np.isin(parents, [*range(new), *drawn.tolist()]))


def mark_tokens(
    documents: Encoded, phrases: Phrases | None, strength: float, run: Run, *, trains: bool
) -> dict[str, TokenMarks]:
    """Return marks that phrases of training documents leave on tokens of every split that is read, for the prior.

    Training documents will be where a network ``trains``, test documents where the run tests. ``strength`` is
    ``evidence.prior``: what a phrase that is sure of a label adds to the prior of its words.
    """
    marks: dict[str, TokenMarks] = {}
    if phrases is None or not strength:
        return marks
    places = functools.partial(documents.tokens.spans, max_length=documents.max_length)
    for split in documents.splits:
        name = split.name
        if name in documents.arrays and {"train": trains, "test": run.tests}.get(name, True):
            with run.phase("test" if name == "test" else "tokens"):
                parents = (split.parents or range(len(split))) if name == "train" else None
                marks[name] = phrase_marks(phrases, split.texts, documents.arrays[name], places, strength, parents)
    return marks
