"""Powers of two for compiled loops on a CPU: numba has no vectorised exponential of its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.extending import register_jitable
from numpy.polynomial import Chebyshev, Polynomial

SINGLE, INTEGER = np.float32, np.int32
LOG2_E = np.float32(1 / math.log(2))
# Sums may be reordered and fused: that lets a loop run 8 or 16 numbers at a time. NaN and ∞ keep their meaning.
REORDERED = {"reassoc", "contract", "nsz", "arcp"}


def coefficients(function: Any, degree: int, domain: tuple[float, float]) -> tuple[np.float32, ...]:
    """Of the polynomial that meets ``function`` in the Chebyshev points of an interval, lowest power first."""
    polynomial = Chebyshev.interpolate(function, degree, domain=domain).convert(kind=Polynomial)
    return tuple(np.float32(coefficient) for coefficient in polynomial.coef)


_EXP2 = coefficients(np.exp2, 6, (-0.5, 0.5))  # off by at most 2e-8 before rounding


@register_jitable(inline="always")
def power_of_two(exponent):  # type: ignore[no-untyped-def]
    """2^exponent of a float32 in [-126, 127]; NaN stays NaN."""
    whole = np.floor(exponent + SINGLE(0.5))
    part = exponent - whole
    power = _EXP2[6]
    power = power * part + _EXP2[5]
    power = power * part + _EXP2[4]
    power = power * part + _EXP2[3]
    power = power * part + _EXP2[2]
    power = power * part + _EXP2[1]
    power = power * part + _EXP2[0]
    # (whole + 127) · 2²³ are the bits of 2^whole
    return power * INTEGER((INTEGER(whole) + INTEGER(127)) * INTEGER(1 << 23)).view(SINGLE)
