"""One more thing of every kind, each by its function and an entry in a user's own ``registry.yaml``."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from made_up_task import made_config, write_language_model, write_splits

from plant_plugin.cli import plant
from plant_plugin.config import load_config, registry
from plant_plugin.errors import CheckpointError, ConfigError, DataError
from plant_plugin.evaluation.names import parse_metric
from plant_plugin.evaluation.per_document import load_per_document
from plant_plugin.evaluation.resampling import DocumentSums, computable
from plant_plugin.model.predictor import Predictor
from plant_plugin.report.result import Result
from plant_plugin.training.run import run

SHORT = {"stage1__epochs": 1, "stage2__epochs": 1}
WITHOUT_PRIOR = {"network_config__planted_prior": "none"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Made-up data, a place where Python finds modules, and no registry of others."""
    monkeypatch.syspath_prepend(str(tmp_path))
    write_splits(tmp_path)
    registry._read.cache_clear()
    yield tmp_path
    registry._read.cache_clear()


def enter(folder: Path, kind: str, name: str, target: str, **more: object) -> dict[str, str]:
    """An entry in a user's registry, and the key of the configuration that names the file."""
    path = folder / "registry.yaml"
    path.write_text(json.dumps({kind: {name: {"target": target, "summary": "One more.", **more}}}))
    return {"registry": str(path)}


def linear_run(folder: Path, **changes: str) -> Result:
    """What a linear model of LibMultiLabel has."""
    files = {"training_file": str(folder / "train.txt"), "test_file": str(folder / "test.txt")}
    places = {"result_dir": str(folder / "linear"), "cache_dir": str(folder / "cache")}
    exact = "-s 1 -B 1 -e 0.0001 -q -m 1"  # liblinear's order of documents is another one each time
    common = {"linear": True, "liblinear_options": exact, "monitor_metrics": ["P@1"], "seed": 1, "silent": True}
    return run(load_config(None, {**common, **files, **places, **changes}))


def test_a_network(folder: Path) -> None:
    shutil.copy(Path(__file__).with_name("training") / "own_network.py", folder / "one_more_network.py")
    own = enter(folder, "networks", "OneMore", "one_more_network:OwnNetwork")
    config = made_config(folder, model_name="OneMore", network_config={"sharpness": 2.0}, **own, **SHORT)
    result = run(config)
    assert result["metrics"]["P@1"] > 0.2
    model = Path(config.checkpoint_dir)
    assert json.loads((model / "logs.json").read_text())["config"]["registry"] == own["registry"]

    registry._USED.clear()  # another process
    registry._read.cache_clear()
    del sys.modules["one_more_network"]
    for trust_code in (False, True):
        with pytest.raises(CheckpointError, match=r"(?s)'networks: OneMore' of a registry.*--registry FILE"):
            Predictor.load(model, device="cpu", trust_code=trust_code)
    assert "one_more_network" not in sys.modules  # whatever the folder says
    (folder / "note.txt").write_text("sign3x sign3x filler1")
    asked = ["predict", str(model), str(folder / "note.txt"), "--input", "text", "--device", "cpu"]
    assert "--registry" in CliRunner().invoke(plant, asked).output
    assert CliRunner().invoke(plant, [*asked, "--registry", own["registry"]]).exit_code == 0


def test_a_backbone(folder: Path) -> None:
    (folder / "one_more_backbone.py").write_text(
        "from plant_plugin.networks.backbone import HuggingFaceBackbone\n"
        "class Doubled(HuggingFaceBackbone):\n"
        "    def forward(self, text, length, mask):\n"
        "        return 2 * super().forward(text, length, mask)\n"
    )
    weights = write_language_model(folder)
    own = enter(folder, "backbones", "doubled", "one_more_backbone:Doubled", weights=str(weights))
    options = {"num_heads": 2, "pool_size": 8, "lm_window": 16}
    results = {}
    for name in ("doubled", str(weights)):
        network = {**options, "lm_weight": name}
        config = made_config(folder, network_config=network, result_dir=str(folder / Path(name).name), **own, **SHORT)
        results[name] = run(config)
        loaded = Predictor.load(config.checkpoint_dir, device="cpu")
        assert type(loaded.network.backbone).__name__ == ("Doubled" if name == "doubled" else "HuggingFaceBackbone")
    assert results["doubled"]["metrics"] != results[str(weights)]["metrics"]
    (folder / "one_more_backbone.py").write_text("Doubled = dict\n")
    del sys.modules["one_more_backbone"]
    with pytest.raises(ConfigError, match="not derived from HuggingFaceBackbone"):
        run(made_config(folder, network_config={**options, "lm_weight": "doubled"}, **own, **SHORT))


def test_a_strategy(folder: Path) -> None:
    (folder / "one_more_strategy.py").write_text(
        "from dataclasses import replace\n"
        "from plant_plugin.training.run import plant\n"
        "def longer(config, run):\n"
        "    return plant(replace(config, stage1=replace(config.stage1, epochs=config.stage1.epochs + 1)), run)\n"
    )
    own = enter(folder, "strategies", "longer", "one_more_strategy:longer")
    config = made_config(folder, strategy="longer", **own, **SHORT)
    assert run(config)["strategy"] == "longer"
    assert len(json.loads((Path(config.checkpoint_dir) / "logs.json").read_text())["stage1"]) == 2


def test_a_loss_of_stage_1(folder: Path) -> None:
    """It is handed what it has arguments for: the attention here, not the scores, and k."""
    (folder / "one_more_ranking.py").write_text(
        "seen = []\n"
        "def top_mass(attention, relevance, mask, k):\n"
        "    seen.append((float(attention.sum(-1).mean()), k))\n"
        "    return 1 - (attention * relevance).sum(-1)\n"
    )
    own = enter(folder, "losses", "top_mass", "one_more_ranking:top_mass", stage=1)
    found = run(made_config(folder, stage1__loss="top_mass", **own, **SHORT, **WITHOUT_PRIOR))
    import one_more_ranking

    assert one_more_ranking.seen[0] == (pytest.approx(1), 10)
    other = made_config(folder, **SHORT, **WITHOUT_PRIOR, result_dir=str(folder / "other"))
    assert 0 < found["metrics"]["nDCG@5"] != run(other)["metrics"]["nDCG@5"]
    with pytest.raises(ConfigError, match="there is no loss 'top_mass'"):
        made_config(folder, stage2__loss="top_mass", **own)


def test_a_loss_of_stage_2(folder: Path) -> None:
    (folder / "one_more_loss.py").write_text(
        "def squared(logits, target, gamma=0.0, label_smoothing=0.0):\n"
        "    return (logits.sigmoid() - target).square()\n"
    )
    own = enter(folder, "losses", "squared", "one_more_loss:squared", stage=2)
    config = made_config(folder, stage2__loss="squared", **own, **WITHOUT_PRIOR, **SHORT)
    other = made_config(folder, **WITHOUT_PRIOR, **SHORT, result_dir=str(folder / "other"))
    assert 0 < run(config)["metrics"]["nDCG@5"] != run(other)["metrics"]["nDCG@5"]


def test_a_reader(folder: Path) -> None:
    for split in ("train", "valid", "test"):
        lines = (folder / f"{split}.txt").read_text().splitlines()
        rows = [dict(zip(("codes", "note"), line.split("\t"), strict=True)) for line in lines]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "one_more_reader.py").write_text(
        "import json\n"
        "from plant_plugin.data.text import Documents\n"
        "def read(path):\n"
        "    rows = [json.loads(line) for line in path.read_text().splitlines()]\n"
        "    return Documents([row['note'] for row in rows], [row['codes'].split() for row in rows])\n"
    )
    own = enter(folder, "readers", "notes", "one_more_reader:read")
    files = {
        f"{key}_file": str(folder / f"{split}.jsonl")
        for key, split in (("training", "train"), ("val", "valid"), ("test", "test"))
    }
    found = run(made_config(folder, data_format="notes", **own, **files, **SHORT, result_dir=str(folder / "a")))
    plain = run(made_config(folder, **SHORT, result_dir=str(folder / "b")))
    assert found["metrics"] == plain["metrics"]
    notes = {**files, **own, "data_format": "notes"}
    linear, plain = (linear_run(folder, **given) for given in (notes, {"val_file": str(folder / "valid.txt")}))
    assert linear["metrics"] == plain["metrics"]
    Path(files["test_file"]).write_text(json.dumps({"codes": "L1", "note": "sign1x"}).replace("L1", "L1\\u00a0b"))
    (folder / "one_more_reader.py").write_text(
        (folder / "one_more_reader.py").read_text().replace(".split()", ".split(' ')")
    )
    del sys.modules["one_more_reader"]
    with pytest.raises(DataError, match=r"(?s)label with a space in it.*write another character"):
        linear_run(folder, **notes)


def test_a_reader_that_returns_something_else_is_named(folder: Path) -> None:
    (folder / "no_reader.py").write_text("def read(path):\n    return [path.read_text()]\n")
    own = enter(folder, "readers", "lists", "no_reader:read")
    with pytest.raises(DataError, match="returned list instead of Documents"):
        run(made_config(folder, data_format="lists", **own, **SHORT))


def test_a_metric(folder: Path) -> None:
    """Any hit in the top k: watched, reported by default, kept for every document, resampled."""
    (folder / "one_more_metric.py").write_text(
        "import numpy as np\n"
        "def any_hit(scores, truth, k):\n"
        "    top = np.argsort(-scores, axis=1, kind='stable')[:, :k]\n"
        "    return np.take_along_axis(truth.toarray(), top, axis=1).any(axis=1), np.ones(len(top))\n"
    )
    own = enter(folder, "metrics", "AnyHit", "one_more_metric:any_hit")
    config = made_config(folder, monitor_metrics=["AnyHit@3", "nDCG@5"], val_metric="AnyHit@3", **own, **SHORT)
    result = run(config)
    metrics = result["metrics"]
    assert metrics["AnyHit@1"] == metrics["P@1"]
    assert metrics["P@3"] < metrics["AnyHit@3"] <= metrics["AnyHit@8"] <= 1
    documents = load_per_document(Path(config.checkpoint_dir) / "per_document.npz")
    metric = parse_metric("AnyHit@3")
    assert computable(metric, documents)
    assert not computable(parse_metric("AnyHit@2"), documents)
    sums = DocumentSums(documents, [metric])
    resampled = sums.values(*sums.additions.sums(np.ones((1, documents.truth.shape[0]), dtype=np.int64)))
    assert np.ravel(resampled)[0] == pytest.approx(metrics["AnyHit@3"])
    with pytest.raises(ConfigError, match=r"(?s)there is no metric 'AnyHit'.*did you mean AnyHit@"):
        parse_metric("AnyHit")  # without the rank that its function asks for


def test_a_metric_that_returns_something_else_is_named(folder: Path) -> None:
    (folder / "no_metric.py").write_text("def share(scores, truth):\n    return float(truth.mean())\n")
    own = enter(folder, "metrics", "Share", "no_metric:share")
    with pytest.raises(ConfigError, match=r"(?s)did not return two numbers a document.*\(above, below\)"):
        run(made_config(folder, monitor_metrics=["Share"], **own, **SHORT))


def test_a_linear_technique(folder: Path) -> None:
    (folder / "one_more_technique.py").write_text(
        "from libmultilabel.linear import train_1vsrest\n"
        "def halved(y, x, options=''):\n"
        "    model = train_1vsrest(y, x, options=options)\n"
        "    model.weights = model.weights / 2\n"
        "    return model\n"
    )
    own = enter(folder, "linear", "halved", "one_more_technique:halved")
    found, plain = (linear_run(folder, linear_technique=name, **own) for name in ("halved", "1vsrest"))
    assert found["model"] == "linear-halved"
    assert found["metrics"]["P@5"] == plain["metrics"]["P@5"]  # half of each score
    assert found["metrics"]["P@1"] > 0.5


def test_an_encoder_with_arguments_of_its_own(folder: Path) -> None:
    """Its arguments are checked with those of the network that it stands in."""
    (folder / "one_more_encoder.py").write_text(
        "import torch\n"
        "class Scaled(torch.nn.Module):\n"
        "    def __init__(self, vectors, **options):\n"
        "        super().__init__()\n"
        "        self.embedding = torch.nn.Embedding.from_pretrained(vectors, freeze=False)\n"
        "        self.hidden_size, self.scale = vectors.shape[1], options['scale']\n"
        "    def forward(self, text, length, mask):\n"
        "        return self.scale * self.embedding(text) * mask[..., None]\n"
    )
    (folder / "one_more_encoders_options.py").write_text(
        "from dataclasses import dataclass\n"
        "from plant_plugin.config.options import NetworkOptions\n"
        "from plant_plugin.config.values import Positive\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Scaled(NetworkOptions):\n"
        "    scale: Positive = 1.0\n"
    )
    own = enter(folder, "encoders", "scaled", "one_more_encoder:Scaled", options="one_more_encoders_options:Scaled")
    network = {"encoder": "scaled", "scale": 3.0, "projection_size": 8}
    config = made_config(folder, model_name="LAAT", network_config=network, **own, **SHORT)
    assert run(config)["metrics"]["P@1"] > 0
    assert Predictor.load(config.checkpoint_dir, device="cpu").network.backbone.scale == 3.0
    for wrong, message in (({"scale": 0}, "has to be above 0"), ({"scales": 2}, "did you mean scale")):
        with pytest.raises(ConfigError, match=message):
            made_config(folder, model_name="LAAT", network_config={**network, **wrong}, **own)


def test_a_network_with_a_start_and_a_stage_1_of_its_own(folder: Path) -> None:
    shutil.copy(Path(__file__).with_name("training") / "own_network.py", folder / "own_network.py")
    (folder / "one_more_stage.py").write_text(
        "from own_network import OwnNetwork\n"
        "seen = []\n"
        "class Started(OwnNetwork):\n"
        "    def start(self, vocabulary):\n"
        "        seen.append(vocabulary)\n"
        "def plant(network, inputs, settings, run):\n"
        "    seen.append(type(network).__name__)\n"
    )
    fields = {"stage1": "one_more_stage:plant", "stage1_unread": ["loss"]}
    own = enter(folder, "networks", "Started", "one_more_stage:Started", **fields)
    config = made_config(folder, model_name="Started", network_config={}, **own, **SHORT)
    run(config)
    vocabulary = json.loads((Path(config.checkpoint_dir) / "vocabulary.json").read_text())["hash"]
    assert sys.modules["one_more_stage"].seen == [vocabulary, "Started"]
    Predictor.load(config.checkpoint_dir, device="cpu")
    assert len(sys.modules["one_more_stage"].seen) == 2  # what was trained starts from nothing else
    with pytest.raises(ConfigError, match=r"stage1\.loss.*stage 1 of Started does not read it"):
        made_config(folder, model_name="Started", network_config={}, stage1__loss="mse", **own)


def test_a_command(folder: Path) -> None:
    (folder / "one_more_command.py").write_text(
        "import click\n"
        "@click.command('greet')\n"
        "def greet():\n"
        "    '''Say good morning.'''\n"
        "    click.echo('good morning')\n"
    )
    registry.use(enter(folder, "commands", "greet", "one_more_command:greet")["registry"])
    assert "Say good morning." in CliRunner().invoke(plant, ["--help"]).output
    assert CliRunner().invoke(plant, ["greet"]).output == "good morning\n"
    assert CliRunner().invoke(plant, ["greeet"]).exit_code == 2
