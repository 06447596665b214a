"""Clients that stall, in a process of their own: ``python stalling.py PORT CLIENTS``, until it is killed."""

from __future__ import annotations

import asyncio
import sys

HEAD = b"POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
# What a stalled client sends at first, and then again and again.
STALLED = (
    (b"", b""),
    (b"POST /pre", b""),
    (HEAD, b"x: y\r\n"),
    (HEAD + b"content-length: 100000\r\n\r\n", b""),
    (HEAD + b"content-length: 100000\r\n\r\n{", b" "),
)
SECONDS = 4  # between two drips


async def stall(port: int, number: int) -> None:
    """Hold a connection as long as the server lets us, then the next one."""
    sent, dripped = STALLED[number % len(STALLED)]
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            while not reader.at_eof():
                try:
                    await asyncio.wait_for(reader.read(1000), SECONDS)
                except asyncio.TimeoutError:
                    writer.write(dripped)
            writer.close()
        except OSError:
            await asyncio.sleep(0.2)


async def flood(port: int, clients: int) -> None:
    await asyncio.gather(*(stall(port, number) for number in range(clients)))


if __name__ == "__main__":
    asyncio.run(flood(int(sys.argv[1]), int(sys.argv[2])))
