"""Systems of others that read the names of labels, as strategies of a registry (`peers.yml`).

``names_found`` lists the labels whose names stand in a text, as MedCAT and QuickUMLS do before they learn anything.
``annif`` is Annif's ensemble: Omikuji's Bonsai beside MLLM, which weighs names found. Annif is no dependency of this
package. It goes into an environment of its own, which PATH names last, and reads the punkt_tab of NLTK, which lies in
the wheel of llama-index-core:

    python -m venv FOLDER && FOLDER/bin/pip install annif[omikuji]
    PATH=$PATH:FOLDER/bin NLTK_DATA=NLTK python benchmarks/experiments/run.py many_labels yso --variants annif

Both propose labels that training shows, and those that have a name beside the training file.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp
from nltk.stem.snowball import SnowballStemmer

from plant_plugin.config import Config
from plant_plugin.data.documents import Corpus, Split, load_corpus
from plant_plugin.data.label_names import LabelName, label_name_rows
from plant_plugin.data.names_beside import names_beside
from plant_plugin.errors import DataError
from plant_plugin.host.scores import Scores, logits_of, sizes_and_hashes
from plant_plugin.report.result import Result, Scored, label_counts, labels_outside, report
from plant_plugin.report.run import Run

AT_ONCE = 256  # documents of a batch
WORD = re.compile(r"\w+")
LANGUAGES = {"en": "english", "es": "spanish"}  # of names; those without one are read as English
SHORTEST = 3  # letters of a name, as in QuickUMLS and MedCAT
UNSEEN = 0.1  # what training has of a label that it never shows
EQUAL = "sources=bonsai,mllm"
PROJECTS = f"""[DEFAULT]
language=en
vocab=subjects
analyzer=snowball(english)
limit=100

[bonsai]
name=Bonsai
backend=omikuji
cluster_balanced=False
cluster_k=100
max_depth=3

[mllm]
name=MLLM
backend=mllm

[ensemble]
name=Both
backend=ensemble
{EQUAL}
"""

WINDOW = 6  # words of a name at most, those aside that say little
IN_BRACKETS = re.compile(r"\([^)]*\)|\[[^]]*\]")
# Left out of names and texts, as the UMLS does when it normalises, with what says in Spanish the same; and what
# names say of a remainder.
LITTLE = {
    "english": {"of", "and", "with", "for", "to", "in", "by", "on", "the", "a", "an", "nos", "nec", "unspecified"},
    "spanish": {"de", "del", "la", "el", "los", "las", "y", "e", "con", "para", "por", "en", "a", "al", "un", "una",
                "no", "especificado", "especificada", "especificados", "especificadas", "neom", "ncoc", "sai"},
}  # fmt: skip

Name = tuple[str, ...]  # stems of its words in the order of the alphabet, without accents and what says little


def words_of(text: str, language: str, stem: Callable[[str], str]) -> list[str]:
    """Stems of the words of a text."""
    plain = unicodedata.normalize("NFKD", text.lower())
    words = WORD.findall("".join(sign for sign in plain if not unicodedata.combining(sign)))
    return [stem(word) for word in words if word not in LITTLE[language]]


class Dictionary:
    """The names of labels in one language, and which of them stand in a text: of those that overlap the longest."""

    def __init__(self, rows: Iterable[LabelName], language: str) -> None:
        self.language, self.stem = language, cache(SnowballStemmer(language).stem)
        self.labels: dict[Name, set[str]] = defaultdict(set)
        for row in rows:
            name = tuple(sorted(words_of(IN_BRACKETS.sub(" ", row.name), language, self.stem)))
            if sum(map(len, name)) >= SHORTEST and len(name) <= WINDOW:
                self.labels[name].add(row.label)

    def found(self, text: str) -> Iterator[Name]:
        """Names from left to right, the longest that begins at a word, none inside another."""
        words, at = words_of(text, self.language, self.stem), 0
        while at < len(words):
            for length in range(min(WINDOW, len(words) - at), 0, -1):
                name = tuple(sorted(words[at : at + length]))
                if name in self.labels:
                    yield name
                    break
            at += length if name in self.labels else 1


Listed = Iterable[Mapping[str, float]]  # of each document the labels that are proposed, and their scores


def names_found(config: Config, run: Run) -> Result:
    """Labels whose names stand in a text; those first that training has often and whose found name is long.

    With ``refit`` labels of validation documents are counted too, once the thresholds are chosen.
    """
    with run.phase("read"):
        corpus, rows = load_corpus(config), names_of(config)
        by_language = {code: [row for row in rows if (row.language or "en") == code] for code in LANGUAGES}
        dictionaries = [Dictionary(by_language[code], language) for code, language in LANGUAGES.items()]

    def listed(split: Split) -> Listed:
        counted = [corpus.train, corpus.val] if split.name == "test" and config.refit != "none" else [corpus.train]
        counts = Counter(label for each in counted for labels in each.labels for label in set(labels))
        for text in split.texts:
            letters: Counter[str] = Counter()
            for dictionary in dictionaries:
                for name in dictionary.found(text):
                    for label in dictionary.labels[name]:
                        letters[label] = max(letters[label], sum(map(len, name)))
            yield {label: longest * (counts[label] + UNSEEN) for label, longest in letters.items()}

    return tested("names found", listed, corpus, rows, config, run)


def annif(config: Config, run: Run) -> Result:
    """Annif's ensemble, trained without the validation documents, which choose its weights."""
    corpus, rows = load_corpus(config), names_of(config)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        vocabulary = {label: label for label in corpus.label_names} | {row.label: row.name for row in reversed(rows)}
        _write(folder / "names.tsv", (f"<{label}>\t{name}" for label, name in vocabulary.items()))
        for split in corpus.splits:
            lines = zip(split.texts, split.labels, strict=True)
            _write(
                folder / f"{split.name}.tsv",
                (
                    "\t".join([" ".join(text.split()), " ".join(f"<{label}>" for label in labels)])
                    for text, labels in lines
                ),
            )
            _write(folder / f"{split.name}.jsonl", (json.dumps({"text": text}) for text in split.texts))
        projects = folder / "projects.cfg"
        projects.write_text(PROJECTS, encoding="utf-8")
        call = partial(_annif, run, folder)
        with run.phase("train"):
            call("train", "load-vocab", "-L", "en", "subjects", "names.tsv")
            call("train", "train", "-j", "1", "bonsai", "train.tsv")
            call("train", "train", "-j", "1", "mllm", "train.tsv")
            told = call("train", "hyperopt", "-j", "1", "-T", "20", "-m", "NDCG@5", "ensemble", "val.tsv")
        weights = re.search(r"^sources=.*$", told, re.MULTILINE)
        run.log(weights[0])
        projects.write_text(PROJECTS.replace(EQUAL, weights[0]), encoding="utf-8")
        with run.phase("test"):
            call("test", "index", "-l", "100", "ensemble", "val.jsonl", "test.jsonl")

        def listed(split: Split) -> Listed:
            with (folder / f"{split.name}.annif.jsonl").open(encoding="utf-8") as stream:
                for line in stream:
                    found = json.loads(line)["results"]
                    yield {each["uri"]: float(logits_of(np.array(each["score"]))) for each in found}

        return tested("Annif", listed, corpus, rows, config, run)


def names_of(config: Config) -> list[LabelName]:
    """All names beside the training file."""
    path = names_beside(config)
    if path is None:
        raise DataError("no names of labels", where=str(config.training_file), fix="put label_names.tsv beside it")
    return label_name_rows([str(path)])


def tested(
    model: str, listed: Callable[[Split], Listed], corpus: Corpus, rows: list[LabelName], config: Config, run: Run
) -> Result:
    """Tune thresholds on validation documents and test, as every system.

    Of labels that only a name makes known those without a document that has them or is offered them are no columns.
    """
    splits = {split.name: split for split in (corpus.val, corpus.test)}
    proposed = {}
    for name, phase in (("val", "thresholds"), ("test", "test")):
        with run.phase(phase):
            proposed[name] = list(listed(splits[name]))
    used = {label for each in proposed.values() for one in each for label in one}
    used |= {row.label for row in rows} & {label for split in splits.values() for one in split.labels for label in one}
    corpus = corpus.with_labels([*corpus.label_names, *sorted(used - set(corpus.label_names))])
    column_of = {label: column for column, label in enumerate(corpus.label_names)}

    def scores(name: str) -> Scores:
        truth = corpus.label_matrix(splits[name])
        for start in range(0, len(proposed[name]), AT_ONCE):
            some = proposed[name][start : start + AT_ONCE]
            columns = [column_of[label] for each in some for label in each]
            values = np.array([value for each in some for value in each.values()], np.float32)
            offsets = np.cumsum([0, *map(len, some)])
            yield (
                sp.csr_matrix((values, columns, offsets), shape=(len(some), len(column_of))),
                sp.csr_matrix(truth[start : start + AT_ONCE]),
            )

    counted = [corpus.train, corpus.val] if config.refit != "none" else [corpus.train]
    labels = [labels for split in counted for labels in split.labels]
    counts, hashes = sizes_and_hashes(corpus, corpus.label_names)
    scored = Scored(
        model=model,
        device="cpu",
        labels=corpus.label_names,
        train_counts=label_counts(labels, corpus.label_names),
        num_train=len(labels),
        validation=partial(scores, "val"),
        test=partial(scores, "test"),
        outside=labels_outside(corpus.test.labels, corpus.label_names),
        hashes=hashes,
        counts=counts,
        strategy=config.strategy,
        log_odds=False,
    )
    return report(config, run, scored)


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _annif(run: Run, folder: Path, phase: str, *words: str) -> str:
    """What a command of Annif prints; its processor seconds and memory count as the run's."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run(["annif", *words], cwd=folder, capture_output=True, text=True, check=False)
    if said.returncode:
        raise DataError(f"annif {words[0]} failed: {said.stderr[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    for name in (phase, "total"):
        seconds = run.costs["cpu_s"].get(name, 0) + after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        run.costs["cpu_s"][name] = seconds
        memory = run.costs["peak_memory_mb"]
        memory[name] = max(memory.get(name, 0), after.ru_maxrss / 1024)
    return said.stdout
