"""Words and ids of documents come into no output that docs/privacy.md does not name, whatever command runs."""

from __future__ import annotations

import fnmatch
import gzip
import json
import logging
import re
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
import yaml
from attacked import Tally
from click.testing import CliRunner
from made_up_task import write_language_model
from marked_task import write_marked_splits

import plant_plugin
from plant_plugin.cli import libmultilabel, plant
from plant_plugin.commands.desk_export import open_desk

ID, WORD = "id7726153", "zyxcanary"  # of one document of each file; the word is also marked as evidence
NEW_ID, NEW_WORD = "id8835264", "qwvcanary"  # of a new document
CANARIES = (ID, WORD, NEW_ID, NEW_WORD)
PAGE = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8")
SHOWING = set(re.findall(r"`plant ([a-z-]+)`", PAGE[PAGE.index("## What commands show") : PAGE.index("## Who can")]))
HOLDING = {
    name
    for row in re.findall(r"^\| (`.+?) \|", PAGE, flags=re.MULTILINE)
    for name in re.findall(r"`([^` ]+)`", row)
    if "." in name
}


class Scene(NamedTuple):
    """The files of one task and what was trained on them."""

    folder: Path
    task: Path
    run: Path
    merged: Path  # over a language model with adapters

    @property
    def config(self) -> Path:
        return self.folder / "made.yml"


def hold(content: bytes) -> bool:
    return any(canary.encode() in content for canary in CANARIES)


def opened(path: Path) -> Iterator[bytes]:
    """A file's bytes, archives unpacked."""
    yield path.read_bytes()
    if path.suffix == ".gz":
        yield gzip.decompress(path.read_bytes())
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield from (archive.read(name) for name in archive.namelist())


def unnamed(folder: Path, since: set[Path]) -> list[str]:
    """New files that hold a canary, and that the page does not name."""
    new = sorted(path for path in folder.rglob("*") if path.is_file() and path not in since)
    return [
        path.name
        for path in new
        if any(map(hold, opened(path))) and not any(fnmatch.fnmatch(path.name, name) for name in HOLDING)
    ]


def strangers_can_read(folder: Path, since: set[Path]) -> list[str]:
    return [path.name for path in folder.rglob("*") if path not in since and stat.S_IMODE(path.stat().st_mode) & 0o077]


def write_task(folder: Path) -> None:
    write_marked_splits(folder)
    for name in ("train", "valid", "test"):
        lines = (folder / f"{name}.txt").read_text().splitlines()
        begin = len(lines[0].partition("\t")[2])
        lines[0] += f" Zyxcanary{name}."
        ids = [ID, *(f"id{name}{row}" for row in range(1, len(lines)))]
        marks = [line.split("\t") for line in (folder / f"{name}_evidence.tsv").read_text().splitlines()]
        marked = [[ids[int(document)], label, places] for document, label, places in marks]
        marked[0][2] += f";{begin + 1}-{begin + 10 + len(name)}"
        (folder / f"{name}.txt").write_text("".join(f"{own}\t{line}\n" for own, line in zip(ids, lines, strict=True)))
        (folder / f"{name}_evidence.tsv").write_text("".join("\t".join(mark) + "\n" for mark in marked))
    (folder / "new.csv").write_text(f"id,text\n{NEW_ID},sign3x mark3y filler1 {NEW_WORD}\n")
    (folder / "lines.txt").write_text(f"sign3x mark3y filler1 {NEW_WORD}\n")


def write_config(folder: Path, name: str, **changes: object) -> Path:
    files = {"training": "train", "val": "valid", "test": "test"}
    evidence = {f"{key}_file": str(folder / f"{own}_evidence.tsv") for key, own in files.items() if key != "test"}
    values = {
        **{f"{key}_file": str(folder / f"{own}.txt") for key, own in files.items()},
        "evidence": evidence, "data_name": "made", "model_name": "PLANT",
        "network_config": {"encoder": "cnn", "hidden_size": 16, "filter_sizes": [3], "embed_dim": 16, "num_heads": 2,
                           "pool_size": 8},
        "stage1": {"k": 10, "labels": 6, "epochs": 1}, "stage2": {"epochs": 2, "hard_negatives": 5},
        "planted_scores": {"model": "ridge", "weight": 1.0}, "learning_rate": 0.01,
        "batch_size": 32, "monitor_metrics": ["P@1", "Macro-F1"], "val_metric": "nDCG@5", "seed": 1, "cpu": True,
        "save_k_predictions": 3, "predict_out_path": str(folder.parent / f"{name}_scores.txt"),
        "result_dir": str(folder.parent / "runs"), "cache_dir": str(folder.parent / "cache"),
        **changes,
    }  # fmt: skip
    path = folder.parent / f"{name}.yml"
    path.write_text(yaml.safe_dump({key: value for key, value in values.items() if value is not None}))
    return path


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("canaries")
    task = folder / "task"
    task.mkdir()
    write_task(task)
    (folder / "before").mkdir()
    config = write_config(task, "made")
    done = CliRunner().invoke(libmultilabel, ["--config", str(config)])
    assert done.exit_code == 0, done.output
    [run] = (folder / "runs").iterdir()
    return Scene(folder, task, run, folder / "merged")


def adapted(scene: Scene) -> list[str]:
    """Train adapters of a language model, for ``plant export``."""
    write_language_model(scene.task)
    options = {"lm_weight": str(scene.task / "bert"), "freeze_encoder": True, "encoder": "cnn",
               "hidden_size": 16, "num_heads": 2, "pool_size": 8}  # fmt: skip
    config = write_config(
        scene.task, "adapted", network_config=options, max_seq_length=24, result_dir=str(scene.merged), evidence=None,
        stage2={"epochs": 1},
    )  # fmt: skip
    done = CliRunner().invoke(libmultilabel, ["--config", str(config)])
    assert done.exit_code == 0, done.output
    [run] = scene.merged.iterdir()
    return ["export", str(run), "--out", str(scene.folder / "exported")]


def pretrained(scene: Scene) -> list[str]:
    """Sizes of a tiny language model, for ``plant pretrain-lm``."""
    options = {"embed_dim": 8, "hidden_size": 8, "num_layers": 2, "ranker_size": 4, "ranker_hidden": 4,
               "language_model": str(scene.folder / "language_model")}  # fmt: skip
    changes = {"model_name": "PLANTL2R", "network_config": options, "evidence": None}
    config = write_config(scene.task, "pretrained", **changes)
    return ["pretrain-lm", str(config), "--passes", "1", "--columns", "4"]


def searched(scene: Scene) -> list[str]:
    search = {
        "num_samples": 1,
        "scheduler": None,
        "search_alg": "basic_variant",
        "learning_rate": ["grid_search", [0.01, 0.02]],
    }
    path = write_config(
        scene.task, "made_tune", result_dir=str(scene.folder / "searches"), stage2={"epochs": 1}, **search
    )
    return ["search", str(path)]


def seated(scene: Scene) -> list[str]:
    """A desk, whose file holds texts and lies where they lie."""
    path = scene.task / "desk.sqlite"
    open_desk(path, make=True).close()
    return ["desk", "add-documents", str(path), str(scene.task / "lines.txt")]


def headless(scene: Scene) -> list[str]:
    """MIMIC's tables, the notes without their header."""
    raw = scene.task / "raw"
    raw.mkdir(exist_ok=True)
    (raw / "NOTEEVENTS.csv").write_text(f'1,{ID},7,2101-01-01,,,Discharge summary,Report,,,"{WORD}"\n')
    for name in ("DIAGNOSES_ICD", "PROCEDURES_ICD"):
        (raw / f"{name}.csv").write_text(f"1,{ID},7,1,0389\n")
    return ["prepare", "mimic3", "--raw", str(raw), "--out", str(scene.folder / "mimic")]


Arguments = Callable[[Scene], list[str]]
COMMANDS: dict[str, Arguments] = {
    "list": lambda s: ["list"],
    "validate": lambda s: ["validate", str(s.config)],
    "doctor": lambda s: ["doctor", "--config", str(s.config)],
    "stats": lambda s: ["stats", *(str(s.task / f"{name}.txt") for name in ("train", "valid", "test"))],
    "relevance": lambda s: ["relevance", str(s.config), "--out", str(s.folder / "relevance.npz")],
    "embeddings": lambda s: ["embeddings", str(s.task / "train.txt"), "--out", str(s.folder / "words.vec"),
                             "--min_count", "1", "--epochs", "1", "--dim", "4"],
    "pretrain-lm": pretrained,
    "evaluate": lambda s: ["evaluate", "--truth", str(s.task / "test.txt"), "--train", str(s.task / "train.txt"),
                           "--scores", str(s.folder / "made_scores.txt"),
                           "--out", str(s.folder / "evaluated" / "result.json")],
    "compare": lambda s: ["compare", f"a={s.run}", f"b={s.run}", "--baseline", "a", "--out", str(s.folder / "c.html")],
    "predict": lambda s: ["predict", str(s.run), str(s.task / "new.csv")],
    "explain": lambda s: ["explain", str(s.run), str(s.task / "lines.txt"), "--html", str(s.folder / "page.html")],
    "label": lambda s: ["label", str(s.run), "L3"],
    "labels": lambda s: ["labels", "update", str(s.run), "--names", made(s, "names.tsv", f"L1\t{WORD}\n")],
    "faithfulness": lambda s: ["faithfulness", str(s.run), str(s.task / "test.txt"), "--documents", "3"],
    "plausibility": lambda s: ["plausibility", str(s.run), "--out", str(s.folder / "plausibility.json")],
    "strip": lambda s: ["strip", str(s.run), "--min-documents", "3", "--out", str(s.folder / "stripped")],
    "prepare": lambda s: ["prepare", "doccano", "--out", str(s.folder / "marked"), "--raw",
                          made(s, "marks.jsonl", '{"text": "a sign", "label": [[2, 6, "L1"]]}\n')],
    "show": lambda s: ["show", str(s.config), "--out", str(s.folder / "shown.yml")],
    "export": adapted,
    "search": searched,
    "train": lambda s: ["train", str(s.task / "train.txt"), "--result_dir", str(s.folder / "chosen")],
    "bench": lambda s: ["bench", str(s.task / "train.txt"), "--systems", "linear,scores", "--seeds", "1", "--out",
                        str(s.folder / "bench")],
    "plot": lambda s: ["plot", str(s.run), "--out", str(s.folder / "curves.svg")],
    "host": lambda s: ["host", made(s, "main.py", "import libmultilabel.nn.networks as n; print(n.PLANT.__name__)")],
    "desk": seated,
    "openapi": lambda s: ["openapi", "--out", str(s.folder / "openapi.json")],
    "serve": lambda s: ["serve", str(s.run), "--token-file", str(s.task / "train.txt")],
}  # fmt: skip
# What is wrong with a file, and a command that reads it; each ends with an error or counts what it passed over.
BROKEN: dict[str, Arguments] = {
    "a table without a header": headless,
    "documents without a header": lambda s: ["predict", str(s.run), made(s, "no.csv", f"{ID},{WORD}\n1,a\n")],
    "a column too many": lambda s: ["predict", str(s.run), made(s, "wide.csv", f"id,text\n{ID},{WORD},{WORD}\n")],
    "a quote": lambda s: ["predict", str(s.run), made(s, "q.csv", f'id,text\n{ID},"{WORD}\n'), "--skip-bad"],
    "no JSON": lambda s: ["predict", str(s.run), made(s, "bad.jsonl", f'{{"text": "{WORD}\n')],
    "no text": lambda s: ["predict", str(s.run), made(s, "key.jsonl", f'{{"{WORD}": "{ID}"}}\n')],
    "TABs": lambda s: ["predict", str(s.run), made(s, "tabs.txt", f"a\n{ID}\t{WORD}\n")],
    "no label": lambda s: ["stats", made(s, "one.txt", f"{ID} {WORD}\n")],
    "four columns": lambda s: ["stats", made(s, "four.txt", f"{ID}\tL1\t{WORD}\t{WORD}\n")],
    "another label": lambda s: evidence(s, f"{ID}\t{WORD}\t0-5"),
    "another document": lambda s: evidence(s, f"{WORD}\tL1\t0-5"),
    "a span outside": lambda s: evidence(s, f"{ID}\tL1\t7726153-7726159"),
    "no evidence": lambda s: evidence(s, f"{ID}\t{WORD}"),
    "names": lambda s: ["predict", str(s.run), str(s.task / "new.csv"), "--names",
                        made(s, "names.tsv", f"{ID}\t{WORD}\n\t{WORD}\n"), "--output", "scores"],
    "names without TAB": lambda s: ["predict", str(s.run), str(s.task / "new.csv"), "--names",
                                    made(s, "names2.tsv", f"{WORD}\n"), "--output", "scores"],
    "scores": lambda s: ["evaluate", "--truth", str(s.task / "test.txt"), "--scores",
                         made(s, "s.txt", f"{ID} {WORD}\n")],
    "too few scores": lambda s: ["evaluate", "--truth", str(s.task / "test.txt"), "--scores",
                                 made(s, "few.txt", f"{WORD}:0.5\n")],
    "doccano": lambda s: ["prepare", "doccano", "--raw", made(s, "doccano.jsonl", json.dumps(
        {"id": ID, WORD: NEW_WORD}) + "\n"), "--out", str(s.folder / "doccano")],
    "labelstudio": lambda s: ["prepare", "labelstudio", "--raw", made(s, "studio.json", json.dumps(
        [{"id": ID, "data": {WORD: NEW_WORD}, "annotations": []}])), "--out", str(s.folder / "studio")],
    "brat": lambda s: ["prepare", "brat", "--raw", str(brat(s)), "--out", str(s.folder / "brat_out")],
    "a torn vocabulary": lambda s: torn(s, "vocabulary.json"),
    "torn phrases": lambda s: torn(s, "planted_scores_marked.json"),
    "a token": lambda s: ["serve", str(s.run), "--token-file", made(s, "token", f"{ID} {WORD}")],
}  # fmt: skip


def made(scene: Scene, name: str, text: str) -> str:
    path = scene.task / name
    path.write_text(text)
    return str(path)


def evidence(scene: Scene, line: str) -> list[str]:
    path = made(scene, "wrong_evidence.tsv", f"{line}\n")
    shutil.copy(scene.task / "test.txt", Path(path).with_name("wrong.txt"))
    return ["plausibility", str(scene.run), path]


def brat(scene: Scene) -> Path:
    for split in ("train", "test"):
        folder = scene.folder / "brat" / split
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "1.txt").write_text(f"a case of {WORD}")
        (folder / "1.ann").write_text(f"T1\tL1 0 1\ta\n#1\tAnnotatorNotes T7726153\t{WORD}\n")
    return scene.folder / "brat"


def torn(scene: Scene, name: str) -> list[str]:
    import shutil

    folder = scene.folder / f"torn {name}"
    shutil.copytree(scene.run, folder, dirs_exist_ok=True)
    text = (folder / name).read_text()
    (folder / name).write_text(text[: text.index(WORD) + 4])
    return ["predict", str(folder), str(scene.task / "lines.txt")]


@pytest.fixture
def ask(
    scene: Scene, tally: Tally, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> Callable[[list[str], str], int]:
    """Asks a command, in which no canary may come out, and counts the attack; returns the exit code."""

    def asked(arguments: list[str], attack: str) -> int:
        before = set(scene.folder.rglob("*"))
        with caplog.at_level(logging.DEBUG):
            done = CliRunner().invoke(plant, arguments)
        said = done.output + "".join(capfd.readouterr()) + "".join(record.getMessage() for record in caplog.records)
        traceback = done.exception is not None and not isinstance(done.exception, SystemExit)
        shown = ["what it prints"] if hold(said.encode()) and (arguments[0] not in SHOWING or done.exit_code) else []
        found = shown + unnamed(scene.folder, before) + (["a traceback"] if traceback else [])
        mine = [name for name in strangers_can_read(scene.folder, before) if not (scene.task / name).exists()]
        found += [f"{name}: readable by others" for name in mine if "raw" not in name]
        tally(attack, not found)
        assert found == []
        return done.exit_code

    return asked


@pytest.fixture(autouse=True)
def own_cache(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(scene.folder / "user_cache"))
    monkeypatch.delenv("PLANT_SERVE_TOKEN", raising=False)


SLOW = {
    "search", "train", "export", "plausibility", "faithfulness", "relevance", "embeddings",
    "pretrain-lm", "compare", "prepare", "bench",
}  # fmt: skip
TIERED = [pytest.param(name, marks=pytest.mark.attacks) if name in SLOW else name for name in COMMANDS]


@pytest.mark.integration
def test_a_run(scene: Scene, tally: Tally) -> None:
    """What training wrote; its canaries are where the page says, and nowhere else."""
    made_by_us = {scene.config, *scene.task.rglob("*"), scene.task, scene.folder / "before"}
    assert unnamed(scene.folder, made_by_us) == []
    assert {path.name for path in scene.run.iterdir() if any(map(hold, opened(path)))} == {
        "vocabulary.json", "planted_scores_marked.json",
    }  # fmt: skip
    assert strangers_can_read(scene.folder, made_by_us) == []
    tally("canaries in a run", True)


def test_every_command_is_tried() -> None:
    assert set(COMMANDS) == set(plant.list_commands(click.Context(plant)))
    assert SHOWING <= set(COMMANDS)


@pytest.mark.parametrize("name", TIERED)
def test_a_command(scene: Scene, name: str, ask: Callable[[list[str], str], int]) -> None:
    code = ask(COMMANDS[name](scene), "canaries in commands")
    # of serve's answers see below, here its token is a file of texts; the run knows no labels by their names
    assert code == (2 if name in ("serve", "labels") else 0)


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file(scene: Scene, what: str, ask: Callable[[list[str], str], int]) -> None:
    arguments = BROKEN[what](scene)
    assert ask(arguments, "canaries in broken files") == 2 or "--skip-bad" in arguments


def test_a_server(
    scene: Scene, tally: Tally, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("fastapi")
    from running_server import Running

    from plant_plugin import Predictor
    from plant_plugin.serving.access import Limits
    from plant_plugin.serving.app import create_app

    limits = Limits(drain_seconds=0)
    asked = (
        ("/predict", {"texts": [NEW_WORD]}), ("/predict", {"texts": [7], NEW_WORD: NEW_ID}),
        ("/predict", {"texts": ["a"], "threshold": NEW_WORD}), ("/explain", {"text": "a", "labels": [NEW_WORD]}),
        (f"/{NEW_WORD}", {"text": NEW_ID}), ("/predict", NEW_WORD),
    )  # fmt: skip
    with (
        caplog.at_level(logging.DEBUG),
        Running(
            create_app(Predictor.load(scene.run, device="cpu"), limits), limits, log_level="warning", access_log=False
        ) as server,
    ):
        answers = [httpx.post(server.url + path, json=question) for path, question in asked]
        answers.append(httpx.get(f"{server.url}/metrics"))
    said = "".join(capfd.readouterr()) + "".join(record.getMessage() for record in caplog.records
                                                 if record.name.startswith(("plant", "uvicorn.error")))  # fmt: skip
    well = not any(hold(answer.content) for answer in answers) and not hold(said.encode())
    tally("canaries in requests", well)
    assert well


@pytest.mark.attacks
@pytest.mark.parametrize("options", [["--linear"], ["--model_name", "KimCNN", "--min_vocab_freq", "1"]], ids=str)
def test_models_of_libmultilabel(
    scene: Scene, options: list[str], tally: Tally, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    before = set(scene.folder.rglob("*"))
    files = {"training": "train", "val": "valid", "test": "test"}
    arguments = [part for key, name in files.items() for part in (f"--{key}_file", str(scene.task / f"{name}.txt"))]
    vectors = scene.task / "few.vec"
    vectors.write_text("".join(f"filler{number} 1 2\n" for number in range(30)))
    own = (
        []
        if "--linear" in options
        else [
            "--embed_file",
            str(vectors),
            "--epochs",
            "1",
            "--network_config.num_filter_per_size",
            "4",
            "--network_config.filter_sizes",
            "[2]",
        ]
    )
    with caplog.at_level(logging.DEBUG):
        done = CliRunner().invoke(libmultilabel, [
            *arguments, *options, *own, "--cpu", "--result_dir", str(scene.folder / "others"),
            "--monitor_metrics", "P@1", "--val_metric", "P@1", "--cache_dir", str(scene.folder / "cache"),
            "--save_k_predictions", "3",
        ])  # fmt: skip
    assert done.exit_code == 0, done.output
    said = done.output + "".join(capfd.readouterr()) + "".join(record.getMessage() for record in caplog.records)
    found = unnamed(scene.folder, before)
    tally("canaries in models of LibMultiLabel", not found and not hold(said.encode()))
    assert found == []
    assert not hold(said.encode())
    assert [name for name in strangers_can_read(scene.folder, before) if name != "few.vec"] == []


def test_the_page_names_every_folder_of_the_cache() -> None:
    package = Path(plant_plugin.__file__).parent
    sources = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    folders = set(re.findall(r"(?:cache_folder\([\w.]*\) / |_kept\([\w.]+, |kept_at\(\w+, )\"(\w+)\"", sources))
    assert len(folders) >= 9
    assert [folder for folder in sorted(folders) if f"`{folder}/`" not in PAGE] == []
