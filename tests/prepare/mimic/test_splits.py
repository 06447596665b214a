from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest
from made_up_mimic import write_lists

from plant_plugin.errors import DataError, MissingExtraError
from plant_plugin.prepare.mimic import splits
from plant_plugin.prepare.mimic.notes import Admission


def admission(patient: int, number: int, *codes: str) -> Admission:
    return Admission(patient, number, frozenset(codes or ("a",)), [(0, 0, 1)])


def test_hashed_split_by_hand_and_in_its_shares() -> None:
    draw = int(hashlib.sha256(b"1:42").hexdigest()[:16], 16) / 2**64
    assert splits.hashed_split(42, 1) == ("train" if draw < 0.905 else "valid" if draw < 0.936 else "test")
    found = Counter(splits.hashed_split(patient, 1) for patient in range(20_000))
    assert found["train"] / 20_000 == pytest.approx(0.905, abs=0.01)
    assert found["valid"] / 20_000 == pytest.approx(0.031, abs=0.005)
    assert found["test"] / 20_000 == pytest.approx(0.064, abs=0.007)
    other = [splits.hashed_split(patient, 2) for patient in range(1000)]
    assert other != [splits.hashed_split(patient, 1) for patient in range(1000)]


def test_hashed_split_keeps_patients_together() -> None:
    counts: Counter[str] = Counter()
    stays = [admission(patient, 10 * patient + stay) for patient in range(200) for stay in range(3)]
    chosen = splits.assign(stays[::-1], None, 1, counts)
    patients = [{stay.patient for stay in documents} for documents in chosen.values()]
    assert sum(map(len, patients)) == 200
    assert all(patients)
    assert counts["patients_in_two_splits"] == 0
    assert [stay.number for stay in chosen["valid"]] == sorted(stay.number for stay in chosen["valid"])
    shuffled = splits.assign(stays, None, 1, counts)
    assert splits.split_hash(chosen) == splits.split_hash(shuffled)
    assert splits.split_hash(splits.assign(stays, None, 2, counts)) != splits.split_hash(chosen)


def test_lists_with_ids_that_do_not_exist_and_patients_in_two_splits(tmp_path: Path) -> None:
    write_lists(tmp_path, {"train": (10, 11, 99), "dev": (20,), "test": (30,)})
    counts: Counter[str] = Counter()
    stays = [admission(1, 10), admission(1, 30), admission(2, 11), admission(2, 20), admission(3, 77)]
    chosen = splits.assign(stays, splits.find_split_lists(tmp_path), 1, counts)
    assert {name: [stay.number for stay in documents] for name, documents in chosen.items()} == {
        "train": [10, 11], "valid": [20], "test": [30],
    }  # fmt: skip
    assert counts == {"split_ids_without_document": 1, "documents_in_no_split": 1, "patients_in_two_splits": 2}


def test_lists_of_other_data(tmp_path: Path) -> None:
    write_lists(tmp_path, {"train": (10, 98, 99), "dev": (20,), "test": (30,)})
    with pytest.raises(DataError, match="4 of 5 listed admissions have no document"):
        splits.assign([admission(1, 10)], splits.find_split_lists(tmp_path), 1, Counter())


def test_an_admission_in_two_splits(tmp_path: Path) -> None:
    write_lists(tmp_path, {"train": (10, 11), "dev": (11,), "test": (10, 12)})
    with pytest.raises(DataError, match="2 admissions are in two splits") as caught:
        splits.find_split_lists(tmp_path)
    assert "11" not in str(caught.value).replace(str(tmp_path), "")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((), "no split lists"),
        (("train_full_hadm_ids.csv",), "dev_full_hadm_ids.csv, test_full_hadm_ids.csv is missing"),
        (("a_split.feather", "b_splits.feather"), "several split files: a_split.feather, b_splits.feather"),
        (("train_full_hadm_ids.csv", "dev_full_hadm_ids.csv", "test_full_hadm_ids.csv"), "the split lists are empty"),
        (("a_split.feather",), "not a split file"),
    ],
)
def test_bad_split_folders(names: tuple[str, ...], message: str, tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=message):
        splits.find_split_lists(tmp_path)


def test_no_such_folder_and_a_list_with_a_word(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        splits.find_split_lists(tmp_path / "none")
    write_lists(tmp_path, {"train": (1,), "dev": (2, "HADM_ID"), "test": (3,)})
    with pytest.raises(DataError, match=r"dev_full_hadm_ids\.csv, line 2: the id is not a whole number"):
        splits.find_split_lists(tmp_path)


def write_feather(path: Path, ids: list[object], names: list[str], column: str = "_id") -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather

    feather.write_feather(pyarrow.table({column: ids, "split": names}), path)
    return path


def test_feather(tmp_path: Path) -> None:
    path = write_feather(tmp_path / "mimiciii_clean_splits.feather", [1, 2, 3, 4], ["train", "val", "test", "train"])
    for source in (path, tmp_path):
        found = splits.find_split_lists(source)
        assert found is not None
        assert found.split_of == {1: "train", 2: "valid", 3: "test", 4: "train"}
        assert found.files == [path]
        assert splits.find_split_lists(source, top50=True) is None


@pytest.mark.parametrize(
    ("ids", "names", "column"),
    [
        ([1], ["dev"], "_id"),
        ([1.5], ["val"], "_id"),
        ([None], ["val"], "_id"),
        (["H1"], ["val"], "_id"),
        ([1], ["val"], "hadm_id"),
    ],
)
def test_bad_feather(ids: list[object], names: list[str], column: str, tmp_path: Path) -> None:
    path = write_feather(tmp_path / "x_split.feather", ids, names, column)
    with pytest.raises(DataError, match=r"not a split file|not of the format"):
        splits.find_split_lists(path)


def test_feather_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "x_split.feather").touch()
    with pytest.raises(MissingExtraError, match=r"plant-plugin\[prepare\]"):
        splits.find_split_lists(tmp_path)


@pytest.fixture
def documents() -> splits.Splits:
    """Code ``c00`` has 60 training documents, ``c01`` 59, …, ``c59`` one; test turns the order round."""
    train = [admission(n, n, *(f"c{code:02}" for code in range(60) if n < 60 - code)) for n in range(60)]
    test = [
        admission(100 + n, 100 + n, *(f"c{code:02}" for code in range(n, 60, 2))) for n in range(10) for _ in range(30)
    ]
    test.append(admission(999, 999, "new"))
    return {"train": train, "valid": [admission(500, 500, "c57")], "test": test}


def test_top50(documents: splits.Splits) -> None:
    assert splits.top_codes(documents, over_all=False) == {f"c{code:02}" for code in range(50)}
    assert splits.top_codes(documents, over_all=True) != splits.top_codes(documents, over_all=False)
    tied = {"train": [admission(1, 1, *(f"{code:03}" for code in range(60)))], "valid": [], "test": []}
    assert splits.top_codes(tied, over_all=False) == {f"{code:03}" for code in range(50)}


def test_few(documents: splits.Splits) -> None:
    assert splits.few_codes(documents, in_test=False) == {"c55", "c56", "c57", "c58", "c59"}
    documents["test"] = [admission(1, 1, "c57", "c01")]
    assert splits.few_codes(documents, in_test=True) == {"c57"}


def test_minimum(documents: splits.Splits) -> None:
    assert splits.frequent_codes(documents, 58, over_all=False) == {"c00", "c01", "c02"}
    assert "c59" in splits.frequent_codes(documents, 58, over_all=True)


def test_restrict_counts_what_goes(documents: splits.Splits) -> None:
    counts: Counter[str] = Counter()
    chosen = splits.restrict(documents, frozenset({"c57"}), counts)
    assert {split: len(found) for split, found in chosen.items()} == {"train": 3, "valid": 1, "test": 150}
    assert counts == {
        "train_without_a_code_of_the_subset": 57,
        "valid_without_a_code_of_the_subset": 0,
        "test_without_a_code_of_the_subset": 151,
    }
    assert all(document.codes == {"c57"} for found in chosen.values() for document in found)


def test_rare50_is_shipped(shared: Path) -> None:
    listed = (shared / "data" / "mimic" / "rare50_codes.txt").read_text().split()
    assert splits.rare50_codes({"train": [], "valid": [], "test": []}) == set(listed)
    assert len(listed) == 50


def test_rare50_under_the_right_names() -> None:
    """Its 40.7 is 04.07 and its 77.7 is 77.70, as CAML reads them."""
    found = splits.rare50_codes(
        {"train": [admission(1, 1, "04.07", "148.1", "33.1")], "test": [admission(2, 2, "77.70")]}
    )
    assert {"04.07", "77.70", "148.1"} < found
    assert not {"40.7", "77.7", "33.1"} & found
    assert len(found) == 50


def test_listed_codes(tmp_path: Path) -> None:
    path = tmp_path / "codes.txt"
    path.write_text("038.9\n\n250.00 \n")
    assert splits.listed_codes(path) == {"038.9", "250.00"}
    path.write_text("\n")
    with pytest.raises(DataError, match="holds no code"):
        splits.listed_codes(path)
    with pytest.raises(DataError, match="no such file"):
        splits.listed_codes(tmp_path / "none.txt")
