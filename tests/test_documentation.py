"""Every command, piece of Python, configuration and notebook of README and docs works; the site builds, no warning."""

from __future__ import annotations

import inspect
import lzma
import os
import pydoc
import random
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import documentation
import mimic_hours
import mimic_table
import nbformat
import pytest
from documentation import (
    DOCS,
    LANGUAGES,
    LONG,
    PAGES,
    PROSE,
    ROOT,
    Block,
    blocks,
    check,
    follow,
    inline,
    paragraphs,
    run,
)
from made_up_hospital import write_hospital
from nbclient import NotebookClient

import plant_plugin
from plant_plugin.commands.configurations import text_of
from plant_plugin.commands.doctor import FIRST
from plant_plugin.config import registry
from plant_plugin.config.methods import data_sets, packaged
from plant_plugin.config.sections import BLOCKS, SCHEMA
from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.names import FAMILIES, parse_metric
from plant_plugin.report import published
from plant_plugin.training.run import train

sys.path.append(str(ROOT / "examples"))

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation lies in a checkout only")
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
MOST_WORDS = 90  # of a paragraph
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to follow a page in, with a cache of its own and few built-in notes."""
    import made_up_notes  # whose codes of ICD take seconds to import

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    packed = tmp_path / "packed"
    packed.mkdir()
    for split, lines in made_up_notes.write_notes(made_up_notes.Size(train=60, valid=20, test=20, labels=20)).items():
        (packed / f"{split}.txt.xz").write_bytes(lzma.compress("".join(lines).encode()))
    monkeypatch.setattr("plant_plugin.data.documents.DEMO", packed)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def their_scores(folder: Path) -> None:
    """Another program's predictions for the ten test documents of the page."""
    draw = random.Random(1)
    lines = [
        " ".join(f"{label}:{draw.random():.3f}" for label in ("I10", "E11.9", "J18.9", "F32.A", "E03.9"))
        for _ in range(10)
    ]
    (folder / "their_scores.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def your_data(folder: Path) -> None:
    """What somebody has who follows the page: predictions, and texts marked with brat."""
    their_scores(folder)
    marks = {"I10": "hypertension", "E11.9": "type 2 diabetes", "J18.9": "fever", "R05": "cough", "F32.A": "low mood"}
    marks |= {"E03.9": "hypothyroidism", "M54.5": "back pain", "N39.0": "cystitis"}
    draw = random.Random(1)
    for split, documents in {"train": 40, "valid": 10, "test": 10}.items():
        (folder / "marked" / split).mkdir(parents=True)
        for number in range(documents):
            chosen = draw.sample(list(marks), 2)
            text = f"seen for {marks[chosen[0]]}\nand {marks[chosen[1]]} today"
            lines = ""
            for entity, code in enumerate(chosen, 1):
                words, start = marks[code], text.index(marks[code])
                lines += f"T{entity}\tFinding {start} {start + len(words)}\t{words}\n"
                lines += f"N{entity}\tReference T{entity} ICD10:{code}\t{words}\n"
            for ending, content in {".txt": text, ".ann": lines}.items():
                (folder / "marked" / split / f"{number}{ending}").write_text(content, encoding="utf-8")


def raw_mimic(folder: Path) -> None:
    """Made-up tables where a user has the real ones."""
    write_hospital(folder, stays=80)


def language_model(folder: Path) -> None:
    """A BERT of one layer over the letters of the alphabet."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    letters = [f"{start}{letter}" for start in ("", "##") for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]
    words = {word: number for number, word in enumerate(["[PAD]", "[UNK]", *letters])}
    tokenizer = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]").save_pretrained(
        folder / "models" / "tiny"
    )
    small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    BertModel(BertConfig(vocab_size=len(words), max_position_embeddings=128, **small)).save_pretrained(
        folder / "models" / "tiny"
    )


def coded(folder: Path) -> None:
    """Documents that somebody coded elsewhere."""
    (folder / "coded.txt").write_text("R50.9 R05\tfever and cough\nI10\thypertension\n", encoding="utf-8")


MENTIONS = [["plant", "prepare"], ["plant", "doctor", "--config"]]
BROUGHT = {"desk": coded, "your_data": your_data, "mimic": raw_mimic, "your_backbone": language_model}


SLOW = dict.fromkeys(("your_data", "mimic"), pytest.mark.integration)  # plant bench; tables of MIMIC's form
FOLLOWED = [pytest.param(page, id=page.stem, marks=SLOW.get(page.stem, ())) for page in PAGES]


@pytest.mark.parametrize("page", FOLLOWED)
def test_follow_the_page(page: Path, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.stem in BROUGHT:
        BROUGHT[page.stem](world)
    follow(page, monkeypatch)


@pytest.mark.integration
def test_every_command_of_the_mimic_page_runs_as_printed(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw_mimic(world)
    follow(DOCS / "mimic.md", monkeypatch, long=True)
    placeholders = {"RUN_FOLDER": str(next(Path("runs").glob("mimic3_plant_mimic3_*"))), "DIR": "stripped"}
    for words in inline(DOCS / "mimic.md"):
        command = [placeholders.get(word, word) for word in words]
        if command[0] == "--config":
            run(["libmultilabel", *command], monkeypatch)
        elif command[0] == "pip":
            check(command)
        elif command[0].startswith("--min_count"):
            check(["plant", "prepare", "mimic4", "--hosp", "a", "--note", "b", "--out", "c", *command])
        elif command[0].startswith("--"):
            check(["libmultilabel", "--config", "plant_mimic3.yml", *command])
        elif command not in MENTIONS:
            run(command, monkeypatch)
    assert len(list(Path("runs").glob("mimic3_plant_mimic3_*"))) == 2  # the second reads LAAT's network
    assert (world / "stripped" / "model.safetensors").is_file()


@EVERY_PAGE
def test_long_commands_exist(page: Path) -> None:
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{block}: say what it is, one of {LANGUAGES}"
        if block.language == "sh" and block.title == LONG:
            for command in block.commands:
                check(command)


@pytest.mark.parametrize(
    "command",
    [
        "libmultilabel --config plant_demo.yml --stage2.los bce",
        "libmultilabel --config no_such.yml",
        "plant prepare mimic5 --raw a --out b",
        "plant prepare mimic3 --raw a --out b --no-such-flag",
        "plant nothing",
        "make coffee",
        "python no/such/script.py",
        "pip install 'plant-plugin[no_such_extra]'",
        "rm -rf /",
    ],
)
def test_a_wrong_command_is_seen(command: str) -> None:
    (words,) = Block("page", 1, "sh", LONG, command).commands
    with pytest.raises((AssertionError, documentation.click.ClickException)):
        check(words)


def test_a_command_that_fails_is_seen(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = world / "page.md"
    page.write_text("```sh\nplant validate no_such.yml\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"no_such\.yml"):
        follow(page, monkeypatch)


def test_mimic_page_has_the_configurations_as_they_are() -> None:
    text = mimic_table.PAGE.read_text(encoding="utf-8")
    assert mimic_table.page(text) == text, "write it anew: python tests/mimic_table.py"


@pytest.mark.parametrize("bench", mimic_table.BENCHMARKS)
def test_heads_of_mimic_data_sets_have_the_hours_as_they_are(bench: str) -> None:
    text = data_sets()[bench].read_text(encoding="utf-8")
    assert mimic_table.with_hours(bench) == text, "write them anew: python tests/mimic_table.py"


def test_hours_by_hand() -> None:
    """Seconds a batch of benchmarks/tables/gpu.md times batches times epochs; operations of Mistral 7B."""
    assert mimic_hours.measured_hours("plant_mimic3", 47_723) == pytest.approx(
        1492 * (0.645 * 10 + 0.976 * 20) / 3600, 1e-3
    )
    assert mimic_hours.measured_hours("laat_mimic3", 47_723) == pytest.approx(5966 * 0.2965 * 50 / 3600, 1e-3)
    assert mimic_hours.cell("plm_icd_mimic3", 47_723) == "not measured"  # others used the GPU meanwhile
    assert mimic_hours.cell("plant_mimic3_50", 8_066) == "not measured"
    counted = mimic_hours.counted_hours("plant_llm_mimic3", 1_000)
    assert counted == pytest.approx(20 * 1_000 * 4096 * 6 * 6.98e9 / (0.35 * 989e12) / 3600, 1e-3)


@pytest.mark.parametrize("name", [name for name in packaged() if "_mimic" in name])
def test_heads_of_mimic_configurations_are_commands_that_exist(name: str) -> None:
    first, *lines = text_of(name).splitlines()
    assert first == f"# libmultilabel --config {name}.yml"
    commands = [line.partition(FIRST)[2] for line in lines if FIRST in line]
    assert commands[0].startswith(f"plant prepare mimic{name.partition('_mimic')[2][0]} ")
    for command in commands:
        check(shlex.split(command))
    assert "not yet run" in " ".join(lines)


@EVERY_PAGE
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.stem)
def test_paragraphs_are_short(page: Path) -> None:
    lengths = {part[:60]: len(part.split()) for part in paragraphs(page.read_text(encoding="utf-8"))}
    assert {start: words for start, words in lengths.items() if words > MOST_WORDS} == {}


def test_a_page_is_split_into_paragraphs() -> None:
    text = "# Head\none\ntwo\n\n- three\n  four\n- five\n\n| a | b |\n<!-- six\n\nseven -->\n```sh\neight\n```\nten\n"
    assert list(paragraphs(text)) == ["one two", "- three four", "- five", "ten"]


def test_metrics_page_names_every_metric() -> None:
    rows = re.findall(r"^\| (`[^|]+`) \|", (DOCS / "metrics.md").read_text(encoding="utf-8"), re.MULTILINE)
    named = {parse_metric(name).family for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert named == set(FAMILIES) - {"Loss"}
    with pytest.raises(ConfigError):
        parse_metric("P@five")


def test_metrics_page_names_every_benchmark_of_papers() -> None:
    section = (DOCS / "metrics.md").read_text(encoding="utf-8").split("## As papers print it")[1]
    named = re.findall(r"`(\w+)`", "".join(line for line in section.splitlines() if line.startswith("| ")))
    assert set(named) == set(published.content().benchmarks)


def test_method_page_follows_train() -> None:
    steps = re.findall(r"`(\w+)`,\sin\s`([\w/]+\.py)`", (DOCS / "method.md").read_text(encoding="utf-8"))
    assert len(steps) >= 12  # sections
    for step, module in steps:
        assert re.search(rf"^def {step}\(", (ROOT / "plant_plugin" / module).read_text(encoding="utf-8"), re.MULTILINE)
    body = inspect.getsource(train).partition('"""')[2]
    named = [step for step, _ in steps if not step.startswith("run_stage")]  # train has the stages as an argument
    assert named == sorted(named, key=lambda step: body.index(f"{step}("))


def test_reference_has_all_that_is_public_or_registered() -> None:
    shown = set(re.findall(r"^::: ([\w.]+)$", (DOCS / "reference.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert [name for name in sorted(shown) if pydoc.locate(name) is None] == []
    public = {f"plant_plugin.{name}" for name in plant_plugin.__all__ if name != "__version__"}
    entries = [entry for kind in registry.KINDS if kind != "commands" for entry in registry.entries(kind).values()]
    registered = {entry.target.replace(":", ".") for entry in entries if entry.target.startswith("plant_plugin.")}
    assert (public | registered) - shown == set()


def test_configuration_page_names_every_block() -> None:
    text = (DOCS / "configuration.md").read_text(encoding="utf-8")
    assert {name for name in re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)} == {*BLOCKS, "network_config"}
    assert "training_file" in {option.name for option in SCHEMA}


@pytest.mark.integration  # 20 processor seconds each
@pytest.mark.parametrize("path", sorted(DOCS.glob("notebooks/*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_and_has_its_outputs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    for variable in ("XDG_CACHE_HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    notebook = nbformat.read(path, as_version=4)
    kept = kinds_of_outputs(notebook)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert kinds_of_outputs(notebook) == kept, "an output is missing, or something is printed that was not"


def kinds_of_outputs(notebook: nbformat.NotebookNode) -> list[list[tuple[str, ...]]]:
    """Of each piece of code, what kinds of output it has; their numbers may differ from machine to machine."""
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    return [[(output.output_type, *sorted(output.get("data", ()))) for output in each] for each in outputs]


@pytest.mark.integration  # `make docs` builds it too
@pytest.mark.skipif(find_spec("mkdocs") is None, reason="needs mkdocs: pip install 'plant-plugin[docs]'")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    pages = {path.stem for path in (tmp_path / "site").glob("*.html")}
    assert {page.stem for page in DOCS.glob("*.md")} <= pages
    fetched = re.compile(r"<(?:script|link rel=\"(?:stylesheet|preload|preconnect))[^>]+(?:src|href)=\"https?:")
    outside = [page.name for page in (tmp_path / "site").rglob("*.html") if fetched.search(page.read_text("utf-8"))]
    assert outside == []  # nothing comes from other servers
