"""The Ray cluster that a command joins or starts (extra ``ray``), to share out work among processes and machines."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from collections.abc import Iterator

from plant_plugin.errors import PlantError, needs_extra

ADDRESS = "RAY_ADDRESS"  # Ray's own variable: the cluster to join
# Read by Ray when it is imported: nothing is sent anywhere, and workers are as urgent as this process.
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}


@contextlib.contextmanager
def cluster(address: str | None = None, cores: int | None = None) -> Iterator[str]:
    """Join a Ray cluster, or start one on this machine that ends with the block.

    A cluster that this process has joined before is used and stays joined.

    Args:
        address: Of a running cluster, as Ray takes it: ``auto``, ``HOST:6379`` or ``ray://HOST:10001``; None: that of
            ``RAY_ADDRESS``, and a new cluster where the variable is not set.
        cores: Of a new cluster; None: all of the machine.

    Yields:
        A folder for files of a new cluster, removed after the block.

    Raises:
        MissingExtraError: Ray is not installed.
        PlantError: Ray does not start, or no cluster answers at the address.
    """
    os.environ.update(ENVIRONMENT)
    with needs_extra("ray", "work shared out among workers needs Ray"):
        import ray
    address = address or os.environ.get(ADDRESS) or "local"
    options: dict[str, object] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    short = "/tmp" if os.path.isdir("/tmp") else None  # names of sockets may have a hundred characters only
    with contextlib.ExitStack() as stack:
        folder = tempfile.TemporaryDirectory(prefix="plant_", dir=short, ignore_cleanup_errors=True)
        temporary = stack.enter_context(folder)
        if not ray.is_initialized():
            if address == "local":
                options |= {"num_cpus": cores, "include_dashboard": False, "_temp_dir": temporary}
            stack.callback(ray.shutdown)
            try:
                ray.init(address, **options)
            except Exception as error:  # of many kinds, in Ray's own processes
                what = f"Ray does not start, or no cluster answers ({type(error).__name__})"
                fix = "start one by `ray start --head`; where it wants a token, set RAY_AUTH_MODE=token"
                raise PlantError(what, where=address, fix=fix) from error
        yield temporary
