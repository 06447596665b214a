"""Output that grows: a stop at any place, and what goes on with it."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from plant_plugin.commands import predict as command
from plant_plugin.commands.growing import DECIDING, Growing, say_so_far, written_at_once
from plant_plugin.data.tables import Document
from plant_plugin.errors import CheckpointError, ConfigError, DataError, PlantError

DOCUMENTS = [Document(text=f"text {number}", id=f"id{number}") for number in range(10)]
FLAGS = {"output": "csv"}


class Killed(BaseException):
    pass


def predict(out: Path, *, parts: int = 99, torn: str = "", resume: bool = False, **others: object) -> Growing:
    """Write documents by threes, and be killed after so many parts, in the middle of the next."""
    growing = Growing(out, others.get("flags", FLAGS), resume=resume)  # type: ignore[arg-type]
    rest = growing.rest(others.get("documents", DOCUMENTS), "in.txt")  # type: ignore[arg-type]
    with growing.opened() as stream:
        stream.write("" if growing.state["documents"] else "header\n")
        while chunk := list(islice(rest, 3)):
            if not parts:
                stream.write(torn)
                stream.flush()
                raise Killed
            stream.writelines(f"{document.name}: é\n" for document in chunk)
            growing.note(stream, Counter(documents=len(chunk)))
            parts -= 1
    return growing


WHOLE = "header\n" + "".join(f"id{number}: é\n" for number in range(10))


@pytest.mark.parametrize("parts", [0, 1, 2, 3])
@pytest.mark.parametrize("torn", ["", "id3: "])
def test_a_stopped_output_goes_on_without_loss_or_doubles(tmp_path: Path, parts: int, torn: str) -> None:
    out = tmp_path / "deep" / "out.csv"
    with pytest.raises(Killed):
        predict(out, parts=parts, torn=torn)
    assert not out.exists()
    growing = predict(out, resume=True)
    assert out.read_text(encoding="utf-8") == WHOLE
    assert growing.state["counts"] == {"documents": 10}
    assert [path.name for path in out.parent.iterdir()] == ["out.csv"]


def test_a_stop_before_the_first_part_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        predict(tmp_path / "out.csv", parts=0, torn="id0: ")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PlantError, match="file"):
        predict(tmp_path / "file" / "out.csv")


def test_without_resume_it_begins_again(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        predict(tmp_path / "out.csv", parts=2)
    predict(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == WHOLE


def test_resume_with_nothing_there_begins(tmp_path: Path) -> None:
    predict(tmp_path / "out.csv", resume=True)
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == WHOLE


@pytest.mark.parametrize(
    ("others", "error", "message"),
    [
        ({"flags": {"output": "jsonl"}}, ConfigError, "another model or other flags"),
        ({"documents": DOCUMENTS[1:]}, DataError, r"first documents \(6\) are not those"),
        ({"documents": DOCUMENTS[:3]}, DataError, r"first documents \(6\) are not those"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, others: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(Killed):
        predict(tmp_path / "out.csv", parts=2)
    with pytest.raises(error, match=message):
        predict(tmp_path / "out.csv", resume=True, **others)
    predict(tmp_path / "out.csv", resume=True)  # a refusal has changed nothing
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == WHOLE


def test_what_is_torn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        predict(tmp_path / "out.csv", parts=2)
    (tmp_path / "out.csv.unfinished").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="shorter than its state says"):
        predict(tmp_path / "out.csv", resume=True)
    (tmp_path / "out.csv.unfinished.json").write_text("{", encoding="utf-8")
    with pytest.raises(CheckpointError):
        predict(tmp_path / "out.csv", resume=True)


def test_the_state_holds_no_text_and_no_id(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        predict(tmp_path / "out.csv", parts=2)
    state = (tmp_path / "out.csv.unfinished.json").read_text(encoding="utf-8")
    assert "id1" not in state
    assert "text" not in state


def test_written_at_once_is_whole_or_not_there(tmp_path: Path) -> None:
    def write() -> None:
        with written_at_once(tmp_path / "out.csv") as stream:
            stream.write("half")
            raise Killed

    with pytest.raises(Killed):
        write()
    assert list(tmp_path.iterdir()) == []


def test_a_log_gets_a_line_a_minute(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    monkeypatch.setattr("plant_plugin.commands.growing.time.monotonic", lambda: now[0])
    for _ in say_so_far([("", Counter(documents=500))] * 5):
        now[0] += 40
    assert capsys.readouterr().err.splitlines() == ["documents so far: 1,000", "documents so far: 2,000"]


# Flags that change how documents are read or scored, or where output goes, not what is written of one.
NOT_DECIDING = set(
    "model file skip_bad text_column labels_column id_column label_separator encoding out resume promise accept "
    "batch_size address workers device registry trust_code check".split()
)


def test_every_flag_that_decides_what_is_written_is_compared() -> None:
    """What ``--promise`` and ``--accept`` decide is the threshold."""
    flags = {parameter.name for parameter in command.predict.params}
    assert flags == NOT_DECIDING | set(DECIDING)
