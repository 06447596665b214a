"""From files to what training reads: documents, token arrays, sparse labels, and the relevance of words."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from plant_plugin.config.options import RelevanceOptions
from plant_plugin.config.sections import Settings
from plant_plugin.data.documents import Corpus, Split, load_corpus, with_sentences
from plant_plugin.data.token_arrays import WHOLE_DOCUMENT, TokenArrays
from plant_plugin.data.tokens import Tokens, build_tokens, encode_cached
from plant_plugin.errors import CheckpointError, DataError
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.evaluation.names import check_ranks
from plant_plugin.relevance.mutual_information import Relevance, compute_relevance
from plant_plugin.report.result import labels_outside
from plant_plugin.report.run import Run
from plant_plugin.training.devices import is_first


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
    def train_counts(self) -> npt.NDArray[np.int64] | None:
        """Return the training documents of each label, (L,); None where only a test file was read."""
        if "train" not in self.arrays:
            return None
        return np.bincount(self.document_labels.indices, minlength=self.num_labels).astype(np.int64)

    @property
    def num_train(self) -> int | None:
        """Return the number of training documents; None where only a test file was read."""
        return len(self.corpus.train) if "train" in self.arrays else None

    @property
    def truncated(self) -> dict[str, float]:
        """Return the share of the documents of each split that are longer than what is read of them, in [0, 1]."""
        documents = {split.name: len(split) for split in self.corpus.splits}
        return {name: arrays.truncated / max(1, documents[name]) for name, arrays in self.arrays.items()}

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return begin and end of the tokens of a text that are read."""
        return self.tokens.spans(text, self.max_length)

    def split(self, name: str) -> Split:
        """Return the documents that the arrays of a split are of."""
        return next(split for split in self.splits if split.name == name)

    def texts(self, name: str, documents: Iterable[int]) -> list[str]:
        """Return the texts of documents of a split, by their numbers in its arrays."""
        texts = self.split(name).texts
        return [texts[document] for document in documents]

    def text_hashes(self, documents: Iterable[int]) -> list[str]:
        """Return the first 12 digits of the SHA-256 of training texts: who has the file finds the texts."""
        return [hashlib.sha256(text.encode()).hexdigest()[:12] for text in self.texts("train", documents)]

    def outside(self, name: str) -> npt.NDArray[np.int64]:
        """Return how many labels of each document of a split are not in the label set, (N,)."""
        return labels_outside(self.split(name).labels, self.corpus.label_names)

    def evaluator(self, metrics: Sequence[str], split: str, settings: Settings) -> Evaluator:
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
        corpus = load_corpus(settings)
    if label_names is not None:
        if settings.label_file and corpus.label_names != label_names:
            what = f"the checkpoint knows {len(label_names)} labels, label_file names {len(corpus.label_names)} others"
            fix = "leave out label_file, or train on these labels"
            raise CheckpointError(what, where=settings.label_file, fix=fix)
        corpus = corpus.with_labels(label_names)
    keys = dict.fromkeys(settings.monitor_metrics, "monitor_metrics")
    num_labels, stop_on = len(corpus.label_names), settings.early_stopping_metric or settings.val_metric
    keys |= {stop_on: "early_stopping_metric", settings.val_metric: "val_metric"}
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
    hashes = {"labels": corpus.label_hash(), "vocabulary": tokens.hash()}
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
