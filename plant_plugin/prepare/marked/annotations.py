"""What annotators said in any tool: the one place where each annotation becomes a mark of a document or is counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from plant_plugin.data.text import Spans, is_valid
from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.codes import NAME, Code, alike, same
from plant_plugin.prepare.marked.marked import Marked
from plant_plugin.prepare.marked.places import Places

UNION, MAJORITY = "union", "majority"
ENDINGS = "txt|text|html?|pdf|docx?|odt|rtf|md|xml|jsonl?|csv|tsv|xlsx?|gz|zip|png|jpe?g|tiff?|gif|wav|mp3|mp4"
BEGINNING = r"(?:[A-Za-z][A-Za-z0-9+.-]*://|data:[\w/+.-]+[;,]|file:|~?/|\.{1,2}/|[A-Za-z]:[\\/]|\\\\)"
PATH = re.compile(
    rf"(?i){BEGINNING}\S*|(?:{BEGINNING}[^\n]{{0,1000}}|\S{{1,1000}}|(?:[\w()-]+[ /\\]){{1,4}}[\w()-]+)\.(?:{ENDINGS})"
)
OTHERWISE = {
    "marks": "; or --repair to find it again nearby by its words, --skip-bad to leave it out",
    "documents": "; or --skip-bad to leave it out",
}


@dataclass(frozen=True)
class Choices:
    """What of the annotations counts.

    Attributes:
        without: Attributes (``Negated``, or ``Certainty=Low``) and labels; what has one is left out.
        terminologies: Whose codes count; all if empty.
        annotators: Of a document that several annotated: ``union`` of their labels, those of the ``majority``, or
            those of the annotator of this name or number.
        skip_bad: Leave out bad documents and marks.
        repair: Find bad marks again nearby, by their words.
    """

    without: tuple[str, ...] = ()
    terminologies: tuple[str, ...] = ()
    annotators: str = UNION
    skip_bad: bool = False
    repair: bool = False


EVERYTHING = Choices()


@dataclass(frozen=True)
class Annotation:
    """What somebody gave a document, or words of it.

    Attributes:
        codes: The labels.
        where: File and line, for errors.
        spans: In characters of the text; None: it is of the whole document.
        words: What the tool says is there.
        region: What annotations of the same words have in common, which share their attributes.
        attributes: Names, and ``NAME=VALUE``.
        otherwise: The label if there is no code.
    """

    codes: tuple[Code, ...]
    where: str
    spans: Spans | None = None
    words: str | None = field(default=None, repr=False)
    region: object = None
    attributes: frozenset[str] = frozenset()
    otherwise: str = ""

    def names(self) -> set[str]:
        """Labels and attributes, as they compare."""
        return {name.casefold() for name in (*(code.name for code in self.codes), *self.attributes)}


@dataclass(frozen=True)
class Annotator:
    """What one person said about a document; ``names``: of the person, ``truth``: it is the one that counts."""

    annotations: Sequence[Annotation]
    names: frozenset[str] = frozenset()
    truth: bool = False

    def said(self) -> set[tuple[Code, tuple[tuple[int, int], ...]]]:
        """Return what can differ from what others say."""
        return {(code, tuple(each.spans or ())) for each in self.annotations for code in each.codes}


@dataclass(frozen=True)
class Annotated:
    """A document as a tool exports it."""

    text: str = field(repr=False)
    where: str
    annotators: Sequence[Annotator]


class Annotations:
    """Annotated documents become marked ones, as a user chooses.

    Attributes:
        choices: What counts.
        counts: What was left out, repaired and not read, by its kind.
    """

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.counts = Counter[str]({f"marks_left_out_with_{name}": 0 for name in choices.without})
        self._without = {name.casefold(): f"marks_left_out_with_{name}" for name in choices.without}
        self._terminologies = set(map(same, choices.terminologies))
        self._alike: set[str] = set()

    def count(self, name: str, number: int = 1) -> None:
        """Count what happened; nothing is said of what did not."""
        if number:
            self.counts[name] += number

    def not_read(self, kind: object, number: int = 1) -> None:
        """Count what is of a kind that nothing is read of; a kind is shown if it can be a name of a schema."""
        shown = kind if isinstance(kind, str) and NAME.fullmatch(kind) else "results_of_other_kinds"
        self.count(f"{shown}_not_read", number)

    def attribute(self, name: str, value: str | None = None) -> frozenset[str]:
        """Return the names of an attribute, counted unless it leaves something out."""
        names = {name} if value is None else {name, f"{name}={value}"}
        if not self._without.keys() & set(map(str.casefold, names)):
            self.not_read(f"attribute_{name}")
        return frozenset(names)

    @contextmanager
    def tolerated(self, kind: str) -> Iterator[None]:
        """Leave out what is bad and count it, if the user says so; ``kind``: ``marks`` or ``documents``.

        Raises:
            DataError: Something is bad, and the user did not say so.
        """
        try:
            yield
        except DataError as error:
            if self.choices.skip_bad:
                self.count(f"bad_{kind}_left_out")
                return
            fix = error.fix or "mend it"
            raise DataError(
                error.what, where=error.where, fix=fix if "--skip-bad" in fix else fix + OTHERWISE[kind]
            ) from None

    def marked(self, sets: Mapping[str, Sequence[Annotated]]) -> dict[str, list[Marked]]:
        """Return the marked documents of each split.

        Raises:
            DataError: Something is bad and not to be left out, or nobody is called as the chosen annotator, or no code
                is of a chosen terminology.
        """
        documents = [document for part in sets.values() for document in part]
        annotators = [annotator for document in documents for annotator in document.annotators]
        self._check_annotator(annotators)
        annotations = [each for annotator in annotators for each in annotator.annotations]
        codes = [code for each in annotations for code in self._chosen(each.codes)]
        if self._terminologies and annotations and not codes:
            above = {parts[0] for each in annotations for code in each.codes if (parts := self._above(code))}
            names = sorted(name for name in above if NAME.fullmatch(name))[:10]
            fix = (
                f"it has codes of {', '.join(names)}"
                if names
                else "its codes name no terminology: leave the option out"
            )
            raise DataError("no code is of this terminology", where="--terminology", fix=fix)
        self._alike = alike(codes)
        texts = Counter(document.text for document in documents if document.text.strip())
        self.count("texts_that_occur_again", texts.total() - len(texts))
        self.count("codes_spelled_alike_in_several_terminologies", len(self._alike))
        return {split: [marked for each in part for marked in self._document(each)] for split, part in sets.items()}

    def _check_annotator(self, annotators: Sequence[Annotator]) -> None:
        names = {name for annotator in annotators for name in annotator.names}
        if self.choices.annotators not in (UNION, MAJORITY, *names):
            numbers = ", ".join(sorted(filter(str.isdecimal, names))[:20])
            fix = f"{UNION}, {MAJORITY}, or the name or number of an annotator" + (f": {numbers}" if numbers else "")
            raise DataError("nobody of this name annotated a document", where="--annotators", fix=fix)

    def _above(self, code: Code) -> tuple[str, ...]:
        """What a code is of, or says before a colon."""
        before, colon, _ = code.name.partition(":")
        return code.above or ((before,) if colon else ())

    def _chosen(self, codes: Sequence[Code]) -> list[Code]:
        """Codes of the chosen terminologies, without what a label has of it before a colon."""
        if not self._terminologies:
            return list(codes)
        ours = [code for code in codes if (above := self._above(code)) and same(above[0]) in self._terminologies]
        return [code if code.above else Code(code.name.partition(":")[2], self._above(code)) for code in ours]

    def _document(self, document: Annotated) -> Iterator[Marked]:
        with self.tolerated("documents"):
            if len(document.text) < 5000 and PATH.fullmatch(document.text.strip()):
                fix = "export the texts themselves (Label Studio: without valueType=url), or read the files into it"
                raise DataError("the text is the path of a file or an address", where=document.where, fix=fix)
            chosen = self._annotators(document)
            names = (code.name for annotator in chosen for each in annotator.annotations for code in each.codes)
            if not is_valid("".join((document.text, *names))):
                what = "half a character (a lone \\ud800 to \\udfff) or a NUL"
                raise DataError(what, where=document.where, fix="write it again as UTF-8")
            yield self._merged(document.text, [self._of_one(document.text, each.annotations) for each in chosen])

    def _annotators(self, document: Annotated) -> Sequence[Annotator]:
        everybody, name = document.annotators, self.choices.annotators
        if len(everybody) > 1:
            said = [annotator.said() for annotator in everybody]
            self.count("documents_of_several_annotators")
            self.count("documents_whose_annotations_differ", any(each != said[0] for each in said))
        if name in (UNION, MAJORITY):
            chosen = [annotator for annotator in everybody if annotator.truth] or everybody
        else:
            chosen = [annotator for annotator in everybody if name in annotator.names]
            self.count("documents_without_this_annotator", not chosen)
        self.count("annotations_beside_those_that_count_left_out", len(everybody) - len(chosen))
        return chosen

    def _merged(self, text: str, by: list[Marked]) -> Marked:
        if len(by) == 1:
            return by[0]
        merged = Marked(text)
        for label in dict.fromkeys(label for each in by for label in each.labels):
            positive = [each.labels[label] for each in by if label in each.labels]
            if self.choices.annotators == MAJORITY and 2 * len(positive) <= len(by):
                self.count("labels_without_majority_left_out")
                continue
            merged.labels[label] = [mark for marks in positive for mark in marks]
        return merged

    def _of_one(self, text: str, annotations: Sequence[Annotation]) -> Marked:
        """A document as one person sees it."""
        document, places = Marked(text), Places(text)
        remaining = list(self._remaining(annotations))
        wordless = [each.spans for _, each in remaining if each.spans is not None and each.words is None]
        moved, doubtful = places.counted_by_word_ends(wordless)
        of_wordless = iter(zip(wordless, moved, strict=True))
        for labels, annotation in remaining:
            with self.tolerated("marks"):
                if annotation.spans is None:
                    for label in labels:
                        document.label(label, annotation.where)
                    continue
                if annotation.words is None:
                    spans = self._without_words(places, *next(of_wordless), doubtful, annotation.where)
                else:
                    spans = self._by_words(places, annotation.spans, annotation.words, annotation.where)
                for label in labels:
                    document.mark(label, spans, annotation.where, annotation.words)
        return document

    def _remaining(self, annotations: Sequence[Annotation]) -> Iterator[tuple[list[str], Annotation]]:
        """Annotations that nothing leaves out, with their labels."""
        of_region: dict[object, set[str]] = {}
        dropped: dict[object, str] = {}
        for each in annotations:
            if each.region is not None:
                of_region.setdefault(each.region, set()).update(each.names())
        for each in annotations:
            names = each.names() if each.region is None else of_region[each.region]
            against = sorted(self._without.keys() & names)
            codes = self._chosen(each.codes)
            self.count("codes_of_other_terminologies_left_out", len(each.codes) - len(codes))
            labels = [code.label() if code.name in self._alike else code.name for code in codes]
            labels = labels or [each.otherwise] * bool(each.otherwise)
            self.count("marks_without_code", not labels)
            if against and each.spans is not None:
                dropped.setdefault(each.region, self._without[against[0]])
                continue
            if against:  # labels of the whole document go alone
                self.counts[self._without[against[0]]] += sum(label.casefold() in self._without for label in labels)
                labels = [label for label in labels if label.casefold() not in self._without]
            if labels:
                yield labels, each
        self.counts.update(dropped.values())

    def _by_words(self, places: Places, spans: Spans, words: str, where: str) -> Spans:
        if places.hold(spans, words):
            return spans
        if not words.strip():
            raise DataError(
                "the mark does not say what words it holds", where=where, fix="write them where they belong"
            )
        if moved := places.counted_otherwise(spans, words):
            self.count("marks_counted_in_other_characters_repaired")
            return moved
        if self.choices.repair and (moved := places.nearby(spans, words)):
            self.count("marks_found_again_nearby")
            return moved
        return spans  # what is wrong with them is said where they are added

    def _without_words(self, places: Places, spans: Spans, moved: Spans, doubtful: bool, where: str) -> Spans:
        inside = not places.whole_words(moved) and places.hold(moved)
        if doubtful and inside:
            what = "a mark that begins or ends inside a word, in a text whose characters tools count in several ways"
            fix = r"export the marked words too, or take \r and characters beyond U+FFFF (emoji) out and mark again"
            raise DataError(what, where=where, fix=fix)
        self.count("marks_counted_in_other_characters_repaired", moved != spans)
        self.count("marks_that_begin_or_end_inside_a_word", inside)
        return moved
