"""What reads names of labels: which names stand in a text, and what Annif is asked and answers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import run as runner
import vocabulary_peers
from definitions import load_definitions, plan
from kept_results import read_runs
from made_up_runs import LABELS
from vocabulary_peers import Dictionary

from plant_plugin.data.label_names import LabelName

ANNIF = """#!{python}
import json, sys
from pathlib import Path
open("calls", "a").write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "train":
    assert Path("train.tsv").read_text().splitlines()[0].count("\\t") == 1
if sys.argv[1] == "hyperopt":
    print("---\\nsources=bonsai:0.7,mllm:0.3\\n---")
if sys.argv[1] == "index":
    assert "sources=bonsai:0.7,mllm:0.3" in Path("projects.cfg").read_text()
    for split in ("val", "test"):
        texts = [json.loads(line)["text"] for line in open(split + ".jsonl")]
        found = [{{f"L{{int(word[4:-1]):02}}" for word in text.split() if word.startswith("sign")}} for text in texts]
        rows = [[{{"uri": label, "score": 0.9}} for label in sorted(labels)] for labels in found]
        lines = [json.dumps({{"results": row}}) for row in rows]
        Path(split + ".annif.jsonl").write_text("".join(line + "\\n" for line in lines))
"""


@pytest.fixture
def named(tiny: Path) -> Path:
    """The tiny data with a name for each label, and one that no document has."""
    names = {label: f"Sign{number}x, unspecified" for number, label in enumerate(LABELS)} | {"never": "Filler1"}
    Path("label_names.tsv").write_text("".join(f"{label}\t{name}\ten\n" for label, name in names.items()))
    return tiny


def result_of(name: str, folder: Path) -> dict[str, object]:
    """Run a strategy on the tiny data."""
    definitions = load_definitions()
    definitions["coding"]["variants"] = {name: {"strategy": name, "registry": "peers.yml"}}
    (planned,) = plan("coding", "tiny", [1], variants=[name], definitions=definitions)[0]
    assert runner.run_experiment([planned], folder / "results", folder / "work") == []
    return read_runs(folder / "results")[name, 1].result


def test_names_are_found_in_other_orders_and_forms() -> None:
    rows = [
        LabelName("E11", "Type 2 diabetes mellitus (adult onset)", "en"),
        LabelName("E14", "Diabetes mellitus, unspecified", "en"),
        LabelName("R50", "Fever NOS", "en"),
        LabelName("X", "a", "en"),
    ]
    dictionary = Dictionary(rows, "english")
    found = [
        dictionary.labels[name]
        for name in dictionary.found("Fevers. A diabetes mellitus of type 2, and diabetes mellitus")
    ]
    assert found == [{"R50"}, {"E11"}, {"E14"}]  # of overlapping names the longest
    spanish = Dictionary([LabelName("N20", "Cálculo del riñón, no especificado", "es")], "spanish")
    assert len(list(spanish.found("cálculos de riñon"))) == 1


def test_labels_whose_names_stand_in_a_text_are_predicted(named: Path, in_this_process: list[list[str]]) -> None:
    result = result_of("names_found", named)
    assert result["counts"]["labels"] == len(LABELS) + 1
    assert result["metrics"]["MAP-gold"] > 0.8  # `never` is found too, but training does not show it
    assert result["metrics"]["P@1"] == 1


def test_annif_is_trained_weighed_and_asked(
    named: Path, in_this_process: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = tmp_path / "bin" / "annif"
    command.parent.mkdir()
    command.write_text(ANNIF.format(python=sys.executable))
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=":")
    seen: list[str] = []
    asked = vocabulary_peers._annif
    monkeypatch.setattr(vocabulary_peers, "_annif", lambda *words: seen.append(words[3]) or asked(*words))
    result = result_of("annif", named)
    assert seen == ["load-vocab", "train", "train", "hyperopt", "index"]
    assert result["metrics"]["P@1"] == 1
    assert result["cpu_s"]["total"] > 0
