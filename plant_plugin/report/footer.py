"""The last line of a run: how far its probabilities are off, and what it took."""

from __future__ import annotations

from collections.abc import Mapping

from plant_plugin.report.result import Result


def footer(result: Result) -> str:
    """Return what is known of these, joined by dots."""
    seconds = ", ".join(f"{phase} {value:.1f} s" for phase, value in result.get("time_s", {}).items())
    memory = result.get("peak_memory_mb")
    memory = memory.get("total") if isinstance(memory, Mapping) else memory
    on_gpu = result.get("gpu_memory_mb", {}).get("total")
    calibration = result.get("calibration")
    errors = [f"{100 * calibration[of]:.2f}" for of in ("ECE", "ECE_predicted")] if calibration else []
    parts = [
        f"probabilities are off by {errors[0]} %, of predicted labels by {errors[1]} %" if errors else "",
        f"time: {seconds}" if seconds else "",
        f"peak memory: {memory:,.0f} MB" if memory else "",
        f"device: {result['device']}" if result.get("device") else "",
        f"memory there: {on_gpu:,.0f} MB" if on_gpu else "",
        f"P@k and propensity-scored metrics: {result['backend']}" if result.get("backend") else "",
    ]
    return " · ".join(part for part in parts if part)
