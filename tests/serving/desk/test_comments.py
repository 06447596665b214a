"""Comments, and codes of which a coder is unsure."""

from __future__ import annotations

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import MODEL, coder
from pydantic import ValidationError

from plant_plugin.serving.desk.comments import (
    CommentQuestion,
    UnsureQuestion,
    comment,
    mark_unsure,
    remarks_on,
    seen_by,
    with_remarks,
)
from plant_plugin.serving.desk.lead import documents_of
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.turns import Refused


def test_the_last_word_stands_and_what_is_taken_back_is_gone(desk: Desk) -> None:
    ana, berta = coder(desk, "ana"), coder(desk, "berta")
    [document] = desk.add_documents([("a", "text")], wanted=2)
    for who in (ana, berta):
        desk.next(who, "sent", MODEL)
    for place, text in enumerate(("first", "  second ", "second")):
        comment(desk, ana, CommentQuestion(key=f"key-text-{place}", document=document, text=text))
    for place, (label, unsure) in enumerate((("R05", True), ("R50", True), ("R05", False), ("R21", True))):
        mark_unsure(desk, ana, UnsureQuestion(key=f"key-code-{place}", document=document, label=label, unsure=unsure))
    mark_unsure(desk, ana, UnsureQuestion(key="key-code-0", document=document, label="R05", unsure=True))  # sent again
    own = {"coder": "ana", "comment": "second", "unsure": ["R50", "R21"]}
    assert remarks_on(desk, [document]) == {document: [own]}
    assert seen_by(desk, document, ana, all_of_them=False) == [own]
    assert seen_by(desk, document, berta, all_of_them=False) == []
    assert seen_by(desk, document, berta, all_of_them=True) == [own]
    assert with_remarks(desk, documents_of(desk))["remarks"] == {document: [own]}
    comment(desk, berta, CommentQuestion(key="key-text-9", document=document, text="x"))
    comment(desk, berta, CommentQuestion(key="key-text-10", document=document, text=""))
    assert remarks_on(desk, [document]) == {document: [own]}


def test_only_who_has_the_document_remarks_on_it(desk: Desk) -> None:
    ana, berta = coder(desk, "ana"), coder(desk, "berta")
    [document] = desk.add_documents([("a", "text")])
    desk.next(ana, "sent", MODEL)
    question = CommentQuestion(key="key-text-1", document=document, text="mine")
    with pytest.raises(Refused, match="not lent to you"):
        comment(desk, berta, question)
    desk.finish(ana, "key-done-1", document)
    with pytest.raises(Refused, match="is finished"):
        comment(desk, ana, question)
    assert remarks_on(desk, [document]) == {}
    for wrong in ({"text": "x" * 2001}, {"text": None}):
        with pytest.raises(ValidationError):
            CommentQuestion.model_validate({"key": "key-text-1", "document": 1, **wrong})
