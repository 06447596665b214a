"""The file of a desk: queue, loans, decisions that stay, and accounts."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from sqlalchemy.exc import IntegrityError

from plant_plugin.errors import ConfigError, DataError, FullDiskError, PlantError
from plant_plugin.serving.desk import people, store
from plant_plugin.serving.desk.backups import backup, restore
from plant_plugin.serving.desk.people import Coder
from plant_plugin.serving.desk.store import Decision, Desk, Refused, Suggestions
from plant_plugin.serving.desk.suggestions import entropies

MODEL = "made-up-model"
SECRET = "what a note says"


def coder(desk: Desk, name: str, role: str = "coder") -> Coder:
    desk.people.add(name, role)
    return desk.people.named(name)


def said(desk: Desk, who: Coder, document: int) -> dict[str, tuple[str, list[tuple[int, int]]]]:
    return {label: (one.kind, one.spans) for label, one in desk.opened(who, document, MODEL).decisions.items()}


def lines(desk: Desk) -> list[tuple[object, ...]]:
    with sqlite3.connect(desk.path) as plain:
        return plain.execute("SELECT id, coder, document, kind, label, undoes FROM changes ORDER BY id").fetchall()


def test_a_document_goes_to_one_coder_at_a_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = coder(desk, "one"), coder(desk, "other")
    first, second = desk.add_documents([("a", "first text"), ("b", "second text")])
    assert desk.next(one, "sent", MODEL) == first
    assert desk.next(one, "sent", MODEL) == first  # it is not finished
    assert desk.next(other, "sent", MODEL) == second
    third = coder(desk, "third")
    assert desk.next(third, "sent", MODEL) is None
    later = time.time() + store.LEASE + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert desk.next(third, "sent", MODEL) == first  # its loan is over


def test_as_many_coders_as_wanted_read_a_document(desk: Desk) -> None:
    who = [coder(desk, name) for name in ("one", "two", "three")]
    [document] = desk.add_documents([("a", "text")], wanted=2)
    assert [desk.next(one, "sent", MODEL) for one in who] == [document, document, None]
    desk.finish(who[0], "done-one-1", document)
    assert desk.next(who[0], "sent", MODEL) is None
    assert [desk.left(one) for one in who] == [0, 1, 1]


def test_orders(desk: Desk) -> None:
    late, early = (
        desk.add_documents([("a", "x")], "2026-02-02"),
        desk.add_documents([("b", "y"), ("c", "z")], "2026-01-01"),
    )
    for document, entropy in zip([*late, *early], (0.5, 0.1, 2.0), strict=True):
        desk.suggest(MODEL, [(document, Suggestions([], entropy))])
    for number, (order, expected) in enumerate({"sent": late[0], "date": early[0], "uncertainty": early[1]}.items()):
        who = coder(desk, f"coder{number}")
        assert desk.next(who, order, MODEL) == expected
        desk._write.dispose()
        with sqlite3.connect(desk.path) as plain:
            plain.execute("DELETE FROM work")


def test_documents_that_are_sent_twice_are_there_once(desk: Desk) -> None:
    assert desk.add_documents([("a", "x"), ("b", "x")]) == [1, 2]
    assert desk.add_documents([("a", "x"), ("a", "y")]) == [0, 3]
    assert desk.size() == 3


def test_decisions_marks_and_undo(desk: Desk) -> None:
    who = coder(desk, "one")
    [document] = desk.add_documents([("a", "fever and cough")])
    desk.next(who, "sent", MODEL)
    desk.decide(who, "key-00001", document, Decision("R50", "accept", []))
    desk.decide(who, "key-00002", document, Decision("R50", "accept", [(0, 5), (0, 5)]))
    desk.decide(who, "key-00003", document, Decision("R05", "add", [(10, 15)]))
    assert said(desk, who, document) == {"R50": ("accept", [(0, 5)]), "R05": ("add", [(10, 15)])}
    assert desk.undo(who, "key-00004", document) == document
    assert desk.undo(who, "key-00004", document) == document  # sent again: the same change
    assert said(desk, who, document) == {"R50": ("accept", [(0, 5)])}
    desk.undo(who, "key-00005", document)
    assert said(desk, who, document) == {"R50": ("accept", [])}
    assert [line[3] for line in lines(desk)] == ["open", "accept", "accept", "add", "undo", "undo"]  # all stay


def test_undo_at_the_start_of_a_document_goes_back_to_the_one_before(desk: Desk) -> None:
    who = coder(desk, "one")
    first, second = desk.add_documents([("a", "x"), ("b", "y")])
    desk.next(who, "sent", MODEL)
    desk.finish(who, "key-00001", first)
    with pytest.raises(Refused, match="finished"):
        desk.decide(who, "key-00002", first, Decision("R50", "accept", []))
    assert desk.next(who, "sent", MODEL) == second
    assert desk.undo(who, "key-00003", second) == first
    desk.decide(who, "key-00004", first, Decision("R50", "accept", []))
    assert desk.undo(who, "key-00005", second) is None
    assert list(desk.finished()) == []


def test_a_change_that_is_sent_again_counts_once(desk: Desk) -> None:
    who, other = coder(desk, "one"), coder(desk, "other")
    [document] = desk.add_documents([("a", "x")], wanted=2)
    desk.next(who, "sent", MODEL), desk.next(other, "sent", MODEL)
    for _ in range(3):
        desk.decide(who, "key-00001", document, Decision("R50", "accept", []))
        desk.decide(other, "key-00001", document, Decision("R50", "reject", []))  # keys are each coder's own
    assert [line[3] for line in lines(desk)] == ["open", "open", "accept", "reject"]
    with pytest.raises(Refused, match="another change"):
        desk.decide(who, "key-00001", document, Decision("R51", "accept", []))
    for _ in range(2):
        desk.finish(who, "key-00002", document)
    assert [line[3] for line in lines(desk)].count("done") == 1


def test_many_threads_at_once_lose_nothing(desk: Desk) -> None:
    who = [coder(desk, f"coder{number}") for number in range(4)]
    [document] = desk.add_documents([("a", "x")], wanted=4)
    for one in who:
        desk.next(one, "sent", MODEL)

    def work(one: Coder) -> None:
        for number in range(20):
            for _ in range(2):
                desk.decide(one, f"key-{number:05}", document, Decision(f"L{number}", "accept", []))

    threads = [threading.Thread(target=work, args=(one,)) for one in who]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(line[3] == "accept" for line in lines(desk)) == 80


def test_what_is_refused(desk: Desk) -> None:
    who, other = coder(desk, "one"), coder(desk, "other")
    [document] = desk.add_documents([("a", "x")])
    desk.next(who, "sent", MODEL)
    before = lines(desk)
    for wrong in ([(0, 2)], [(-1, 1)], [(1, 1)]):
        with pytest.raises(Refused, match="not inside"):
            desk.decide(who, "key-00001", document, Decision("R50", "accept", wrong))
    for acts in (
        lambda: desk.opened(other, document, MODEL),
        lambda: desk.decide(other, "key-00001", document, Decision("R50", "accept", [])),
        lambda: desk.finish(other, "key-00001", document),
        lambda: desk.undo(other, "key-00001", document),
    ):
        with pytest.raises(Refused, match="not lent to you"):
            acts()
    assert lines(desk) == before


def test_changes_can_be_neither_changed_nor_removed(desk: Desk) -> None:
    who = coder(desk, "one")
    desk.add_documents([("a", "x")])
    desk.next(who, "sent", MODEL)
    with sqlite3.connect(desk.path) as plain:
        for statement in ("UPDATE changes SET kind = 'add'", "DELETE FROM changes"):
            with pytest.raises(sqlite3.IntegrityError, match="for ever"):
                plain.execute(statement)


def test_what_was_taken_back_cannot_be_taken_back_twice(desk: Desk) -> None:
    who = coder(desk, "one")
    [document] = desk.add_documents([("a", "x")])
    desk.next(who, "sent", MODEL)
    with desk._write.begin() as connection:
        desk._append(connection, who, "key-00001", document, finished=False, kind="undo", undoes=1)
        with pytest.raises(IntegrityError):
            desk._append(connection, who, "key-00002", document, finished=False, kind="undo", undoes=1)


def test_the_file_is_its_owners_alone(desk: Desk, tmp_path: Path) -> None:
    coder(desk, "one")
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    assert any(path.name.endswith("-wal") for path in tmp_path.iterdir())


def test_tokens_are_kept_as_hashes_and_sign_ins_end(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    token = desk.people.add("one")
    signed = desk.people.sign_in(token)
    assert signed is not None
    assert desk.people.signed_in(signed.secret) == signed
    content = b"".join(path.read_bytes() for path in desk.path.parent.iterdir())
    assert token.encode() not in content
    assert signed.secret.encode() not in content
    assert desk.people.sign_in(token + "x") is None
    again = desk.people.sign_in(desk.people.renew("one"))
    assert again is not None
    assert desk.people.signed_in(signed.secret) is None
    assert desk.people.sign_in(token) is None
    now = time.time()
    for minutes in range(30, 12 * 60, 30):
        monkeypatch.setattr(time, "time", lambda at=now + 60 * minutes: at)
        assert desk.people.signed_in(again.secret) is not None, minutes
    monkeypatch.setattr(time, "time", lambda: now + people.LONGEST + 1)
    assert desk.people.signed_in(again.secret) is None


def test_a_sign_in_ends_without_a_request_and_when_it_is_ended(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    token = desk.people.add("one")
    one, other = desk.people.sign_in(token), desk.people.sign_in(token)
    assert one is not None
    assert other is not None
    desk.people.sign_out(one.secret)
    assert desk.people.signed_in(one.secret) is None
    assert desk.people.signed_in(other.secret) is not None
    later = time.time() + people.IDLE + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert desk.people.signed_in(other.secret) is None
    assert desk.people.renew("one", close=True) != token
    assert desk.people.sign_in(token) is None


@pytest.mark.parametrize("name", ["", "two words", "x" * 61, "../x", "model"])
def test_names_that_are_none(desk: Desk, name: str) -> None:
    with pytest.raises(ConfigError, match="name"):
        desk.people.add(name)


def test_names_are_given_once(desk: Desk) -> None:
    desk.people.add("one")
    with pytest.raises(ConfigError, match="there is a coder"):
        desk.people.add("one")
    with pytest.raises(ConfigError, match="no coder"):
        desk.people.renew("two")


def test_backup_and_restore(desk: Desk, tmp_path: Path) -> None:
    who = coder(desk, "one")
    [document] = desk.add_documents([("a", "x")])
    desk.next(who, "sent", MODEL)
    desk.decide(who, "key-00001", document, Decision("R50", "accept", [(0, 1)]))
    backup(desk.path, tmp_path / "saved" / "backup.sqlite")
    desk.finish(who, "key-00002", document)
    restore(tmp_path / "saved" / "backup.sqlite", tmp_path / "again.sqlite")
    again = Desk(tmp_path / "again.sqlite")
    assert said(again, who, document) == {"R50": ("accept", [(0, 1)])}
    assert list(again.finished()) == []
    assert stat.S_IMODE((tmp_path / "again.sqlite").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "saved" / "backup.sqlite").stat().st_mode) == 0o600
    again.close()
    with pytest.raises(ConfigError, match="there already"):
        restore(tmp_path / "saved" / "backup.sqlite", tmp_path / "again.sqlite")
    backup(desk.path, tmp_path / "saved" / "backup.sqlite")  # over the older one, night by night
    for live in (desk.path, tmp_path / "again.sqlite"):
        with pytest.raises(ConfigError, match="this is a desk, and no backup of one"):
            backup(desk.path, live)
    (tmp_path / "moved.sqlite-wal").write_bytes(b"the last changes of a desk whose file was moved away")
    with pytest.raises(ConfigError, match=r"moved\.sqlite-wal(?s:.*)and all files moved\.sqlite-"):
        restore(tmp_path / "saved" / "backup.sqlite", tmp_path / "moved.sqlite")


def test_errors_of_the_file_are_sentences_without_what_was_to_be_written(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(desk.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        held = Desk(desk.path)  # opening waits for no writer
        with held._write.connect() as connection:
            connection.connection.driver_connection.execute("PRAGMA busy_timeout = 1")  # type: ignore[union-attr]
        with pytest.raises(PlantError, match="another program holds this file"):
            held.add_documents([("patient7", SECRET)])
        other.rollback()
    pages = sqlite3.connect(desk.path).execute("PRAGMA page_count").fetchone()[0]
    with held._write.connect() as connection:
        connection.connection.driver_connection.execute(f"PRAGMA max_page_count = {pages}")  # type: ignore[union-attr]
    with pytest.raises(FullDiskError, match="the disk is full") as caught:
        held.add_documents((f"patient{number}", SECRET * 9999) for number in range(9))
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    held.close()


def test_a_backup_that_cannot_be_written_is_told(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(PlantError, match="cannot be"):
        backup(desk.path, tmp_path / "folder.sqlite" / ".." / ("x" * 300))
    with pytest.raises(PlantError, match=r"cannot be (read or )?written"):
        backup(tmp_path / "no" / "desk.sqlite", tmp_path / "out.sqlite")


def test_who_sends_slowly_holds_nobody_up(desk: Desk) -> None:
    who, other = coder(desk, "one"), Desk(desk.path)

    def slow() -> Iterator[tuple[str, str]]:
        yield "a", "x"
        other.people.sign_in(other.people.renew(who.name))  # another process writes meanwhile
        yield "b", "y"

    assert desk.add_documents(slow()) == [1, 2]
    other.close()


def test_what_was_coded_elsewhere_comes_whole_and_takes_no_time(desk: Desk) -> None:
    who = coder(desk, "one")

    def torn() -> Iterator[tuple[str, str, list[Decision]]]:
        yield "a", "x", [Decision("R50", "add", [(0, 1)])]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.import_coded(who, torn())
    assert desk.size() == 0
    sent = [("a", "x", [Decision("R50", "add", [(0, 1)])]), ("b", "y", [])]
    assert desk.import_coded(who, sent) == [1, 2]
    assert desk.import_coded(who, sent) == [0, 0]
    assert len(list(desk.finished())) == 2
    assert [kind for *_, kind in desk.times()] == ["done", "done"]


def test_files_that_are_no_desks(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        Desk(tmp_path / "nothing.sqlite")
    text = tmp_path / "text.sqlite"
    text.write_text("no database at all, but a text that is long enough for a header" * 20)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as plain:
        plain.execute("CREATE TABLE x (y)")
    for path in (text, other):
        before = path.read_bytes()
        for act in (lambda path=path: Desk(path, make=True), lambda path=path: restore(path, tmp_path / "new.sqlite")):
            with pytest.raises(DataError, match="no desk"):
                act()
        assert path.read_bytes() == before
    assert not (tmp_path / "new.sqlite").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_whatever_its_name_the_file_is_the_one_that_was_named(tmp_path: Path) -> None:
    path = tmp_path / "whose?100%41.sqlite"
    for make in (True, False):
        with closing(Desk(path, make=make)) as desk:
            desk.add_documents([("a", SECRET)])
            assert desk.size() == 1
    assert {one.name.partition(".sqlite")[0] for one in tmp_path.iterdir()} == {path.stem}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_cannot_be_read_is_not_called_another_programs(tmp_path: Path) -> None:
    with pytest.raises(PlantError, match="cannot be read or written") as caught:
        Desk(tmp_path)
    assert not isinstance(caught.value, DataError)


def test_a_torn_backup_is_not_restored(desk: Desk, tmp_path: Path) -> None:
    desk.add_documents((str(number), "x" * 1000) for number in range(200))
    backup(desk.path, tmp_path / "backup.sqlite")
    torn = (tmp_path / "backup.sqlite").read_bytes()
    (tmp_path / "torn.sqlite").write_bytes(torn[: len(torn) // 2])
    with pytest.raises(DataError):
        restore(tmp_path / "torn.sqlite", tmp_path / "new.sqlite")
    assert not (tmp_path / "new.sqlite").exists()


def test_entropy_is_the_formula() -> None:
    logits = np.array([[0.0, 2.0, -3.0], [500.0, -500.0, 0.0]], dtype=np.float32)
    probability = 1 / (1 + np.exp(-logits[0].astype(float)))
    literal = -(probability * np.log(probability) + (1 - probability) * np.log(1 - probability)).sum()
    assert entropies(logits) == pytest.approx([literal, np.log(2)])
