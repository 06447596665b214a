"""What a fresh process costs before it answers: ``python startup.py RUN_FOLDER [RUN_FOLDER…]``.

``plant --help``, and ``plant predict`` of one line with each model: with a warm cache of compiled functions and with an
empty one, as on the first call after installation. Processor seconds of the whole process, the least of some tries, and
the most memory. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import json, resource, sys
from plant_plugin.cli import plant
plant.main(json.loads(sys.argv[1]), standalone_mode=False)
used = resource.getrusage(resource.RUSAGE_SELF)
print()
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""
LINE = "fever and cough, no pain\n"


def cost(arguments: list[str], cache: str | None = None) -> tuple[float, float]:
    """Processor seconds and MiB of one process."""
    environment = os.environ if cache is None else {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", PROGRAM, json.dumps(arguments)]
    done = subprocess.run(command, input=LINE, env=environment, capture_output=True, text=True, check=True)
    seconds, mebibytes = json.loads(done.stdout.splitlines()[-1])
    return seconds, mebibytes


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="*")
    parser.add_argument("--tries", type=int, default=5)
    options = parser.parse_args()
    commands = {"plant --help": ["--help"]}
    commands |= {f"plant predict, {model.name}": ["predict", str(model), "--device", "cpu"] for model in options.models}
    print("| | cache | CPU s | MiB |\n| --- | --- | ---: | ---: |")
    for name, arguments in commands.items():
        cost(arguments)  # fills the cache
        warm = [cost(arguments) for _ in range(options.tries)]
        empty = []
        for _ in range(options.tries):
            with tempfile.TemporaryDirectory() as folder:
                empty.append(cost(arguments, folder))
        for cache, measured in (("warm", warm), ("empty", empty)):
            seconds, mebibytes = min(found[0] for found in measured), max(found[1] for found in measured)
            print(f"| {name} | {cache} | {seconds:.2f} | {mebibytes:.0f} |")


if __name__ == "__main__":
    main()
