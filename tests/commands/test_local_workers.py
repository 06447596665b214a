"""The output of two processes is that of one, byte for byte, also where the second begins in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner, Result

from plant_plugin.cli import plant
from plant_plugin.commands.local_workers import predict_by_processes
from plant_plugin.data.tables import Document
from plant_plugin.errors import DataError, PlantError

TEXTS = 100  # of which 16 are a chunk
BAD = 70


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    rows = "".join(f"{label}\t{text}\n" for label, text in (("A", "fever cough"), ("B", "ankle cast"), ("A", "fever")))
    (folder / "train.txt").write_text(rows * 10, encoding="utf-8")
    done = CliRunner().invoke(
        plant,
        ["train", str(folder / "train.txt"), "--strategy", "planted_scores", "--result_dir", str(folder / "runs"),
         "--cache_dir", str(folder / "cache"), "--val_size", "6"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    [made] = (folder / "runs").iterdir()
    return made


def write(path: Path, *, bad: bool = False) -> None:
    lines = [json.dumps({"id": f"é{n}", "text": f"fever {'ankle ' * (n % 7)}{n}"}) for n in range(TEXTS)]
    lines[BAD] = "broken" if bad else lines[BAD]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def predict(model: Path, *arguments: str) -> Result:
    return CliRunner().invoke(plant, ["predict", str(model), *arguments, "--batch-size", "1"])


@pytest.mark.integration
@pytest.mark.parametrize(("first", "then"), [("1", "2"), ("2", "1")])
def test_two_processes_and_one_write_the_same_and_go_on_after_each_other(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, then: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("notes.jsonl"))
    one, two = (predict(model, "notes.jsonl", "--out", out, "--workers", out) for out in ("1", "2"))
    assert one.exit_code == two.exit_code == 0, two.output
    assert one.stderr == two.stderr == f"{TEXTS} documents\n"
    assert Path("2").read_bytes() == Path("1").read_bytes()
    write(Path("notes.jsonl"), bad=True)
    stopped = predict(model, "notes.jsonl", "--out", "out", "--workers", first)
    assert f"notes.jsonl, line {BAD + 1}" in stopped.output
    assert json.loads(Path("out.unfinished.json").read_text())["documents"] == 64  # all chunks before the bad line
    write(Path("notes.jsonl"))
    done = predict(model, "notes.jsonl", "--out", "out", "--resume", "--workers", then)
    assert done.exit_code == 0, done.output
    assert Path("out").read_bytes() == Path("1").read_bytes()


@pytest.mark.integration
def test_what_a_process_raises_is_told_as_by_one(tmp_path: Path) -> None:
    write(tmp_path / "notes.jsonl")
    arguments = (str(tmp_path / "notes.jsonl"), "--workers")
    outcome = predict(tmp_path, *arguments, "2")
    assert outcome.exit_code == 2
    assert outcome.output == predict(tmp_path, *arguments, "1").output
    assert "no complete PLANT model" in outcome.output


def test_a_cluster_has_workers_of_its_own(tmp_path: Path) -> None:
    outcome = predict(tmp_path, "notes.jsonl", "--workers", "2", "--ray")
    assert "--workers: a cluster has workers of its own" in outcome.output


def nothing() -> object:
    return None


def counted(model: object, documents: list[Document], *, slow: bool = False) -> tuple[str, Counter[str]]:
    if slow and documents[0].number == 1:
        time.sleep(1)  # the first is ready last
    if documents[0].text == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    return documents[0].text, Counter(documents=len(documents))


def parts(documents: Iterator[Document], *, slow: bool = False) -> Iterator[str]:
    made = predict_by_processes(documents, nothing, partial(counted, slow=slow), 1, 2)  # type: ignore[arg-type]
    return (text for text, _ in made)


@pytest.mark.integration
def test_parts_come_in_order_and_few_documents_are_read_ahead() -> None:
    read = []

    def documents() -> Iterator[Document]:
        for number in range(1, 16 * 20 + 1):
            read.append(number)
            yield Document(str(number), number=number)

    found = parts(documents(), slow=True)
    assert next(found) == "1"
    assert len(read) == 16 * 4
    assert list(found) == [str(number) for number in range(17, 16 * 20, 16)]


@pytest.mark.integration
def test_an_error_comes_after_the_parts_before_it() -> None:
    def documents() -> Iterator[Document]:
        yield from (Document("good") for _ in range(16))
        raise DataError("bad")

    found = parts(documents())
    assert next(found) == "good"
    with pytest.raises(DataError, match="bad"):
        next(found)


@pytest.mark.integration
def test_a_process_that_is_ended_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(PlantError, match="--workers: one of them was ended") as caught:
        list(parts(iter([Document("kill")])))
    assert "--resume" in str(caught.value)


@pytest.mark.integration
def test_a_killed_command_leaves_no_process(model: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("fever ankle\n" * 200_000, encoding="utf-8")
    program = [sys.executable, "-c", "from plant_plugin.cli import plant; plant()"]
    flags = ["--out", "out", "--batch-size", "1", "--workers", "2"]
    with subprocess.Popen([*program, "predict", str(model), "notes.txt", *flags], cwd=tmp_path) as running:
        while not (tmp_path / "out.unfinished.json").exists():
            time.sleep(0.1)
        while len(children := psutil.Process(running.pid).children(recursive=True)) < 2:
            time.sleep(0.1)
        running.kill()
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive
