"""Ray Tune, the only importer of ``ray``: it draws the values, shares out cores and GPUs, and stops bad trials."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

# Read by Ray when it is imported: nothing is sent anywhere, nothing is written beside our own files, and trials stay in
# the folder where relative paths start.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "3600",
    "RAY_worker_niceness": "0",  # Ray would run trials at 15, where any other program of the machine stops them
}
os.environ.update(QUIET)
for _name in ("ray", "ray.tune"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)

import ray  # noqa: E402
from ray import tune  # noqa: E402
from ray.tune.schedulers import ASHAScheduler  # noqa: E402

from plant_plugin.config.values import Keys  # noqa: E402
from plant_plugin.errors import PlantError  # noqa: E402
from plant_plugin.report.machine import usable_cores  # noqa: E402
from plant_plugin.training.search.plan import SearchPlan  # noqa: E402
from plant_plugin.training.search.trial import CONFIG, run_trial, write_configuration  # noqa: E402

if TYPE_CHECKING:
    from ray.tune.experiment import Trial
    from ray.tune.search import Searcher

OBJECT_STORE = 80 * 1024**2  # bytes; no data go through it, and Ray takes no less than 75 MB
METRIC = "val_metric"


class _Watch(tune.Callback):
    """Tells of every trial that has ended: by itself, by the scheduler or by a failure."""

    def __init__(self, ended: Callable[[str, Keys], None]) -> None:
        self.ended = ended

    def on_trial_complete(self, iteration: int, trials: list[Trial], trial: Trial, **info: object) -> None:
        """Hand on its name and what was drawn for it."""
        self.ended(str(trial), trial.config)

    on_trial_error = on_trial_complete


def run_trials(plan: SearchPlan, folder: Path, say: Callable[[str], None], ended: Callable[[str, Keys], None]) -> None:
    """Run all trials of a search, each in a folder of its number; ``ended`` is told of each that has ended."""
    options, names, asha = plan.options, dict[str, str](), plan.options.scheduler
    with ray_here() as temporary:
        offered = ray.cluster_resources()
        cores, cards = int(offered.get("CPU", 1)), 0 if plan.base.cpu else offered.get("GPU", 0)
        needs = {"cpu": min(options.cpu_count, cores), "gpu": min(options.gpu_count, cards)}
        if needs != {"cpu": options.cpu_count, "gpu": options.gpu_count}:
            say(f"this machine has {cores} cores and {cards:g} GPUs for trials: each gets {needs['cpu']} "
                f"and {needs['gpu']:g}")  # fmt: skip
        paths = [os.path.abspath(path) for path in sys.path]
        trainable = tune.with_parameters(_trial, plan=plan, folder=folder, here=os.getcwd(), module_path=paths)
        tuner = tune.Tuner(
            tune.with_resources(trainable, needs),
            param_space={each.key: each.domain(tune) for each in plan.expressions},
            tune_config=tune.TuneConfig(
                metric=METRIC,
                mode=plan.mode,
                num_samples=options.num_samples,
                search_alg=_algorithm(plan),
                scheduler=None if asha is None else ASHAScheduler(**asha),
                trial_name_creator=lambda trial: names.setdefault(trial.trial_id, f"{len(names) + 1:04}"),
                trial_dirname_creator=str,
            ),
            run_config=tune.RunConfig(name="tune", storage_path=temporary, verbose=0, callbacks=[_Watch(ended)]),
        )
        tuner.fit()


def _trial(drawn: Keys, plan: SearchPlan, folder: Path, here: str, module_path: list[str]) -> None:
    """What Ray's process does: start the trial's own process and report its epochs."""
    own = folder / tune.get_context().get_trial_name()
    own.mkdir(parents=True)
    values = plan.configuration(plan.decoded(drawn))
    write_configuration(own / CONFIG, values)
    epochs = int((values.get("stage2") or {}).get("epochs") or values.get("epochs") or plan.base.epochs)
    metric, mode = plan.base.val_metric, plan.mode
    with contextlib.closing(
        run_trial(own, metric, mode, epochs, working_folder=here, module_path=module_path)
    ) as best_so_far:
        for value in best_so_far:
            tune.report({METRIC: value})


def _algorithm(plan: SearchPlan) -> Searcher:
    """The search algorithm, drawing from the configuration's seed."""
    seed, name = plan.base.seed, plan.options.search_alg
    if name == "optuna":
        import optuna
        from ray.tune.search.optuna import OptunaSearch

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        return OptunaSearch(seed=seed)
    if name == "bayesopt":
        from ray.tune.search.bayesopt import BayesOptSearch

        first = min(10, plan.options.num_samples)  # Ray's own number of random trials before the first suggestion
        seed = 42 if seed is None else seed
        return BayesOptSearch(random_search_steps=first, random_state=seed)
    from ray.tune.search.basic_variant import BasicVariantGenerator

    return BasicVariantGenerator(random_state=seed)


@contextlib.contextmanager
def ray_here() -> Iterator[str]:
    """A Ray of our own on this machine, small, and gone afterwards; yields a folder that goes with it.

    A Ray that this process has started before is used and left as it is.

    Raises:
        PlantError: Ray does not start.
    """
    short = "/tmp" if os.path.isdir("/tmp") else None  # names of sockets may have a hundred characters only
    with contextlib.ExitStack() as stack:
        temporary = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="plant_", dir=short, ignore_cleanup_errors=True)
        )
        if not ray.is_initialized():
            stack.callback(ray.shutdown)
            try:
                ray.init(
                    address="local", num_cpus=usable_cores(), include_dashboard=False, object_store_memory=OBJECT_STORE,
                    _temp_dir=temporary, log_to_driver=False, logging_level=logging.CRITICAL,
                )  # fmt: skip
            except Exception as error:  # of many kinds, in Ray's own processes
                what = f"Ray does not start ({type(error).__name__})"
                raise PlantError(what, where="plant search", fix="try ray.init() in Python: it says more") from error
        yield temporary
