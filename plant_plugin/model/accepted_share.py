"""What a model promises of a single label: it is one of those of which such a share is true."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from plant_plugin.evaluation.promises import ACCEPT


def accepted_share(thresholds: Mapping[str, float], logit: float) -> float | None:
    """Return the largest share of an ``accept`` threshold that a logit is above; None where it is above none."""
    kinds = {name.partition(" "): limit for name, limit in thresholds.items()}
    shares = [float(share) for (kind, _, share), limit in kinds.items() if kind == ACCEPT and logit > np.float32(limit)]
    return max(shares, default=None)
