"""``plant relevance``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from plant_plugin.cli import plant
from plant_plugin.relevance.mutual_information import Relevance


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(plant, list(arguments))


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
