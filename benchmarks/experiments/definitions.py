"""What `experiments.yml` says, as runs: a configuration, its flags, and where the result goes."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

import plant_plugin
from plant_plugin.config import Config, load_config, registry
from plant_plugin.config.methods import parts_of, read_configuration
from plant_plugin.config.options import PLANTED_SCORES, PlantedScoresOptions
from plant_plugin.errors import ConfigError

DEFINITIONS = Path(__file__).with_name("experiments.yml")
CODE = (Path(__file__).with_name("trials.py"), *sorted(Path(plant_plugin.__file__).parent.rglob("*.py")))
KEYS = {"question", "seeds", "note", "columns", "baseline", "flags", "variants", "grid", "on_demand", "keep_models",
        "measure", "by_frequency", "pictures", "heading", "axis", "drawn", "in_readme", "logarithmic", "on_validation",
        "datasets", "one_seed", "equal_steps", "published", "gone"}  # fmt: skip
NAMES_VARIANTS = ("on_demand", "drawn", "in_readme", "one_seed")
OF_A_DATA_SET = {"seeds", "flags_of", "flags", "both_stages", "without"}  # what may differ on one of them
EPOCHS = ("stage1.epochs", "stage1.patience", "stage2.epochs", "stage2.patience", "patience")
BOTH_STAGES = "both_stages"  # epochs that the packaged configuration trains
AFTER_STAGE1 = "after_stage1"  # those of them that a stage 1 by gradient leaves to stage 2
SHARE = "training_share"  # no key of a configuration: files with a part of the training documents
APART, NAMES = "validation_apart", "names_as_documents"  # nor these, see Planned
TRIAL = "trial"  # nor this: a function of trials.py


@dataclass(frozen=True)
class Planned:
    """One run of one seed.

    Attributes:
        experiment: Its name.
        variant: Its name.
        value: What the grid says, or None.
        config_name: The packaged configuration.
        flags: Over it, by dotted key.
        seed: The seed.
        share: Of the training documents; 1 or None for all and the files as they are.
        apart: Whether it trains without the validation documents that PLANT draws; linear models would not.
        names: Whether the names of labels are training documents too, one for each label.
        trial: Function of ``trials.py`` that changes how PLANT trains, or None.
    """

    experiment: str
    variant: str
    value: float | None
    config_name: str
    flags: dict[str, Any] = field(hash=False)
    seed: int
    share: float | None = None
    trial: str | None = None
    apart: bool = False
    names: bool = False

    @property
    def name(self) -> str:
        """The folder of its results."""
        return self.variant if self.value is None else f"{self.variant}_{self.value:g}"

    @property
    def on_a_part(self) -> bool:
        """Whether it trains on files of its own with a part of the training documents, or more than these."""
        return self.apart or (self.share is not None and self.share < 1)

    @cached_property
    def config(self) -> Config:
        """The checked configuration, without a share of the training documents."""
        return load_config(self.config_name, {**self.flags, "seed": self.seed})

    @property
    def is_ours(self) -> bool:
        """Whether one of our strategies trains it."""
        return not self.config.linear and registry.get("networks", self.config.model_name).ours

    @property
    def trains(self) -> bool:
        """Whether there is a network that others could take over; with ``refit`` it would be two."""
        return self.config.strategy != PLANTED_SCORES and not self.on_a_part and self.config.refit == "none"

    @property
    def training(self) -> str:
        """The same for runs whose networks are the same: planted scores and tests come after training.

        Another state of the package, or of the files that are read, is another training; a language model is its name.
        """
        proposes = self.config.shortlist.size is not None  # then planted scores come before training too
        unread = [] if proposes else ["planted_scores."]
        unread += ["stage1."] if self.flags.get("strategy") == "end_to_end" else []
        flags = {key: value for key, value in self.flags.items() if not key.startswith(tuple(unread))}
        config = load_config(self.config_name, {**flags, "test_file": None, "seed": self.seed})
        if not proposes:
            config = replace(config, planted_scores=PlantedScoresOptions())
        digest = hashlib.sha256(f"{config.hash()} {self.trial}".encode())
        files = [config.training_file, config.val_file, config.label_file, config.embed_file]
        files += [config.evidence.training_file, config.evidence.val_file]
        language_model = Path(config.network_config.get("language_model", "nowhere"))
        files += [str(path) for path in language_model.glob("*.safetensors")]
        for path in (*CODE, *(Path(name) for name in files if name)):
            if path.is_file():  # an embed_file may be the name of known vectors
                digest.update(path.read_bytes())
        return digest.hexdigest()


def load_definitions(path: Path = DEFINITIONS) -> dict[str, dict[str, Any]]:
    """All experiments by name.

    Raises:
        ConfigError: A key that does not exist, an experiment without variants, a list of some that it does not have,
            one that is gone and still there, or flags of an experiment that does not exist.
    """
    definitions: dict[str, dict[str, Any]] = deepcopy(_parsed(path.read_text(encoding="utf-8")))
    for name, definition in definitions.items():
        if unknown := set(definition) - KEYS:
            raise ConfigError(f"there is no key {', '.join(sorted(unknown))}", where=f"{path.name}, {name}")
        for dataset, differs in datasets_of(definition).items():
            if unknown := set(differs) - OF_A_DATA_SET:
                what = f"there is no key {', '.join(sorted(unknown))}"
                raise ConfigError(what, where=f"{path.name}, {name}: datasets, {dataset}")
            if (other := differs.get("flags_of", name)) not in definitions:
                what = f"there is no experiment {other}"
                raise ConfigError(what, where=f"{path.name}, {name}: datasets, {dataset}")
        if not definition.get("variants"):
            raise ConfigError("there are no variants", where=f"{path.name}, {name}")
        if both := set(definition.get("gone", ())) & set(definition["variants"]):
            what = f"{', '.join(sorted(both))} cannot be gone and among the variants"
            raise ConfigError(what, where=f"{path.name}, {name}: gone")
        for key in NAMES_VARIANTS:
            if unknown := set(definition.get(key, ())) - set(definition["variants"]):
                raise ConfigError(
                    f"there is no variant {', '.join(sorted(unknown))}", where=f"{path.name}, {name}: {key}"
                )
    return definitions


def datasets_of(definition: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The data sets that an experiment is to run on, and what differs on each."""
    named = definition.get("datasets", {})
    return named if isinstance(named, dict) else {name: {} for name in named}


def packaged(config_name: str) -> dict[str, Any]:
    """What a packaged configuration says, unchecked: the files that it names may still have to be made."""
    return read_configuration(config_name)[0]


@cache
def _parsed(text: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(text)
    return content


def results_folder(results: Path, experiment: str, dataset: str) -> Path:
    """Where an experiment keeps its results: the main comparison under the data set's own name."""
    return results / (dataset if experiment == "main" else f"{dataset}-{experiment}")


def plan(
    experiment: str,
    dataset: str,
    seeds: list[int] | None = None,
    *,
    variants: list[str] | None = None,
    changes: dict[str, Any] | None = None,
    definitions: dict[str, dict[str, Any]] | None = None,
) -> tuple[list[Planned], list[str]]:
    """The runs of an experiment, seed by seed, and the variants that have no configuration for this data set.

    Args:
        experiment: Its name.
        dataset: As in `plant_DATASET.yml`.
        seeds: The seeds; None: as many as the definition wants of each variant.
        variants: Some of them only; None: all that need not be named.
        changes: More flags for every run, e.g. for a trial.
        definitions: Instead of those of the file.

    Raises:
        ConfigError: No such variant, or flags that are wrong.
    """
    definitions = definitions or load_definitions()
    definition = definitions[experiment]
    known: dict[str, dict[str, Any]] = definition["variants"]
    if unknown := set(variants or ()) - set(known):
        gone = definition.get("gone", {})
        told = ", ".join(f"{name}, gone: {gone[name]}" if name in gone else name for name in sorted(unknown))
        raise ConfigError(f"{experiment} has no variant {told}", fix=f"choose {', '.join(known)}")
    differs = datasets_of(definition).get(dataset, {})
    left_out = {*definition.get("on_demand", ()), *differs.get("without", ())}
    wanted = variants or [name for name in known if name not in left_out]
    of_other = definitions[differs["flags_of"]].get("flags", {}) if "flags_of" in differs else {}
    base = {**of_other, **differs.get("flags", {})}
    epochs = {AFTER_STAGE1: base.get("stage2.epochs"), BOTH_STAGES: differs.get(BOTH_STAGES)}
    grid: dict[str, list[Any]] = definition.get("grid", {})
    runs: list[Planned] = []
    missing: list[str] = []
    for seed in seeds or range(1, differs.get("seeds", definition["seeds"]) + 1):
        for value in next(iter(grid.values()), [None]):
            for name in wanted:
                if seeds is None and seed > 1 and name in definition.get("one_seed", ()):
                    continue
                flags = {**base, **definition.get("flags", {}), **known[name], **dict.fromkeys(grid, value)}
                planned = _planned(experiment, dataset, name, value, {**flags, **(changes or {})}, seed)
                if not _is_packaged(planned.config_name):
                    missing.append(name)
                    continue
                _settle(planned, definition, epochs)
                runs.append(planned)
    return runs, list(dict.fromkeys(missing))


def _planned(
    experiment: str, dataset: str, variant: str, value: float | None, said: dict[str, Any], seed: int
) -> Planned:
    """A run of what a definition says of it; DATASET is filled in, and what is no flag is taken out."""
    flags = {key: one.replace("DATASET", dataset) if isinstance(one, str) else one for key, one in said.items()}
    if "registry" in flags:
        flags["registry"] = str(DEFINITIONS.parents[1] / flags["registry"])
    named = flags.pop("config", "plant")
    config_name = named if named.endswith(".yml") else f"{named}_{dataset}.yml"
    share, trial = flags.pop(SHARE, None), flags.pop(TRIAL, None)
    apart, names = flags.pop(APART, False), flags.pop(NAMES, False)
    return Planned(experiment, variant, value, config_name, flags, seed, share, trial, apart, names)


def _settle(planned: Planned, definition: dict[str, Any], epochs: dict[str, int | None]) -> None:
    """Put numbers and files in the place of the flags that depend on the packaged configuration."""
    flags, config_name = planned.flags, planned.config_name
    if definition.get("on_validation"):
        flags |= {"test_file": _validation_file(config_name, planned.experiment), "refit": "none"}
    if (which := flags.get("stage2.epochs")) in epochs:
        flags["stage2.epochs"] = epochs[which] or _epochs(config_name, which)
    if definition.get("equal_steps") and planned.on_a_part:
        assert planned.share is not None
        for key in EPOCHS:
            stage, _, name = key.rpartition(".")
            content = packaged(config_name)
            said = flags.get(key, (content.get(stage, {}) if stage else content).get(name))
            if said is not None:
                flags[key] = round(said / planned.share)


def _is_packaged(config_name: str) -> bool:
    return Path(config_name).is_file() or parts_of(config_name) is not None


def _validation_file(config_name: str, experiment: str) -> str:
    named: str | None = packaged(config_name).get("val_file")
    if not named:
        what = f"{experiment} is asked on validation documents, and there is no file of them"
        raise ConfigError(what, where=f"{config_name}: val_file", fix="choose a data set that has one, e.g. eurlex6k")
    return named


def _epochs(config_name: str, which: str) -> int:
    content = packaged(config_name)
    stage1, stage2 = int(content["stage1"]["epochs"]), int(content["stage2"]["epochs"])
    return stage1 + stage2 if which == BOTH_STAGES else stage2
