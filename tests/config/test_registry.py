from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import click
import pytest

from plant_plugin.config import load_config, registry
from plant_plugin.config.registry import KINDS, Entry
from plant_plugin.config.sections import BLOCKS, OPTIONS
from plant_plugin.config.signatures import REQUIRED
from plant_plugin.errors import ConfigError, MissingExtraError, PlantError

ENTRIES = [entry for kind in KINDS for entry in registry.entries(kind).values()]
OURS = "PLANT PLANTL2R LAAT PLMICD PLMCA PlantedPLMCA MultiResCNN PlantedCAML PlantedBiGRULWAN".split()
UPSTREAM = "KimCNN XMLCNN CAML BiGRULWAN BiLSTMLWAN BiLSTMLWMHAN CNNLWAN BERT BERTAttention AttentionXML".split()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.kind}-{entry.name}")
def test_contract(entry: Entry) -> None:
    target = entry.load()
    assert callable(target)
    assert entry.summary.endswith(".")
    assert "\n" not in entry.summary
    assert len(entry.summary) < 130
    assert entry.source
    if entry.kind == "commands":
        assert (isinstance(target, click.Command), target.name) == (True, entry.name)
        return
    parameters, read = dict(inspect.signature(target).parameters), entry.signature()
    if (declared := entry.declared()) is not None:  # takes its arguments through a class of its own
        parameters.pop("network_config" if "network_config" in parameters else "options")
        parameters |= inspect.signature(declared).parameters
    kinds = {name: parameter.kind for name, parameter in parameters.items()}
    named = [name for name, kind in kinds.items() if kind is not inspect.Parameter.VAR_KEYWORD]
    assert list(read) == named
    assert read.open == (inspect.Parameter.VAR_KEYWORD in kinds.values())
    for name in named:
        default = parameters[name].default
        if default is inspect.Parameter.empty:
            assert read[name] is REQUIRED
        elif not isinstance(read[name], str) or isinstance(default, str):  # the name of a constant stays a name
            assert read[name] == default
    assert set(entry.required) <= set(named)
    assert (entry.stage in (1, 2)) == (entry.kind == "losses")
    assert entry.ours == target.__module__.startswith("plant_plugin")
    if entry.kind == "networks":
        assert "num_classes" in read
        assert hasattr(target, "forward")
    if entry.kind == "strategies":
        assert named == ["config", "run"]


def test_networks_are_ours_and_all_of_libmultilabel() -> None:
    assert list(registry.entries("networks")) == [*OURS, *UPSTREAM]
    assert [name for name, entry in registry.entries("networks").items() if entry.ours] == OURS


def test_our_networks_show_their_attention() -> None:
    from plant_plugin.networks.plantable import PlantableNetwork

    for name in OURS:
        entry = registry.get("networks", name)
        assert issubclass(entry.load(), PlantableNetwork)
        own = "static" if name == "PLANTL2R" else "planted_prior"
        assert {"num_classes", "embed_vecs", own} <= entry.signature().keys()


def test_a_network_of_your_own_is_named_by_where_it_is() -> None:
    own = registry.get("networks", "somebody.networks:Net")
    assert (own.name, own.target, own.ours) == ("somebody.networks:Net", "somebody.networks:Net", True)
    with pytest.raises(ConfigError, match="there is no loss"):
        registry.get("losses", "somebody.losses:Loss")


def test_defaults_of_the_configuration_are_registered() -> None:
    losses = {stage: [n for n, e in registry.entries("losses").items() if e.stage == stage] for stage in (1, 2)}
    for stage in (1, 2):
        assert BLOCKS[f"stage{stage}"].__dataclass_fields__["loss"].default in losses[stage]
    assert OPTIONS["data_format"].default in registry.entries("readers")
    assert OPTIONS["linear_technique"].default in registry.entries("linear")
    assert OPTIONS["strategy"].default in registry.entries("strategies")


def test_every_metric_family_is_listed() -> None:
    from plant_plugin.evaluation.names import FAMILIES

    summaries = " ".join(entry.summary for entry in registry.entries("metrics").values())
    for family in set(FAMILIES) - {"Loss"}:  # measured by the trainer
        assert (f"-{family.split('-', 2)[2]}" if family.startswith("Macro-F1-") else family) in summaries


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("networks", "KimCN", "there is no network 'KimCN'.*did you mean KimCNN"),
        ("networks", "plant", "did you mean PLANT"),
        ("networks", "zzz", "one of PLANT, PLANTL2R, LAAT"),
        ("strategies", "planted", "there is no strategy 'planted'.*did you mean plant"),
        ("losses", "focall", "there is no loss 'focall'.*did you mean focal"),
        ("readers", "libmultilabel", "there is no reader"),
        ("linear", "threshold", "there is no linear technique.*did you mean thresholding"),
        ("network", "PLANT", "there is no kind of entry 'network'.*did you mean networks"),
    ],
)
def test_an_unknown_name_comes_with_the_nearest(kind: str, name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"(?s){message}"):
        registry.get(kind, name)


def test_a_loss_belongs_to_its_stage() -> None:
    assert registry.get("losses", "focal", stage=2).target.endswith("focal_loss")
    with pytest.raises(ConfigError, match="one of lambda_rank, mse"):
        registry.get("losses", "focal", stage=1)


def entry(target: str, needs: str | None = None) -> Entry:
    return Entry("networks", "X", target, "A network.", "a paper", needs)


def test_a_missing_package_comes_with_its_command() -> None:
    with pytest.raises(MissingExtraError, match=r"(?s)no_such_package is not installed.*pip install no_such_package"):
        entry("no_such_package.networks:X").load()
    with pytest.raises(MissingExtraError, match=r"pip install 'plant-plugin\[llm\]'"):
        entry("no_such_package.networks:X", needs="llm").load()


@pytest.mark.parametrize("target", ["no_such_package:X", "plant_plugin.no_such:X", "plant_plugin.errors:NoSuch"])
def test_a_signature_without_source_is_an_error(target: str) -> None:
    with pytest.raises(PlantError, match="source cannot be found"):
        entry(target).signature()


def test_what_cannot_be_read_of_a_network_of_your_own_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "latin.py").write_bytes("class Net:\n    'Maß'\n".encode("latin-1"))
    (tmp_path / "said.py").write_bytes("# coding: latin-1\nclass Net:\n    'Maß'\n".encode("latin-1"))
    for name, message in (("latin:Net", r"cannot be read \(SyntaxError\)"), ("__main__:Net", "cannot be found")):
        with pytest.raises(ConfigError, match=f"model_name: {name}: its source {message}"):
            load_config(None, {"model_name": name, "training_file": "demo:train"})
    assert entry("said:Net").signature() == {}


def test_the_list_is_found_beside_the_module_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "plant_plugin"
    package.mkdir()
    monkeypatch.setattr(registry, "__file__", str(package / "config" / "registry.py"))
    read = registry._read.__wrapped__
    with pytest.raises(PlantError, match="install the package again"):
        read()
    empty: dict = {kind: {} for kind in KINDS}
    (tmp_path / "registry.yaml").write_text(str(empty | {"readers": {"above": {"target": "a:b"}}}))
    with pytest.raises(TypeError):  # an entry without a summary is no entry
        read()
    fields = {"target": "a:b", "summary": "S.", "source": "s"}
    (tmp_path / "registry.yaml").write_text(str(empty | {"readers": {"above": fields}}))
    assert list(read()["readers"]) == ["above"]
    (package / "registry.yaml").write_text(str(empty | {"readers": {"beside": fields}}))
    assert list(read()["readers"]) == ["beside"]


def test_listing_and_signatures_import_nothing_heavy() -> None:
    code = (
        "import sys; from plant_plugin.config import registry\n"
        "[entry.signature() for kind in registry.KINDS for entry in registry.entries(kind).values()]\n"
        "print(*sorted({'torch', 'libmultilabel', 'pandas', 'numpy', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_linear_techniques_are_libmultilabels() -> None:
    from libmultilabel.linear.utils import LINEAR_TECHNIQUES

    assert {name: entry.load() for name, entry in registry.entries("linear").items()} == LINEAR_TECHNIQUES
