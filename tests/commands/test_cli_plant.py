"""``plant list``, ``validate``, ``doctor``, ``relevance`` and ``embeddings``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from plant_plugin.cli import plant
from plant_plugin.commands import configurations
from plant_plugin.config import registry
from plant_plugin.relevance import Relevance

CONFIG = """\
model_name: PLANT
training_file: {train}
val_size: 0
network_config: {{encoder: cnn}}
cache_dir: {cache}
"""


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(plant, list(arguments))


@pytest.mark.parametrize("kind", registry.KINDS)
def test_list_one_kind(kind: str) -> None:
    lines = invoke("list", kind).output.splitlines()
    assert lines[0] == kind
    assert [line.split()[0] for line in lines[1:]] == list(registry.entries(kind))


def test_list_everything_with_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = registry.Entry("readers", "odd", "plant_plugin.odd:read", "An odd format.", "nobody", needs="llm")
    known = registry.entries
    monkeypatch.setattr(registry, "entries", lambda kind: {"odd": entry} if kind == "readers" else known(kind))
    text = invoke("list").output
    assert all(f"\n{kind}\n" in f"\n{text}" for kind in (*registry.KINDS, configurations.CONFIGURATIONS))
    assert "An odd format. [needs the extra llm]" in text


def test_methods_and_data_sets_are_listed_with_the_results_that_there_are() -> None:
    rows = [line.strip().partition("  ") for line in invoke("list", "configurations").output.splitlines()[1:]]
    listed = {name: text.strip() for name, _, text in rows}
    assert listed["laat.yml"] == "LAAT (Vu et al. 2020)."
    assert listed["METHOD_yso.yml"].endswith("[results: linear, plant]")
    assert listed["METHOD_mimic3.yml"].endswith("[no result yet]")
    assert all(listed.values())


def test_show_prints_a_configuration_and_starts_ones_own(tmp_path: Path) -> None:
    out = str(tmp_path / "my.yml")
    printed = invoke("show", "laat_eurlex6k.yml").output
    assert printed.startswith("# libmultilabel --config laat_eurlex6k.yml\n")
    assert invoke("show", "laat_eurlex6k", "--out", out).exit_code == 0
    assert Path(out).read_text(encoding="utf-8") == invoke("show", out).output == printed
    again = invoke("show", "laat_eurlex6k", "--out", out)
    assert again.exit_code == 2
    assert "it is there already" in again.output
    assert "did you mean" in invoke("show", "laat_eurlex6").output


def test_list_of_an_unknown_kind() -> None:
    outcome = invoke("list", "network")
    assert outcome.exit_code == 2
    assert "networks" in outcome.output


@pytest.fixture
def config_file(tmp_path: Path) -> str:
    train = tmp_path / "train.txt"
    lines = ["a b\tfever cough", "a\tfever chills", "b\tcough cough", "c\tankle", "a c\tfever ankle", "c\tankle cast"]
    train.write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = tmp_path / "small.yml"
    path.write_text(CONFIG.format(train=train, cache=tmp_path / "cache"), encoding="utf-8")
    return str(path)


def test_validate_a_good_configuration(config_file: str) -> None:
    outcome = invoke("validate", config_file, "--seed", "3")
    assert outcome.exit_code == 0
    assert "no problems found" in outcome.output
    assert "PLANT, strategy plant" in outcome.output


def test_validate_as_json(config_file: str) -> None:
    told = json.loads(invoke("validate", config_file, "--json").output)
    assert told["model"] == "PLANT"
    assert told["hash"].startswith(invoke("validate", config_file).output.split()[-1])
    linear = json.loads(invoke("validate", config_file, "--json", "--linear", "--linear_technique", "tree").output)
    assert (linear["model"], linear["strategy"]) == ("linear, tree", None)


def test_validate_with_flags_that_do_not_fit(config_file: str) -> None:
    outcome = invoke("validate", config_file, "--network_config.pool_sise", "4", "--batch_size", "0")
    assert outcome.exit_code == 2
    assert "did you mean pool_size?" in outcome.output
    assert "batch_size" in outcome.output


def test_validate_names_the_linear_technique(config_file: str) -> None:
    outcome = invoke("validate", config_file, "--linear", "--linear_technique", "tree")
    assert "linear, tree" in outcome.output


def test_validate_a_name_that_is_nothing() -> None:
    outcome = invoke("validate", "no_such_configuration.yml")
    assert outcome.exit_code == 2
    assert "no such file" in outcome.output


def test_relevance_prints_the_label_s_tokens(config_file: str) -> None:
    """Label a: documents 1, 2 and 5 of 6; `fever` is in the same three, so its MIG is the label's entropy, ln 2."""
    outcome = invoke("relevance", config_file, "--label", "a", "--top", "2")
    assert outcome.exit_code == 0, outcome.output
    header, columns, first, second = outcome.output.splitlines()
    assert header == "a: 3 of 6 training documents"
    assert columns.split() == ["token", "MIG", "(nats)", "relevance", "documents", "with", "label"]
    assert first.split() == ["fever", "0.69315", "1.0000", "3", "3"]
    token, information, value, documents, both = second.split()
    assert (token, documents, both) == ("chills", "1", "1")
    assert float(value) == pytest.approx(float(information) / np.log(2), abs=1e-4)


def test_relevance_of_an_unknown_label(config_file: str) -> None:
    outcome = invoke("relevance", config_file, "--label", "z")
    assert outcome.exit_code == 2
    assert "no training document has the label 'z'" in outcome.output


def test_relevance_of_all_labels_into_a_file(config_file: str, tmp_path: Path) -> None:
    outcome = invoke("relevance", config_file, "--out", str(tmp_path / "found.npz"))
    assert outcome.exit_code == 0, outcome.output
    found = Relevance.load(tmp_path / "found.npz")
    assert f"{found.matrix.nnz} token types of {found.matrix.shape[0]} labels" in outcome.output
    assert found.matrix.max() == 1
    assert {"labels", "vocabulary", "train"} <= found.hashes.keys()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "exactly one"),
        (("--label", "a", "--out", "found.npz"), "exactly one"),
    ],
)
def test_relevance_refuses(config_file: str, flags: tuple[str, ...], message: str) -> None:
    outcome = invoke("relevance", config_file, *flags)
    assert outcome.exit_code == 2
    assert message in outcome.output


def test_embeddings_hands_everything_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[Any] = []

    def train_embeddings(*arguments: Any, **keywords: Any) -> tuple[Path, Path]:
        seen.append((arguments, keywords))
        return tmp_path / "v.txt", tmp_path / "v.txt.vocab"

    monkeypatch.setattr("plant_plugin.prepare.embeddings.train_embeddings", train_embeddings)
    out = str(tmp_path / "v.txt")
    flags = ["--dim", "8", "--min_count", "2", "--epochs", "3", "--seed", "4", "--allow_bad_lines"]
    outcome = invoke("embeddings", "demo:train", "--out", out, *flags)
    options = {"dim": 8, "min_count": 2, "epochs": 3, "seed": 4, "allow_bad_lines": True}
    options |= {"text_column": "text", "labels_column": "labels"}
    assert seen == [(("demo:train", Path(out)), options)]
    assert outcome.output == f"embed_file: {out}\nvocab_file: {out}.vocab\n"


def test_ctrl_c_is_quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def train_embeddings(*arguments: Any, **keywords: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("plant_plugin.prepare.embeddings.train_embeddings", train_embeddings)
    outcome = invoke("embeddings", "demo:train", "--out", str(tmp_path / "v.txt"))
    assert (outcome.exit_code, outcome.output) == (130, "")


def test_what_is_listed_and_counted_in_json() -> None:
    listed = json.loads(invoke("list", "--json").output)
    assert listed["networks"].keys() == registry.entries("networks").keys()
    assert "plant.yml" in listed["configurations"]
    counted = json.loads(invoke("stats", "demo:valid", "--json").output)
    assert counted["files"][0]["file"] == "demo:valid"
    assert sum(one["labels"] for one in counted["labels by training documents"]) == counted["files"][0]["labels"]


@pytest.mark.parametrize(("words", "found"), [("plant tra", "train"), ("plant list conf", "configurations")])
def test_shells_complete_commands_and_choices(words: str, found: str) -> None:
    typed = {"_PLANT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    code = "from plant_plugin.cli import plant; plant(prog_name='plant')"
    told = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **typed}, capture_output=True, text=True, check=True
    )
    assert told.stdout.splitlines() == [f"plain,{found}"]


def test_what_other_packages_warn_of_is_not_shown() -> None:
    code = """
import warnings, plant_plugin
warnings.warn("pkg_resources is deprecated as an API.", UserWarning)
warnings.warn("`isinstance(treespec, LeafSpec)` is deprecated, use another", FutureWarning)
warnings.warn("mine", UserWarning)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
    assert "UserWarning: mine" in told
    assert told.count("Warning:") == 1
