"""Progress bars: on a terminal and nowhere else, since what redraws a line fills a log."""

import sys

PHASES = ("stage1", "stage2", "train", "test", "frozen_states")  # that show one


def can_draw() -> bool:
    """Tell whether both streams go to a terminal: one bar is drawn on each."""
    return sys.stdout.isatty() and sys.stderr.isatty()


def shows_progress(phase: str) -> bool:
    """Tell whether a phase has a bar that is drawn."""
    return phase.endswith(PHASES) and can_draw()
