"""The folder of a run and its clock."""

from __future__ import annotations

import contextlib
import copy
import resource
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from plant_plugin.errors import PlantError
from plant_plugin.report.bars import shows_progress
from plant_plugin.report.logs import LOGS
from plant_plugin.report.metric_log import MetricLog
from plant_plugin.report.progress import said_to_go_on
from plant_plugin.report.record import FIRST_PASS, RUN_FILE, read_further
from plant_plugin.report.run_folder import LOCK, SETTLED, unwritable

Costs = dict[str, dict[str, float]]  # by kind, then by phase
CLOCKS = ("time_s", "cpu_s")
SAMPLE_SECONDS = 0.2  # how often the resident memory is read while a phase runs


class Run:
    """The folder of a run and what each phase cost.

    Args:
        folder: Where everything is written; made here where nobody has.
        silent: Print nothing but errors.
        tests: Look at the test split after training; a trial of a search does not.
        writes: Whether this process writes; of several only the first does.

    Raises:
        PlantError: The folder cannot be made or written to.
    """

    metrics: MetricLog  # where the strategies keep the numbers of training
    logged_config: Mapping[str, object]  # the configuration as it was given, for `logs.json`
    config_name: str
    config_hash: str  # of everything that its result depends on
    changed: Mapping[str, object] = MappingProxyType({})  # keys of the configuration that are not at their defaults
    command: str  # what a user types to resume the run
    stop_asked = False  # SIGTERM has come
    measure_stage: Callable[[Any], None] | None = None  # what is done with a stage's module in the place of training it
    stops_itself = False  # what is running looks at `stop_asked` and ends by itself, its state saved
    prefix = ""  # of the names of phases other than tests: `refit_` while `refit` trains again

    def __init__(self, folder: Path, *, silent: bool = False, tests: bool = True, writes: bool = True) -> None:
        self.folder, self.silent, self.tests = folder, silent, tests
        self.further = read_further(folder)  # None: nothing comes before it
        self.resumed_from = folder  # what a user names to resume: its own, or that of the run that this is a pass of
        self.stop_after: dict[str, int] = {}  # epochs after which a stage ends before its schedule does
        self.costs: Costs = {kind: {} for kind in (*CLOCKS, "peak_memory_mb", "gpu_memory_mb")}  # of phases that ended
        self._open: dict[str, tuple[float, float]] = {}  # phase -> when it began, by both clocks
        self.last_phase = "begin"  # that began last
        self._started = _clocks()
        self._writes, self._new_folder = writes, False
        if not writes:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            probe = folder / ".writable"
            probe.touch()
            probe.unlink()
            self._new_folder = {path.name for path in folder.iterdir()} <= {LOCK, SETTLED}
        except OSError as error:
            raise unwritable(folder, error) from error

    @property
    def log_path(self) -> Path:
        """Return the path of ``logs.json``."""
        return self.folder / LOGS

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Note the block's wall seconds and its processor's, and its peaks of memory, under the name of a phase.

        A phase inside another counts for that one too.
        """
        name = name if name.endswith("test") else self.prefix + name
        self._note_gpu()
        self.last_phase = name
        self._open[name] = _clocks()
        silent = self.silent or shows_progress(name)
        with _peak_memory() as peak, contextlib.nullcontext() if silent else said_to_go_on(name, self.log):
            try:
                yield
            finally:
                self._note_gpu()
                _add_seconds(self.costs, name, self._open.pop(name))
        _note(self.costs, "peak_memory_mb", name, peak[0])

    def _note_gpu(self) -> None:
        """Keep, for the phases that are open, the most that tensors held on the GPU since this was last called."""
        cuda = torch.cuda if (torch := sys.modules.get("torch")) else None
        if cuda is None or not cuda.is_initialized():
            return
        most = cuda.max_memory_allocated() / 1024**2
        for name in ("total", *self._open):
            _note(self.costs, "gpu_memory_mb", name, most)
        cuda.reset_peak_memory_stats()

    def go_on(self, before: Costs) -> None:
        """Count earlier starts too: what :meth:`totals` said when the state to resume was written, if noted."""
        for kind in self.costs:
            for name, value in before.get(kind, {}).items():
                _note(self.costs, kind, name, value)

    @contextlib.contextmanager
    def first_pass(self) -> Iterator[Run]:
        """Yield a run in a folder inside this one's, which does not test; what it costs is counted here too."""
        first = copy.copy(self)
        first.folder, first.tests = self.folder / FIRST_PASS, False
        first._new_folder = self._writes and not first.folder.exists()
        if self._writes:
            first.folder.mkdir(exist_ok=True)
        try:
            yield first
        except PlantError:
            first.remove_empty_folder()
            raise

    def train_again(self, epochs: dict[str, int]) -> None:
        """Begin the second training, in which stages end after these epochs."""
        self.prefix, self.stop_after = "refit_", epochs

    @contextlib.contextmanager
    def stopping_by_itself(self) -> Iterator[None]:
        """Leave a stop inside the block to what is running."""
        self.stops_itself = True
        try:
            yield
        finally:
            self.stops_itself = False

    def totals(self) -> Costs:
        """Return what every phase cost so far, with their ``total``.

        It is the sum over all starts of the run, as in :class:`.Result`.
        """
        self._note_gpu()
        totals = {kind: dict(of_phases) for kind, of_phases in self.costs.items()}
        for name, start in {"total": self._started, **self._open}.items():
            _add_seconds(totals, name, start)
        unit = 1024**2 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes on macOS, KiB elsewhere
        _note(totals, "peak_memory_mb", "total", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)
        for kind, of_phases in totals.items():
            totals[kind] = {name: round(value, 3 if kind in CLOCKS else 1) for name, value in of_phases.items()}
        return totals

    @property
    def keeps_nothing(self) -> bool:
        """Tell whether the run failed before it had anything to keep."""
        return self._new_folder and {path.name for path in self.folder.iterdir()} <= {RUN_FILE, LOCK, SETTLED}

    def remove_empty_folder(self) -> None:
        """Leave no folder of a run that keeps nothing."""
        if self.keeps_nothing:
            if (self.folder / LOCK).exists():  # whoever holds it removes the rest: see own_folder
                (self.folder / RUN_FILE).unlink(missing_ok=True)
            else:
                shutil.rmtree(self.folder, ignore_errors=True)

    def log(self, text: str) -> None:
        """Print one line, unless the run is silent."""
        if not self.silent:
            print(text, file=sys.stderr, flush=True)


def _note(costs: Costs, kind: str, name: str, value: float) -> None:
    """Add what a phase cost: seconds add up, of memory the most counts."""
    known = costs[kind].get(name, 0.0)
    costs[kind][name] = known + value if kind in CLOCKS else max(known, value)


def _add_seconds(costs: Costs, name: str, start: tuple[float, float]) -> None:
    for kind, seconds in zip(CLOCKS, _clocks(start), strict=True):
        _note(costs, kind, name, seconds)


def _clocks(start: tuple[float, float] = (0.0, 0.0)) -> tuple[float, float]:
    """Return wall seconds, and processor seconds of this process, since ``start``."""
    return time.perf_counter() - start[0], time.process_time() - start[1]


@contextlib.contextmanager
def _peak_memory() -> Iterator[list[float]]:
    """Sample this process's resident memory (MB) in a thread; element 0 of the list is the highest seen."""
    import psutil

    process, peak, stop = psutil.Process(), [0.0], threading.Event()

    def sample() -> None:
        while True:
            peak[0] = max(peak[0], process.memory_info().rss / 1024**2)
            if stop.wait(SAMPLE_SECONDS):
                return

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()
