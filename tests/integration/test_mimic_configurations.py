"""Every packaged configuration for MIMIC runs to its result on made-up tables, from its own first lines.

What a configuration's head says is done as it stands there: tables are prepared, word vectors trained. Then it trains
and tests itself with widths, lengths and language models that a test can wait for.
"""

from __future__ import annotations

import gzip
import json
import shlex
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from made_up_hospital import write_hospital
from packaged_settings import stored
from tiny_language_models import write_language_model, write_tokenizer

from plant_plugin.cli import libmultilabel, plant
from plant_plugin.commands.configurations import text_of
from plant_plugin.commands.doctor import FIRST
from plant_plugin.config import registry

pytestmark = pytest.mark.integration
CONFIGURATIONS = [name for name in stored() if "_mimic" in name]
SMALL = {  # arguments of networks, in the place of those that a configuration has
    "hidden_size": 16, "projection_size": 8, "embed_dim": 16, "rnn_dim": 16, "num_filter_per_size": 8, "num_heads": 2,
    "pool_size": 8, "lm_window": 32,
}  # fmt: skip
NEEDS = {"quantization": ("peft", "bitsandbytes")}


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tables as they are downloaded, and two language models."""
    folder = tmp_path_factory.mktemp("hospital")
    write_hospital(folder)
    words = folder / "words.txt"
    words.write_text(" ".join(f"finding{number:04}" for number in range(3000)) + " the patient was stable at home\n")
    for family, name in (("mistral", "tiny-mistral"), ("bert", "RoBERTa-base-PM-M3-Voc-distill-align-hf")):
        write_language_model(family, folder / "models" / name)
        write_tokenizer([words], folder / "models" / name, padding=family == "bert")
    return folder


@pytest.fixture(scope="module")
def done() -> set[str]:
    """Commands of heads: what one has made is there for all configurations."""
    return set()


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_runs_to_its_result(
    name: str, hospital: Path, done: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hospital)
    text = text_of(name)
    config = yaml.safe_load(text)
    network = config["network_config"]
    for package in NEEDS["quantization"] if "quantization" in network else ():
        pytest.importorskip(package, reason="needs the extra llm")
    command, *_ = text.splitlines()
    assert command == f"# libmultilabel --config {name}.yml"
    first = [line.partition(FIRST)[2] for line in text.splitlines() if FIRST in line]
    smaller = [part for key, value in SMALL.items() if key in network
               for part in (f"--network_config.{key}", str(value))]  # fmt: skip
    # the language model has the sizes of the network
    of_network = ["--passes", "1", *smaller]
    for before in (before for before in first if before not in done):
        more = of_network if "pretrain-lm" in before else []
        outcome = CliRunner().invoke(plant, [*shlex.split(before)[1:], *more])
        assert outcome.exit_code == 0, (before, outcome.output, outcome.exception)
        done.add(before)
    given = ["--max_seq_length", "60", "--cpu", "--silent", "--seed", "1", "--data_workers", "0"]
    given += ["--result_dir", str(tmp_path / "runs"), "--cache_dir", str(hospital / "cache")]
    ours = registry.get("networks", config["model_name"]).ours
    # fp16 needs a GPU
    given += ["--stage1.epochs", "1", "--stage2.epochs", "1", "--precision", "32"] if ours else ["--epochs", "1"]
    known = registry.get("networks", config["model_name"]).signature(network)
    needed = ("num_heads", "pool_size", *(("lm_window",) if "lm_weight" in network else ()))
    small = {key: value for key, value in SMALL.items() if key in network or (key in needed and key in known)}
    if network.get("lm_weight") == "mistral-7b":
        small["lm_weight"] = "models/tiny-mistral"
    given += [part for key, value in small.items() for part in (f"--network_config.{key}", str(value))]
    trained = CliRunner().invoke(libmultilabel, [*shlex.split(command)[2:], *given])
    assert trained.exit_code == 0, (trained.output, trained.exception)
    (path,) = (tmp_path / "runs").glob("*/result.json")
    result = json.loads(path.read_text(encoding="utf-8"))
    assert result["model"] == config["model_name"]
    ranked = [value for name, value in result["metrics"].items() if name.startswith(("P@", "R@", "nDCG@"))]
    assert 0 < max(ranked) <= 1  # after an epoch of a few notes the first five may all be wrong
    assert result["counts"]["dropped"] == 0
    folder = Path(config["training_file"]).parent
    labels = {label for line in open(folder / "train.txt", encoding="utf-8") for label in line.split("\t")[0].split()}
    assert result["counts"]["labels"] >= len(labels) > 15
    stages = {stage for stage in ("stage1", "stage2") if stage in result["time_s"]}
    both = config.get("strategy", "plant") == "plant"
    assert stages == (set() if not ours else {"stage1", "stage2"} if both else {"stage2"})
    if config.get("planted_scores", {}).get("model") == "ridge":
        assert result["planted_scores"]["weight"] is not None
        names = gzip.decompress((path.parent / "label_names.tsv.gz").read_bytes())
        assert names == (folder / "label_names.tsv").read_bytes()
