"""Several systems on one split and several seeds: what ``plant bench`` trains, one run after the other.

Every run has a process of its own. So its memory is measured by itself, and one that is killed ends no other.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import yaml

from plant_plugin.config import load_config
from plant_plugin.config.load import WITHOUT_INFLUENCE
from plant_plugin.config.methods import named_parts
from plant_plugin.config.rules import is_ours, is_plant_over_words
from plant_plugin.config.values import Keys
from plant_plugin.data.documents import FILES, source_path
from plant_plugin.data.held_out import held_out
from plant_plugin.errors import ConfigError, Interrupted, PlantError, Terminated
from plant_plugin.files import locked, read_json, sha256, write_json, write_text
from plant_plugin.report.printed import printing
from plant_plugin.report.progress import said_to_go_on
from plant_plugin.report.read_systems import RESULT, load_systems
from plant_plugin.report.result import Result, read_result
from plant_plugin.report.run_folder import LOCK, stoppable
from plant_plugin.report.systems import System
from plant_plugin.training.choose.facts import beside
from plant_plugin.training.run import chosen_by_data, named_run, run

MINUTES = "minutes"  # that only PLANT over words can be fitted into
STATED = "bench.json"  # what all runs of the folder have in common
Stated = dict[str, dict[str, object]]
Say = Callable[[str], None]

# Systems by a name of their own: method, and keys beside those of its file. Others are packaged methods.
SYSTEMS: Mapping[str, tuple[str, Keys]] = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))


@dataclass
class Bench:
    """What the folder of a comparison holds.

    Attributes:
        systems: Those that have a run which has ended, in the order asked for.
        runs: Folders of the runs that have ended, by system.
        failed: System and seed -> why there is no result.
    """

    systems: list[System]
    runs: dict[str, list[Path]]
    failed: dict[str, str]


def bench(file: str, systems: Sequence[str], seeds: int, out: Path, flags: Mapping[str, object], say: Say) -> Bench:
    """Train and test every system with every seed on the same documents; runs that have ended stay as they are.

    Args:
        file: The documents. A file called ``train`` goes with ``valid`` and ``test`` beside it; else they are drawn.
        systems: ``linear``, ``scores``, ``plant``, ``laat``, ``caml``, any other packaged method, or a YAML file.
        seeds: Seeds 1 to so many.
        out: The folder of the comparison, which may be there already.
        flags: Keys of the configuration for all systems; those of blocks (with a dot) only for networks of ours, and
            ``minutes`` only for PLANT.
        say: Takes a line on what goes on.

    Raises:
        ConfigError: A system that there is not, or ``out`` is of other documents or flags.
        DataError: The documents cannot be read.
        Interrupted: Stopped; the same call goes on.
    """
    names = {Path(system).stem if Path(system).is_file() else system: system for system in systems}
    for system in names.values():
        if system not in SYSTEMS and not Path(system).is_file():
            named_parts(system)
    out.mkdir(parents=True, exist_ok=True)
    failed: dict[str, str] = {}
    with locked(out / LOCK, "wait for its end, or choose another folder with --out"), stoppable(lambda: False):
        keys = _stated(file, out, flags)
        settled: list[str] = []
        for name, system in names.items():
            try:
                _configure(system, out / f"{name}.yml", keys)
                settled.append(name)
            except Interrupted:
                raise
            except PlantError as error:
                failed[name] = error.message
                say(f"{name}: {error.message}")
        wanted = [(name, seed) for seed in range(1, seeds + 1) for name in settled]
        for name, seed in wanted:
            folder, first = (out / f"{name}_seed{number}" for number in (seed, 1))
            if (folder / RESULT).is_file() or (
                (first / RESULT).is_file() and _draws_nothing(read_result(first / RESULT))
            ):
                continue
            say(f"{name}, seed {seed} of {seeds}")
            with said_to_go_on(f"{name}, seed {seed}", say):
                problem = _apart(out / f"{name}.yml", seed, folder)
            if problem is not None:
                failed[f"{name}, seed {seed}"] = problem
                say(f"{name}, seed {seed}: {problem}")
    runs: dict[str, list[Path]] = {}
    for name, seed in wanted:
        if (folder := out / f"{name}_seed{seed}").joinpath(RESULT).is_file():
            runs.setdefault(name, []).append(folder)
    loaded = load_systems([f"{name}={folder}" for name, folders in runs.items() for folder in folders])
    for each in loaded:
        each.without_chance = _draws_nothing(each.results[0])
    return Bench(loaded, runs, failed)


def _draws_nothing(result: Result) -> bool:
    """Tell whether every seed has the same result, by the name of the model: a linear one that is no tree."""
    kind, _, technique = (result.get("model") or "").partition("-")
    return kind == "linear" and technique != "tree"


def _stated(file: str, out: Path, flags: Mapping[str, object]) -> Keys:
    """Return keys that all systems share; what has been stated before has to be so again."""
    if (trained_on := FILES["train"]) in flags:
        raise ConfigError("FILE is what is trained on", where=f"--{trained_on}", fix="leave out one of the two")
    given: Keys = {**beside(file), trained_on: file, **flags}
    plain = {key: value for key, value in given.items() if "." not in key and key != MINUTES}
    settings = load_config("plant", plain)
    sources = [source_path(str(source)) for key in FILES.values() if (source := getattr(settings, key))]
    stated: Stated = {
        "documents": {path.name: sha256(path) for path in sources if path.is_file()},
        "flags": {key: value for key, value in flags.items() if key not in {*FILES.values(), *WITHOUT_INFLUENCE}},
    }
    path = out / STATED
    if path.is_file():
        fix = "choose another folder with --out"
        before = read_json(path, Stated, what="what a comparison has in common", fix=fix)
        for what in (what for what in stated if before.get(what) != stated[what]):
            raise ConfigError(f"the runs of this folder have other {what}", where=str(path), fix=fix)
    files = held_out(settings, out.absolute() / "data")
    write_json(path, stated)
    return {**given, **files}


def _configure(system: str, path: Path, keys: Keys) -> None:
    """Write the configuration of a system, unless it is there: nothing is chosen twice."""
    if path.is_file():
        return
    name, own = SYSTEMS.get(system, (system, {}))
    config = load_config(name, {**own, **{key: keys[key] for key in keys if "." not in key and key != MINUTES}})
    if is_ours(config):
        config = load_config(name, {**own, **{key: keys[key] for key in keys if key != MINUTES}})
    if is_plant_over_words(config) and MINUTES in keys:
        config = load_config(name, {**own, **keys})
    config = chosen_by_data(config)
    write_text(path, config.settled or yaml.safe_dump(config.unchecked, sort_keys=False, allow_unicode=True))


def _apart(configuration: Path, seed: int, folder: Path) -> str | None:
    """Do a run in a process of its own; returns why it has no result, None where it has one."""
    context = multiprocessing.get_context("spawn")
    heard, said = context.Pipe(duplex=False)
    process = context.Process(target=_train, args=(configuration, seed, folder, said))
    process.start()
    said.close()
    try:
        process.join()
    except BaseException as stop:
        process.terminate()  # it keeps its state
        process.join()
        if isinstance(stop, KeyboardInterrupt | Terminated):
            kind = Terminated if isinstance(stop, Terminated) else Interrupted
            raise kind("stopped", where=str(folder.parent), fix="the same command goes on from here") from stop
        raise
    try:
        return str(heard.recv())
    except EOFError:
        return None if process.exitcode == 0 else f"its process ended with {process.exitcode}; was there memory?"


def _train(configuration: Path, seed: int, folder: Path, said: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits for this one ends it
    with printing():
        try:
            run(named_run(configuration, seed, folder))
        except Interrupted:
            pass
        except PlantError as error:
            said.send(error.message)
        except Exception as error:  # of LibMultiLabel, or of a network of a user's
            said.send(f"{type(error).__name__}: it ended by an error of its own; try it with plant train")
