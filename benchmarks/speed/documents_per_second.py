"""Documents a second of whole commands: ``documents_per_second.py FILE MODEL CONFIG PEER_CONFIG PEER_CHECKPOINT``.

FILE holds documents in LibMultiLabel's format, MODEL is a run folder of CONFIG, PEER_CHECKPOINT a checkpoint that
PEER_CONFIG trained by LibMultiLabel's own code. ``plant predict`` and ``libmultilabel --eval`` of both run in turn, on
FILE and on its first document; the difference is the time of the documents without that of the start. Prints a Markdown
table of medians over ``--rounds``: seconds of the whole command, of its start, and documents a second.
"""

from __future__ import annotations

import argparse
import lzma
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from plant_plugin.data.tables import read_any

CALL = "from plant_plugin.cli import {0}; {0}()"


def seconds(command: str, *words: str) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", CALL.format(command), *words], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Run the commands in turn and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("documents", "model", "config", "peer_config", "peer_checkpoint"):
        parser.add_argument(name)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    number = len(read_any(Path(options.documents)).texts)
    took: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        opened = lzma.open if options.documents.endswith(".xz") else open
        with opened(options.documents, "rt", encoding="utf-8") as stream:
            first = Path(folder, "first.txt")
            first.write_text(stream.readline(), encoding="utf-8")
        for _ in range(options.rounds):
            for part, documents in (("start", str(first)), ("whole", options.documents)):
                calls = {
                    "plant predict": ["plant", "predict", options.model, documents, "--out", f"{folder}/out.jsonl"]
                }
                trained = {options.config: options.model, options.peer_config: options.peer_checkpoint}
                for config, checkpoint in trained.items():
                    words = ["libmultilabel", "--config", config, "--eval", "--checkpoint_path", checkpoint]
                    words += ["--test_file", documents, "--result_dir", folder, "--silent", "--trust-code"]
                    calls[f"libmultilabel --config {config} --eval"] = words
                for name, (command, *words) in calls.items():
                    took.setdefault(name, {}).setdefault(part, []).append(seconds(command, *words))
    print(f"{number:,} documents, {os.cpu_count()} cores, medians of {options.rounds}\n")
    print("| command | seconds | of these its start | documents a second behind that |\n| --- | ---: | ---: | ---: |")
    for name, parts in took.items():
        whole, start = (statistics.median(parts[part]) for part in ("whole", "start"))
        print(f"| `{name}` | {whole:.1f} | {start:.1f} | {number / max(whole - start, 1e-9):.0f} |")


if __name__ == "__main__":
    main()
