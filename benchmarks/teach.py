"""A model of half of CodiEsp's training documents to which the other half comes in five parts, by `plant train --from`.

    python benchmarks/teach.py DATA OUT [--write]

The parts come twice: as files with their gold codes and spans, and as five days of a simulated team at a desk (two
coders, played from gold, who make mistakes), whose work each evening teaches the model.

DATA is what `plant prepare codiesp` wrote for Spanish diagnoses; OUT, outside of this repository, gets texts and runs.
Runs and days that are there already are not made again. ``--write`` writes ``benchmarks/teach.json`` and both pages.
No network or weight sees validation or test documents but to be chosen and to be measured: `refit` is off in all runs.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from plant_plugin.config import load_config
from plant_plugin.data.documents import load_corpus
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.model.predictor import Predictor
from plant_plugin.report.machine import processor_name
from plant_plugin.report.result import labels_outside, read_result
from plant_plugin.serving.desk.figures import figures
from plant_plugin.serving.desk.store import Decision, Desk, Opened
from plant_plugin.serving.desk.suggestions import AHEAD, model_hash, suggest

HERE = Path(__file__).resolve().parent
FILE, TABLE, WEEK = HERE / "teach.json", HERE / "tables" / "desk_learning.md", HERE / "tables" / "desk_week.md"
CONFIG, PARTS, SEED = "plant_codiesp.yml", 5, 0
CODERS, BOTH, MISTAKES = ("ana", "ben"), 0.2, 0.05  # share of documents that both read; of decisions that are wrong
Row = dict[str, float]
Told = list[Counter[str]]  # what a coder did in each document
Gold = dict[str, list[tuple[int, int]]]  # the codes of a document, with the words that prove each


class Pace(NamedTuple):
    """How long a coder takes; the time is not measured, it is this times what is done."""

    words: float  # read a minute
    check: float  # seconds for a suggestion: look at its words, decide
    search: float  # for a code that is not suggested: think of it, type, choose it from the list
    mark: float  # for a stretch of words that is marked by hand

    def seconds(self, done: Counter[str]) -> float:
        return 60 * done["words"] / self.words + sum(
            getattr(self, act) * done[act] for act in ("check", "search", "mark")
        )


# Reading: the mean of silent reading of non-fiction, Brysbaert 2019, "How many words do we read per minute?", Journal
# of Memory and Language 109. The rest are assumptions; the second set is one under which suggestions help less.
PACES = {"usual": Pace(238, 4, 15, 5), "slow to check, fast to search": Pace(238, 8, 10, 5)}


def divide(data: Path, out: Path) -> None:
    """Write ``half``, ``part1`` to ``part5`` and ``all``, in an order drawn at random, with their evidence."""
    lines = (data / "train.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    evidence = defaultdict(list)
    for line in (data / "train_evidence.tsv").read_text(encoding="utf-8").splitlines():
        document, rest = line.split("\t", 1)
        evidence[int(document)].append(rest)
    order = list(range(len(lines)))
    random.Random(SEED).shuffle(order)
    half, size = len(order) // 2, len(order) // 2 // PARTS
    sets = {f"part{part + 1}": order[half + part * size : half + (part + 1) * size] for part in range(PARTS)}
    for name, rows in {"half": order[:half], **sets, "all": order}.items():
        folder = out / "data" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "train.txt").write_text("".join(lines[row] for row in rows), encoding="utf-8")
        told = [f"{place}\t{rest}\n" for place, row in enumerate(rows) for rest in evidence[row]]
        (folder / "train_evidence.tsv").write_text("".join(told), encoding="utf-8")


def trained(out: Path, name: str, command: str, *arguments: str) -> Path:
    """The folder of a run, which is made where it is not there."""
    runs = out / "runs" / name
    if not list(runs.glob("*/result.json")):
        start = f"from plant_plugin.cli import {command}; {command}()"
        # Nothing that another run has made is read: each is to cost what it costs.
        flags = ["--result_dir", str(runs), "--cache_dir", str(out / "cache" / name), "--cpu", "--silent"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run([sys.executable, "-c", start, *arguments, *flags], check=True, env=environment)
    return next(runs.glob("*/result.json")).parent


def anew(data: Path, out: Path, name: str) -> Path:
    """A new training on one of the sets."""
    train, keys = out / "data" / name, ["--config", CONFIG, "--refit", "none"]
    files = {"training": train / "train", "val": data / "valid", "test": data / "test"}
    for key, path in files.items():
        keys += [f"--{key}_file", f"{path}.txt"]
        keys += [] if key == "test" else [f"--evidence.{key}_file", f"{path}_evidence.tsv"]
    return trained(out, name, "libmultilabel", *keys)


def measured(folder: Path, data: Path, documents: int) -> Row:
    """Of a run: MAP over every gold code, in percent, of validation and test, and processor seconds; measured once."""
    kept = folder / "measured.json"
    if kept.exists():
        known: Row = json.loads(kept.read_text())
        return known
    keys = {"training_file": str(data / "train.txt"), "val_file": str(data / "valid.txt")}
    model, corpus = Predictor.load(folder, device="cpu"), load_corpus(load_config(CONFIG, keys))
    assert corpus.val is not None
    outside = labels_outside(corpus.val.labels, model.labels)
    evaluator = Evaluator(len(model.labels), metrics=["MAP-gold"], outside=outside)
    evaluator.update(model.logits(corpus.val.texts), corpus.with_labels(model.labels).label_matrix(corpus.val))
    told = read_result(folder / "result.json")
    found = {
        "documents": documents,
        "validation": round(100 * evaluator.compute()["MAP-gold"], 2),
        "test": round(100 * told["metrics"]["MAP-gold"], 2),
        "cpu_s": round(told["cpu_s"]["total"] - told["cpu_s"].get("test", 0.0), 1),
    }
    kept.write_text(json.dumps(found))
    return found


def page(found: dict[str, Row]) -> str:
    everything, last = found["new, all"], list(found.values())[-2]
    lines = [
        "# Learning from the desk", "",
        "PLANT on half of CodiEsp's training documents (Spanish diagnoses), to which the other half comes in five",
        "parts; `plant train --from` goes on after each. MAP over every gold code, percent; processor seconds without",
        f"those of the test; one seed; {processor_name()}, one thread.",
        "Written by `python benchmarks/teach.py DATA OUT --write`.", "",
        "| training | documents | MAP validation | MAP test | CPU s | of a new training |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    for name, row in found.items():
        share = row["cpu_s"] / everything["cpu_s"]
        scores = f"{row['validation']:.1f} | {row['test']:.1f}"
        lines.append(f"| {name} | {row['documents']} | {scores} | {row['cpu_s']:.0f} | {share:.2f} |")
    behind = everything["test"] - last["test"]
    most = max(row["cpu_s"] for name, row in found.items() if name.startswith("part")) / everything["cpu_s"]
    lines += [
        "",
        f"One point of MAP behind training on all at most: {'' if behind <= 1 else 'not '}reached ({behind:.1f}).",
        f"A tenth of the time of a new training at most: {'' if most <= 0.1 else 'not '}reached ({most:.2f}).",
    ]
    return "\n".join(lines) + "\n"


def coded(opened: Opened, gold: Gold, words: int, dice: random.Random) -> tuple[list[Decision], Counter[str]]:
    """What a coder decides in a document, and what that took: of each label one decision is right, or is not.

    Suggestions that are true are accepted, with the words that the model shows where these touch all that prove the
    code, else with the gold words marked by hand; others are rejected; what is missing is searched. A mistake accepts a
    false suggestion without proof, rejects a true one, or misses a code that is not suggested.
    """
    done, decisions = Counter({"words": words}), []
    for one in opened.suggested or ():
        done["check"] += 1
        right, label = dice.random() >= MISTAKES, one["label"]
        if (label in gold) is not right:
            decisions.append(Decision(label, "reject", []))
            continue
        proof = gold.get(label, [])
        if all(any(start < stop and begin < end for begin, stop in one["spans"]) for start, end in proof):
            proof = one["spans"] if proof else []
        else:
            done["mark"] += len(proof)
        decisions.append(Decision(label, "accept", proof))
    for label in sorted(gold.keys() - {one["label"] for one in opened.suggested or ()}):
        if dice.random() >= MISTAKES:
            done["search"] += 1
            done["mark"] += len(gold[label])
            decisions.append(Decision(label, "add", gold[label]))
    return decisions, done


def by_hand(gold: Gold, words: int) -> Counter[str]:
    """What the same document takes without suggestions: every code is searched and every proof marked."""
    return Counter({"words": words, "search": len(gold), "mark": sum(map(len, gold.values()))})


def sit(desk: Desk, folder: Path, golds: dict[str, Gold], dice: random.Random) -> tuple[Told, Told]:
    """Let the coders finish all that waits, in turns; what each document took, with suggestions and without."""
    predictor, people = Predictor.load(folder, device="cpu"), [desk.people.named(name) for name in CODERS]
    model, told = model_hash(predictor), (Told(), Told())
    while unread := desk.unread(model, AHEAD):
        ids, texts = zip(*unread, strict=True)
        desk.suggest(model, zip(ids, suggest(predictor, texts), strict=True))
    busy = True
    while busy:
        busy = False
        for coder in people:
            if (document := desk.next(coder, "uncertainty", model)) is None:
                continue
            busy, opened = True, desk.opened(coder, document, model)
            gold, words = golds[opened.text], len(opened.text.split())
            decisions, done = coded(opened, gold, words, dice)
            for place, decision in enumerate(decisions):
                desk.decide(coder, f"{document}-{place}-{coder.name}", document, decision)
            desk.finish(coder, f"{document}-done-{coder.name}", document)
            told[0].append(done)
            told[1].append(by_hand(gold, words))
    return told


def day(desk: Desk, data: Path, folder: Path, number: int) -> Row:
    """One day at the desk: documents come, both coders sit; how fast they were and how far they agree by now."""
    corpus = load_corpus(load_config(CONFIG, {
        "training_file": str(data / "train.txt"), "evidence.training_file": str(data / "train_evidence.tsv"),
        "val_file": None, "val_size": 0, "test_file": None, "evidence.val_file": None, "refit": "none",
    })).train  # fmt: skip
    assert corpus.evidence is not None
    golds = {
        text: {label: spans.get(label, []) for label in labels}
        for text, labels, spans in zip(corpus.texts, corpus.labels, corpus.evidence, strict=True)
    }
    both = round(BOTH * len(corpus.texts))
    names = [(f"{number}-{place}", text) for place, text in enumerate(corpus.texts)]
    desk.add_documents(names[:both], wanted=len(CODERS))
    desk.add_documents(names[both:])
    with_model, without = sit(desk, folder, golds, random.Random(SEED + number))
    row: Row = {"sittings": len(with_model)}
    for name, pace in PACES.items():
        for how, told in (("with", with_model), ("without", without)):
            row[f"{name}, {how}"] = round(3600 * len(told) / sum(map(pace.seconds, told)), 1)
    found = figures(desk)
    suggested, accepted = (sum(code[kind] for code in found["codes"]) for kind in ("suggested", "accepted"))
    row["accepted"] = round(100 * accepted / suggested, 1)
    for pair in found["pairs"]:
        row[f"{pair['first']} and {pair['second']}"] = pair["kappa"] or 0.0
    return row


def week(data: Path, out: Path, folder: Path) -> dict[str, Row]:
    """Five days at a desk, and each evening a training that goes on with what the desk has."""
    path, found = out / "desk.sqlite", {}
    new = not path.exists()
    with closing(Desk(path, make=True)) as desk:
        if new:
            for name in CODERS:
                desk.people.add(name)
        for number in range(1, PARTS + 1):
            kept = out / f"day{number}.json"
            if not kept.exists():
                kept.write_text(json.dumps(day(desk, out / "data" / f"part{number}", folder, number)))
            folder = trained(out, f"evening{number}", "plant", "train", "--from", str(folder), str(path))
            found[f"day {number}"] = json.loads(kept.read_text()) | measured(folder, data, desk.size())
    return found


def week_page(found: dict[str, Row], deliveries: dict[str, Row]) -> str:
    first, *pairs = (name for name in found["day 1"] if " and " in name)
    usual, other = PACES
    lines = [
        "# A week at the desk, simulated", "",
        "No person coded here. Two coders are played from the gold codes and spans of CodiEsp (Spanish diagnoses),",
        f"with a mistake in {100 * MISTAKES:.0f} % of decisions, and their time is worked out, not measured. The",
        "desk, its queue, its figures and the trainings are the real ones. A model of half of the training documents",
        f"suggests; each day a fifth of the rest comes, of which both coders read {100 * BOTH:.0f} %; each evening",
        "`plant train --from RUN desk.sqlite` goes on with what was coded.", "",
        f"One seed; {processor_name()}, one thread. Written by `python benchmarks/teach.py DATA OUT --write`.", "",
        "| evening | documents an hour, with suggestions | without | accepted % | κ of coders | κ with the model "
        "| MAP test | CPU s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        f"| before | – | – | – | – | – | {deliveries['new, half']['test']:.1f} | – |",
    ]  # fmt: skip
    for name, row in found.items():
        speed = f"{row[f'{usual}, with']:.1f} | {row[f'{usual}, without']:.1f}"
        with_model = ", ".join(f"{row[pair]:.2f}" for pair in pairs)
        agreed = f"{row['accepted']:.0f} | {row[first]:.2f} | {with_model}"
        lines.append(f"| {name} | {speed} | {agreed} | {row['test']:.1f} | {row['cpu_s']:.0f} |")
    slow = [f"{row[f'{other}, {how}']:.1f}" for row in (found["day 1"], found["day 5"]) for how in ("with", "without")]
    lines += [
        "",
        "Documents an hour are of one coder who reads at this pace and does nothing else:", "",
        "| pace | words a minute | seconds for a suggestion | for a code searched | for words marked |",
        "| --- | ---: | ---: | ---: | ---: |",
        *(f"| {name} | {' | '.join(f'{value:g}' for value in pace)} |" for name, pace in PACES.items()),
        "",
        "Words a minute are Brysbaert 2019's mean for silent reading of non-fiction; the seconds are assumptions.",
        f"The table above is of the first pace. With the second a coder does {slow[0]} documents an hour with",
        f"suggestions and {slow[1]} without on the first day, {slow[2]} and {slow[3]} on the fifth: what suggestions",
        "save depends on these assumptions.", "",
        "Accepted: suggestions above the model's threshold that were accepted, from the first day on, as κ (Cohen's)",
        "is, by `plant desk agreement`. That both coders follow the same gold codes makes their κ high. With the model",
        "it says little: of the labels that are compared, those suggested or given, hardly any is denied by both.",
        "MAP is over every gold code, percent. A new training on all documents with their gold codes has",
        f"{deliveries['new, all']['test']:.1f}; five deliveries of gold codes instead of what coders decided have",
        f"{deliveries['part 5']['test']:.1f} ([table](desk_learning.md)).",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> None:
    data, out = map(Path, sys.argv[1:3])
    divide(data, out)
    sizes = {
        name: len((out / "data" / name / "train.txt").read_text().splitlines()) for name in ("half", "all", "part1")
    }
    folder = anew(data, out, "half")
    found = {"new, half": measured(folder, data, sizes["half"])}
    for part in range(1, PARTS + 1):
        text = str(out / "data" / f"part{part}" / "train.txt")
        folder = trained(out, f"p{part}", "plant", "train", "--from", str(folder), text)
        found[f"part {part}"] = measured(folder, data, sizes["half"] + part * sizes["part1"])
    found["new, all"] = measured(anew(data, out, "all"), data, sizes["all"])
    days = week(data, out, anew(data, out, "half"))
    told, told_of_week = page(found), week_page(days, found)
    print(told, told_of_week, sep="\n")
    if "--write" in sys.argv:
        FILE.write_text(json.dumps({"deliveries": found, "week": days}, indent=1) + "\n", encoding="utf-8")
        TABLE.write_text(told, encoding="utf-8")
        WEEK.write_text(told_of_week, encoding="utf-8")


if __name__ == "__main__":
    main()
