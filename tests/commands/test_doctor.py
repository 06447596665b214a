"""``plant doctor``: what is installed, which files are missing, and what training takes on this device."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from made_up_task import write_splits

from plant_plugin.cli import plant
from plant_plugin.commands import doctor
from plant_plugin.errors import PlantError
from plant_plugin.training.stage2 import Stage2

NETWORK = {"encoder": "cnn", "hidden_size": 8, "filter_sizes": [3], "embed_dim": 8, "pool_size": 8}


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(plant, arguments)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    write_splits(tmp_path)
    values = {"model_name": "PLANT", "network_config": NETWORK, "cpu": True, "batch_size": 50,
              "stage1": {"epochs": 2}, "stage2": {"epochs": 3}, "cache_dir": str(tmp_path / "cache")}  # fmt: skip
    values |= {key: str(tmp_path / f"{name}.txt") for key, name in
               (("training_file", "train"), ("val_file", "valid"), ("test_file", "test"))}  # fmt: skip
    path = tmp_path / "mine.yml"
    path.write_text(yaml.safe_dump(values))
    return path


def test_what_training_takes_is_measured(config: Path) -> None:
    outcome = invoke("doctor", "--config", str(config), "--json")
    assert outcome.exit_code == 0, outcome.output
    rows = {row["name"]: row["text"] for row in json.loads(outcome.stdout)["rows"]}
    assert rows["files"] == "all that it names are there"
    for stage, epochs in (("stage1", 2), ("stage2", 3)):
        assert " s an epoch of 3 batches, " in rows[stage]
        assert f" its validation; {epochs} epochs at most; " in rows[stage]
        assert rows[stage].endswith(" GiB at the peak")
    assert rows["in all"].endswith("at most, without planted scores, shortlists and the test")
    assert not (config.parent / "runs").exists()


def test_a_configuration_that_does_not_fit_says_what_to_lower(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(self: Any, batch: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(Stage2, "training_loss", never)
    outcome = invoke("doctor", "--config", str(config))
    assert isinstance(outcome.exception, PlantError) or outcome.exit_code == 2
    assert "stage2: memory does not suffice" in outcome.output
    assert "a smaller batch_size with more accumulate" in outcome.output


def test_without_a_network_only_the_preparation_is_measured(config: Path) -> None:
    values = yaml.safe_load(config.read_text()) | {"strategy": "planted_scores", "planted_scores": {"model": "ridge"}}
    config.write_text(yaml.safe_dump(values))
    outcome = invoke("doctor", "--config", str(config))
    assert outcome.exit_code == 0, outcome.output
    assert "preparation" in outcome.output
    assert "an epoch of" not in outcome.output


def test_other_networks_are_tried_by_a_short_run(config: Path, tmp_path: Path) -> None:
    values = yaml.safe_load(config.read_text())
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("a 0.1 0.2\n")
    files = {key: value for key, value in values.items() if key.endswith("_file")} | {"embed_file": str(vectors)}
    config.write_text(
        yaml.safe_dump({**files, "data_name": "made", "model_name": "KimCNN", "network_config": {"filter_sizes": [2]}})
    )
    outcome = invoke("doctor", "--config", str(config))
    assert outcome.exit_code == 0, outcome.output
    assert "measured only for our networks\n      try it: --limit_train_batches 2" in outcome.output


def test_an_extra_that_a_configuration_wants_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None if name == "peft" else object())
    assert (
        "!! extra llm       peft not installed (language models"
        in invoke("doctor", "--config", "plant_llm_mimic3.yml").output
    )
    assert "\n  extra llm       peft not installed" in invoke("doctor", "--config", "plant_mimic3.yml").output


def test_missing_files_and_what_makes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(doctor, "_show_pace", lambda settings: None)
    outcome = invoke("doctor", "--config", "planted_caml_mimic3_50.yml")
    assert outcome.exit_code == 1
    for said in (
        "!! files           no such file: training_file: data/MIMIC-50/train.txt, val_file: ",
        "test_file: data/MIMIC-50/test.txt\n      plant prepare mimic3 --raw mimic-iii --out data --splits caml",
        "ok torch ",
    ):
        assert said in outcome.output
    folder = tmp_path / "data" / "MIMIC-50"
    folder.mkdir(parents=True)
    for name in ("train.txt", "valid.txt", "test.txt"):
        (folder / name).write_text("".join(f"A{number} B\tone two three\n" for number in range(20)))
    outcome = invoke("doctor", "--config", "plant_mimic3_50.yml")
    assert outcome.exit_code == 0, outcome.output
    assert "ok files           all that it names are there" in outcome.output
    assert "names           none of labels beside the training file" in outcome.output
    (folder / "label_names.tsv").write_text("B\tbeta\n")
    assert "names  " not in invoke("doctor", "--config", "plant_mimic3_50.yml").output
    outcome = invoke("doctor", "--config", "plm_icd_mimic3_50.yml")
    assert outcome.exit_code == 0, outcome.output
    assert "models/RoBERTa-base-PM-M3-Voc-distill-align-hf is neither here nor a preset" in outcome.output


def test_a_wrong_configuration_is_refused(tmp_path: Path) -> None:
    (tmp_path / "wrong.yml").write_text("model_name: PLANT\nstage2: {los: bce}\n")
    outcome = invoke("doctor", "--config", str(tmp_path / "wrong.yml"))
    assert outcome.exit_code == 2
    assert "there is no such key" in outcome.output


def test_doctor_in_a_good_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "requires", lambda name: ["click>=8", "six ; extra == 'xclib'"])
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    outcome = invoke("doctor")
    assert outcome.exit_code == 0
    assert f"ok click           {metadata.version('click')}" in outcome.output
    assert "six" not in outcome.output
    assert "none found; training runs on the processor" in outcome.output
    assert "GiB free" in outcome.output


def test_doctor_knows_every_extra() -> None:
    declared = set(metadata.metadata("plant-plugin").get_all("Provides-Extra", []))
    assert set(doctor.EXTRAS) == declared - {"dev", "docs"}


def test_doctor_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "requires", lambda name: ["click>=8", "no-such-package-of-anybody>=1"])
    outcome = invoke("doctor", "--json")
    told = json.loads(outcome.stdout)
    rows = {row["name"]: row for row in told["rows"]}
    assert (outcome.exit_code, told["fine"]) == (1, False)
    assert rows["click"] == {"name": "click", "text": metadata.version("click"), "fix": None, "ok": True}
    assert rows["no-such-package-of-anybody"]["fix"] == "pip install 'no-such-package-of-anybody>=1'"
    assert rows["memory"]["ok"] is None


@pytest.mark.parametrize(("feature", "hinted"), [("AVX-512 bf16", True), ("AVX-512", False)])
def test_doctor_says_where_bf16_pays(monkeypatch: pytest.MonkeyPatch, feature: str, hinted: bool) -> None:
    monkeypatch.setattr(doctor, "processor_features", lambda: [feature])
    assert ("--precision bf16" in invoke("doctor").output) == hinted


def test_doctor_says_how_to_get_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ["no-such-package-of-anybody>=1", "click<1", "tomli; python_version < '3'"]
    monkeypatch.setattr(metadata, "requires", lambda name: wanted)
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    outcome = invoke("doctor")
    assert outcome.exit_code == 1
    assert "not installed\n      pip install 'no-such-package-of-anybody>=1'" in outcome.output
    assert "but <1 is needed" in outcome.output
    assert "pip install 'plant-plugin[llm]'" in outcome.output
    assert "tomli" not in outcome.output


def test_doctor_survives_what_it_looks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """None in sys.modules makes an import fail as if the package were not there."""
    for absent in ("packaging", "packaging.requirements", "psutil"):
        monkeypatch.setitem(sys.modules, absent, None)
    monkeypatch.setattr(metadata, "requires", lambda name: ["click<1", "psutil>=5", "no-such-package-of-anybody[a]>=1"])
    outcome = invoke("doctor")
    assert outcome.exit_code == 1
    assert f"ok click           {metadata.version('click')}" in outcome.output
    assert "no-such-package-of-anybody not installed" in outcome.output
    assert "unknown: psutil is not installed" in outcome.output


def test_doctor_in_a_folder_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def requires(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    assert "pip install -e ." in invoke("doctor").output


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (
            subprocess.CompletedProcess([], 0, stdout="A100, 40960 MiB\nA100, 40960 MiB\n"),
            "A100, 40960 MiB; A100, 40960",
        ),
        (subprocess.CalledProcessError(9, "nvidia-smi"), "nvidia-smi fails"),
    ],
)
def test_doctor_asks_the_driver(monkeypatch: pytest.MonkeyPatch, answer: Any, shown: str) -> None:
    def run(*arguments: Any, **keywords: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(doctor.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(doctor.subprocess, "run", run)
    assert shown in invoke("doctor").output
