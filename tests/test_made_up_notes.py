from __future__ import annotations

import random
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from plant_plugin.data.documents import demo_file

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples"))


@pytest.fixture(scope="module")
def demo() -> Any:
    """The program, whose codes of ICD take seconds to import."""
    return pytest.importorskip("made_up_notes", reason="examples/ lies in a checkout only")


def test_the_built_in_data_are_what_the_generator_writes(tmp_path: Path, demo: Any) -> None:
    assert demo.size_of(2800, 60, 20240607) == demo.Size()
    for split, lines in demo.write_notes(demo.Size()).items():
        assert "".join(lines) == demo_file(split, tmp_path).read_text(encoding="utf-8")


def test_the_command(tmp_path: Path, demo: Any) -> None:
    for name, seed in (("one", "1"), ("two", "1"), ("three", "2")):
        where = ["--out", str(tmp_path / name), "--documents", "28", "--labels", "10", "--seed", seed]
        demo.main(where)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    assert (tmp_path / "one" / "train.txt").read_bytes() != (tmp_path / "three" / "train.txt").read_bytes()


def test_the_common_codes_are_icd_10_cm_and_stand_in_a_group_whose_sentences_are_there(demo: Any) -> None:
    assert len(demo.COMMON) == 60
    for code, known in demo.COMMON.items():
        assert demo.icd.is_valid_item(code)
        assert demo.icd.is_leaf(code)
        assert known["group"] in demo.PHRASES["groups"]
        assert known["kind"] in demo.PHRASES["present"]
        assert len(set(known["said"])) >= 3
    everywhere = [said for known in demo.COMMON.values() for said in known["said"]]
    assert len(set(everywhere)) == len(everywhere)  # no wording is of two codes
    assert all(len(pair) == 2 for pair in demo.PHRASES["apart"])


@pytest.mark.parametrize(
    ("code", "said", "named"),
    [
        ("I10", "HTN", "Essential (primary) hypertension"),
        ("J96.01", "AHRF", "Acute respiratory failure with hypoxia"),
        ("N18.30", "CKD III", "Chronic kidney disease, stage 3 unspecified"),
        ("I21.4", "NSTEMI", "Non-ST elevation (NSTEMI) myocardial infarction"),
        ("L89.152", "stage II sacral decubitus ulcer", "Pressure ulcer of sacral region, stage 2"),
        ("Z95.5", "Has a coronary stent", "Presence of coronary angioplasty implant and graft"),
    ],
)
def test_what_is_said_is_what_the_code_means(code: str, said: str, named: str, demo: Any) -> None:
    assert said in demo.COMMON[code]["said"]
    assert demo.icd.get_description(code) == named


def test_codes_beyond_the_common_ones_come_from_the_classification(demo: Any) -> None:
    conditions = demo._conditions(demo.size_of(28, 200, 1))
    assert [one.code for one in conditions[:60]] == list(demo.COMMON)
    rest = conditions[60:]
    assert len({one.code for one in conditions}) == 200
    assert all(one.terms == demo._terms(one.code) and one.kind == "acute" for one in rest)
    lines = list(
        demo.write_notes(demo.size_of(56, 3, 1))["train"]
    )  # all three may stand together, two of some others not
    assert all(1 <= len(line.partition("\t")[0].split()) <= 3 for line in lines)


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [("--labels", "5000", "5,000 labels, but there are 4,1"), ("--documents", "3", "at least 28")],
)
def test_a_wrong_size_writes_nothing(
    flag: str, value: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], demo: Any
) -> None:
    with pytest.raises(SystemExit):
        demo.main(["--documents", "28", "--out", str(tmp_path / "out"), flag, value])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_is_listed_as_denied_is_none_of_the_codes(demo: Any) -> None:
    code_of = {said.lower(): code for code, known in demo.COMMON.items() for said in known["said"]}
    listed = {"Denies": [True], "PMH:": [True]}
    for line in demo.write_notes(demo.Size(train=300))["train"]:
        codes, _, note = line.partition("\t")
        for start, text in re.findall(r"(?<=[.:] )(Denies|PMH:) ([^.]*, [^.]*)[.]", note):
            said = re.sub(r", (?:or|and) ", ", ", text).lower().split(", ")
            listed[start] += [(code_of[one] in codes.split()) == (start == "PMH:") for one in said if one in code_of]
    assert all(len(right) > 100 and all(right) for right in listed.values())


def test_draws_follow_the_weights(demo: Any) -> None:
    """The draw in logarithmic time against the plain one: all that are left, by weight."""
    weights = (5, 1, 3, 0.5, 2)
    conditions = [demo._Condition(str(place), "", ("x",), weight) for place, weight in enumerate(weights)]
    pool = demo._Pool(conditions)
    for chosen in ([], [0], [4, 0], [1, 2, 3], [3, 1]):
        fast, plain = random.Random(1), random.Random(1)
        left = [place for place in range(5) if place not in chosen]
        for _ in range(200):
            assert pool.draw(chosen, fast) == plain.choices(left, [weights[place] for place in left])[0]
            found = pool.others(chosen, fast)
            assert found == [conditions[place] for place in plain.sample(left, min(plain.randint(2, 4), len(left)))]
