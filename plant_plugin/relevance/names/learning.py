"""Learn what names say of texts: a lexicon, towers, a detector of spans, and trees that weigh them.

The trees are trained on labels that few training documents have, as if these were unseen: what was learned of names
for that knows nothing of the words that were marked for them. So what they learn holds for labels without any document.

Source: ours; docs/open_labels.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from plant_plugin.data.label_names import LabelName
from plant_plugin.data.text import DocumentEvidence, Spans
from plant_plugin.relevance.mutual_information import Floats
from plant_plugin.relevance.names.candidates import COUNTS, Proposer, Truths
from plant_plugin.relevance.names.letter_towers import Towers
from plant_plugin.relevance.names.marked_words import said_stems, stems_in, words_in
from plant_plugin.relevance.names.name_index import WINDOW, NameIndex, stems_with_places
from plant_plugin.relevance.names.span_detector import SpanDetector
from plant_plugin.relevance.names.translation import Translated, learn_lexicon
from plant_plugin.relevance.names.trees import Trees
from plant_plugin.relevance.phrases import Phrases, touched, words_of

MOST_DOCUMENTS = 3000  # that trees and the detector are trained on
FOLDS = 3  # of the detector: what it says of a training document, it learned from others
FIRST_NAMES = 3  # of a label and a language that other words of it are paired with
HELD = (
    0.8  # cover of a name in a document that has its label, so that its words count as marked, where nobody marked any
)
PAIRS = 60_000  # that towers are trained on
RARE, PARTS = 3, 2  # training documents of labels that trees take for unseen ones, a part of these at a time


def learn(
    rows: Sequence[LabelName],
    labels: Sequence[str],
    texts: Sequence[str],
    document_labels: Sequence[Sequence[str]],
    evidence: Sequence[DocumentEvidence] | None,
    phrases: Phrases | None,
    seed: int,
) -> tuple[Proposer, Trees]:
    """Return what finds candidates and what weighs them; arguments as of :meth:`.open_labels.OpenLabels.fit`."""
    index = NameIndex.of([(row.label, row.name) for row in rows])
    counts = Counter(label for names in document_labels for label in set(names))
    if evidence is None:
        evidence = _found_evidence(index, texts, document_labels)
    pairs, spans = _pairs_of_names(rows), _pairs_of_spans(rows, texts, evidence)
    index = replace(index, said=said_stems(index, _lexicon(rows, pairs, spans), spans))
    rare = sorted(label for label in index.labels if 0 < counts[label] <= RARE)
    chosen = _documents_read(document_labels, set(rare))
    words = [words_of(texts[document]) for document in chosen]
    marks = [_marks(places, evidence[document]) for (_, places), document in zip(words, chosen, strict=True)]
    likely = _likely([text for text, _ in words], marks, seed)

    def proposer(hidden: Collection[str], detector: SpanDetector | None = None) -> Proposer:
        known = [pair for pair in spans if pair[2] not in hidden]
        towers = Towers.fit(_drawn(pairs + known, seed), seed)
        return Proposer(index, _lexicon(rows, pairs, known), towers, detector)

    unseen = np.array([counts[label] == 0 for label in index.labels])
    place_of = {label: place for place, label in enumerate(index.labels)}
    examples: list[tuple[Floats, Truths]] = [(np.empty((0, COUNTS), np.float32), np.empty(0, bool))]
    for part in range(PARTS):
        hidden = set(rare[part::PARTS])
        blind, silent = proposer(hidden), np.array([label in hidden for label in labels], dtype=bool)
        shown = [not (none or label in hidden) for label, none in zip(index.labels, unseen, strict=True)]
        block, others = blind.block(unseen), blind.block(np.array(shown))
        for document, read, of_words in zip(chosen, words, likely, strict=True):
            own = sorted(place_of[label] for label in hidden.intersection(document_labels[document]))
            if own or not part:  # a document without such labels is an example once
                spoken = spoken_words(phrases, texts[document], read[1], document, silent)
                candidates = blind.candidates(blind.read(*read, spoken, of_words), block, others, own)
                examples.append((candidates.counts, np.isin(candidates.labels, own)))
    counted, truth = zip(*examples, strict=True)
    trees = Trees.fit(np.concatenate(counted), np.concatenate(truth), seed)
    return proposer((), SpanDetector.fit([text for text, _ in words], marks, seed)), trees


def _likely(texts: Sequence[Sequence[str]], marks: Sequence[Truths], seed: int) -> list[Floats]:
    """Return what detectors of the other documents say of each, (W,)."""
    likely: list[Floats] = [np.empty(0, np.float32)] * len(texts)
    for fold in range(FOLDS):
        others = [number for number in range(len(texts)) if number % FOLDS != fold]
        detector = SpanDetector.fit([texts[other] for other in others], [marks[other] for other in others], seed)
        for number in range(fold, len(texts), FOLDS):
            likely[number] = detector.probabilities(texts[number])
    return likely


def _documents_read(document_labels: Sequence[Sequence[str]], single: set[str]) -> list[int]:
    """Return the documents that trees read: first those with labels that no other has."""
    order = sorted(range(len(document_labels)), key=lambda row: not single.intersection(document_labels[row]))
    return sorted(order[:MOST_DOCUMENTS])


def _pairs_of_names(rows: Sequence[LabelName]) -> list[tuple[str, str, str]]:
    """Pair the names of each label: further ones with the first, other languages with the first few of that one."""
    pairs = []
    for label, names in _by_label(rows).items():
        language = names[0].language
        first = [row.name for row in names if row.language == language]
        pairs += [(name, first[0], label) for name in first[1:]]
        pairs += [(row.name, name, label) for row in names if row.language != language for name in first[:FIRST_NAMES]]
    return pairs


def _pairs_of_spans(
    rows: Sequence[LabelName], texts: Sequence[str], evidence: Sequence[DocumentEvidence]
) -> list[tuple[str, str, str]]:
    """Pair what was marked for a label with its names, the first few of each language."""
    named = _by_label(rows)
    pairs = set()
    for text, marks in zip(texts, evidence, strict=True):
        for label, spans in marks.items():
            words = " ".join(text[start:end] for start, end in spans).lower()
            taken: Counter[str] = Counter()
            for row in named.get(label, ()):
                taken[row.language] += 1
                if taken[row.language] <= FIRST_NAMES:
                    pairs.add((words, row.name, label))
    return sorted(pairs)


def _by_label(rows: Sequence[LabelName]) -> dict[str, list[LabelName]]:
    named: dict[str, list[LabelName]] = {}
    for row in rows:
        named.setdefault(row.label, []).append(row)
    return named


def _drawn(pairs: Sequence[tuple[str, str, str]], seed: int) -> list[tuple[list[str], list[str], str]]:
    """Return the pairs as words, at most ``PAIRS`` of them."""
    if len(pairs) > PAIRS:
        pairs = [pairs[row] for row in np.random.default_rng(seed).choice(len(pairs), PAIRS, replace=False).tolist()]
    return [(words_in(first), words_in(second), label) for first, second, label in pairs]


def _lexicon(
    rows: Sequence[LabelName], pairs: Sequence[tuple[str, str, str]], spans: Sequence[tuple[str, str, str]]
) -> dict[str, list[tuple[str, float]]]:
    """Learn the lexicon from names, and marked words, beside the first name of their label."""
    first = {label: names[0].name for label, names in _by_label(rows).items()}
    both = sorted({(words, first[label]) for words, _, label in [*pairs, *spans] if words != first[label]})
    return learn_lexicon([(stems_in(words), stems_in(name)) for words, name in both])


def _marks(places: Spans, marks: DocumentEvidence) -> Truths:
    """Return which words of a text were marked, (W,)."""
    marked = np.zeros(len(places), bool)
    marked[sorted(touched(places, [span for spans in marks.values() for span in spans]))] = True
    return marked


def spoken_words(
    phrases: Phrases | None, text: str, places: Spans, left_out: int | None = None, silent: Truths | None = None
) -> Floats:
    """Return the highest p of the phrases that hold each word of a text, (W,), without ``silent`` labels (L,)."""
    spoken = np.zeros(len(places), np.float32)
    if phrases is None or not places:
        return spoken
    starts = np.array([start for start, _ in places])
    for match in phrases.matches(text, left_out):
        shares = match.shares if silent is None else match.shares[~silent[match.labels]]
        if len(shares):
            p = -np.expm1(-shares.max())
            for spans in match.spans:
                words = np.searchsorted(starts, [start for start, _ in spans]).clip(max=len(places) - 1)
                spoken[words] = np.maximum(spoken[words], p)
    return spoken


def _found_evidence(
    index: NameIndex, texts: Sequence[str], document_labels: Sequence[Sequence[str]]
) -> list[DocumentEvidence]:
    """Find the names of a document's own labels in it."""
    place_of = {label: place for place, label in enumerate(index.labels)}
    translated = Translated(index.stems, {})
    evidence: list[DocumentEvidence] = []
    for text, labels in zip(texts, document_labels, strict=True):
        words, places = stems_with_places(text)
        own = {place_of[label] for label in labels if label in place_of}
        marks: DocumentEvidence = {}
        if own:
            found = index.find(words, translated)
            for number in np.flatnonzero(np.isin(index.of_label[found.names], list(own)) & (found.cover >= HELD)):
                name, first = found.names[number], found.places[number]
                stems = set(index.matrix.indices[index.matrix.indptr[name] : index.matrix.indptr[name + 1]].tolist())
                inside = [
                    place
                    for place in range(first, min(first + WINDOW, len(words)))
                    if index.stems.get(words[place]) in stems
                ]
                if inside:
                    span = (places[inside[0]][0], places[inside[-1]][1])
                    marks.setdefault(index.labels[index.of_label[name]], []).append(span)
        evidence.append(marks)
    return evidence
