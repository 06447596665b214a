"""The last line of a run."""

from __future__ import annotations

from plant_plugin.report.footer import footer
from plant_plugin.report.result import Result


def test_what_is_known_is_said() -> None:
    assert footer(Result()) == ""
    result = Result(
        calibration={"ECE": 0.0013, "ECE_predicted": 0.03584, "curve": []}, time_s={"read": 1.24, "total": 2},
        peak_memory_mb={"total": 1234.5}, device="cpu",
    )  # fmt: skip
    assert footer(result) == (
        "probabilities are off by 0.13 %, of predicted labels by 3.58 % · time: read 1.2 s, total 2.0 s"
        " · peak memory: 1,234 MB · device: cpu"
    )
