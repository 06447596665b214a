"""How long `plant serve` takes to answer 1, 8 and 64 clients at once: ``python serve_latency.py RUN_FOLDER FILE``.

FILE holds documents in LibMultiLabel's format. Server and clients are processes of their own; each client asks for one
document after another. Beside it what the model itself takes, without a server. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import time
from pathlib import Path

import httpx

from plant_plugin import Predictor
from plant_plugin.data.tables import read_any

PORT = 8765
URL = f"http://127.0.0.1:{PORT}"
COMMAND = [sys.executable, "-c", "from plant_plugin.cli import plant; plant()", "serve"]


async def ask(texts: list[str], clients: int, requests: int) -> list[float]:
    """Seconds of each request."""
    took: list[float] = []

    async def client(number: int) -> None:
        async with httpx.AsyncClient(base_url=URL, timeout=120) as connection:
            await connection.get("/health")
            for request in range(requests):
                text = texts[(number * requests + request) % len(texts)]
                start = time.perf_counter()
                (await connection.post("/predict", json={"texts": [text], "top": 5})).raise_for_status()
                took.append(time.perf_counter() - start)

    await asyncio.gather(*(client(number) for number in range(clients)))
    return took


def main() -> None:
    """Start the server, ask it, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("documents", type=Path)
    parser.add_argument("--requests", type=int, default=512, help="of all clients together")
    options = parser.parse_args()
    texts = read_any(options.documents).texts[: options.requests]
    predictor = Predictor.load(options.model, device="cpu")
    predictor.predict(texts[:2], top=5)
    print("| | clients | p50 ms | p95 ms | documents a second |\n| --- | ---: | ---: | ---: | ---: |")
    for size in (1, 64):
        start = time.perf_counter()
        for place in range(0, len(texts), size):
            predictor.predict(texts[place : place + size], top=5)
        print(f"| model alone, {size} at once | – | – | – | {len(texts) / (time.perf_counter() - start):.0f} |")
    server = subprocess.Popen([*COMMAND, str(options.model), "--device", "cpu", "--port", str(PORT)])
    try:
        for _ in range(600):
            try:
                httpx.get(f"{URL}/health")
                break
            except httpx.TransportError:
                time.sleep(0.2)
        asyncio.run(ask(texts, 1, 4))
        for clients in (1, 8, 64):
            took = asyncio.run(ask(texts, clients, max(1, len(texts) // clients)))
            p50, p95 = statistics.median(took), statistics.quantiles(took, n=20)[-1]
            rate = clients / statistics.fmean(took)
            print(f"| served | {clients} | {1000 * p50:.0f} | {1000 * p95:.0f} | {rate:.0f} |", flush=True)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
