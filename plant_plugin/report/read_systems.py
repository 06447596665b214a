"""From paths to systems: which results are compared, what each system is called, and which runs are left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from plant_plugin.errors import DataError
from plant_plugin.evaluation.per_document import load_per_document
from plant_plugin.report.result import Result, per_document_path, read_result
from plant_plugin.report.systems import ReadResult, System, system_of

RESULT = "result.json"


def load_systems(paths: Sequence[str]) -> list[System]:
    """Read results and what lies beside them.

    Args:
        paths: A result, or a run's folder; ``NAME=PATH`` gives the system its name, which is else that of model and
            strategy, with that of the configuration where two configurations have one seed. Results of one name are
            the seeds of one system.

    Raises:
        DataError: No result there, or as of :func:`system_of`.
    """
    runs: list[tuple[str, ReadResult]] = []
    configurations: dict[tuple[str, object], set[object]] = defaultdict(set)
    for text in paths:
        name, file = _parts(text)
        result, beside = read_result(file), per_document_path(file)
        documents = load_per_document(beside) if beside.is_file() else None
        runs.append((name, (str(file), result, documents)))
        if not name:
            configurations[_called(result), result.get("seed")].add(result.get("config"))
    several = {called for (called, _), names in configurations.items() if len(names) > 1}
    systems: dict[str, list[ReadResult]] = defaultdict(list)
    for name, run in runs:
        called = _called(run[1])
        systems[name or (_told_apart(run[1]) if called in several else called)].append(run)
    return [system_of(name, of_name) for name, of_name in systems.items()]


def left_out(paths: Sequence[str], baseline: str) -> dict[str, str]:
    """Say of each run that is not to be compared why.

    Runs are folders and ``result.json`` that no ``NAME=`` stands before, as a shell makes of ``runs/mimic3_50_*``. Of
    those that have ended, the newest of each system, configuration and seed is compared, of the test documents that
    the newest run of the baseline has; other files are compared as they are.

    Raises:
        DataError: A result cannot be read, or nothing is left.
    """
    reasons: dict[str, str] = {}
    runs: dict[str, tuple[int, Result]] = {}
    for text in paths:
        name, file = _parts(text)
        if name or file.name != RESULT:
            continue
        if file.is_file():
            runs[text] = (file.stat().st_mtime_ns, read_result(file))
        elif file.parent.is_dir():
            reasons[text] = f"it has no {RESULT}: it was stopped, is still running, or is no run"
    newest_first = sorted(runs, key=lambda text: (runs[text][0], text), reverse=True)
    of_baseline = [text for text in newest_first if baseline in (_called(runs[text][1]), _told_apart(runs[text][1]))]
    if of_baseline:
        elsewhere = {text for text in runs if _tested(runs[text][1]) != _tested(runs[of_baseline[0]][1])}
        others = {*paths} - {*reasons} - {*of_baseline}
        elsewhere -= others if others <= elsewhere else set()  # nothing would be left to compare, which is an error
        reasons |= dict.fromkeys(elsewhere, f"it has other test documents than {of_baseline[0]}")
    newest: dict[tuple[str, object], str] = {}
    for text in newest_first:
        result = runs[text][1]
        if text not in reasons and (kept := newest.setdefault((_told_apart(result), result.get("seed")), text)) != text:
            reasons[text] = f"it is older than {kept}, of the same name and seed; NAME={text} compares both"
    if len(reasons) == len({*paths}):
        fix = "wait for its end, or resume it: libmultilabel --config … --resume auto"
        raise DataError("no run has ended", where=", ".join(reasons), fix=fix)
    return reasons


def _parts(text: str) -> tuple[str, Path]:
    """Split ``NAME=PATH``, without a name where there is a file or folder called so; of a folder take its result."""
    name, _, path = text.rpartition("=") if not Path(text).exists() else ("", "", text)
    return name, Path(path, RESULT) if Path(path).is_dir() else Path(path)


def _tested(result: Result) -> tuple[object, ...]:
    hashes = result.get("hashes", {})
    return hashes.get("test"), hashes.get("test_filter")


def _called(result: Result) -> str:
    model, strategy = result.get("model") or "unnamed", result.get("strategy", "libmultilabel")
    return model if strategy == "libmultilabel" else f"{model} {strategy}"


def _told_apart(result: Result) -> str:
    return f"{_called(result)} ({result.get('config')})"
