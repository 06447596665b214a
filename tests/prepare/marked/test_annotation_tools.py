from __future__ import annotations

import json
from pathlib import Path

import pytest

from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.annotation_tools import count_lists, listed
from plant_plugin.prepare.marked.annotations import EVERYTHING, Annotations, Choices
from plant_plugin.prepare.marked.label_studio import prepare_labelstudio


def test_lists_under_other_keys_are_counted() -> None:
    annotations = Annotations(EVERYTHING)
    count_lists({"label": ["A"], "Comments": ["x", "y"], "id": 3, "a key with words": [1]}, ("label",), annotations)
    assert annotations.counts == {"comments_not_read": 2, "results_of_other_kinds_not_read": 1}


def test_what_is_listed() -> None:
    assert [listed(value, "x", "y") for value in (None, "A", ["A"])] == [[], ["A"], ["A"]]
    with pytest.raises(DataError, match="labels that are no list"):
        listed({"A": 1}, "x", "y")


def test_label_studio_too_can_have_a_file_for_each_annotator(tmp_path: Path) -> None:
    for name in ("ann", "bob", "eve"):
        value = {"choices": ["A", name]}
        result = [{"type": "choices", "from_name": "c", "to_name": "t", "value": value}]
        task = {"id": 1, "data": {"text": "Known asthma."}, "annotations": [{"completed_by": 1, "result": result}]}
        (tmp_path / f"{name}.json").write_text(json.dumps([task]))
    for annotators, labels in {"union": "A ann bob eve", "majority": "A", "bob": "A bob", "1": "A ann bob eve"}.items():
        prepare_labelstudio(tmp_path, tmp_path / "out", choices=Choices(annotators=annotators))
        assert (tmp_path / "out" / "train.txt").read_text() == f"{labels}\tKnown asthma.\n"
