"""Lightning without transformers, which torchmetrics would import for metrics that nothing here computes.

torchmetrics, which Lightning imports, asks whether transformers can be found and then takes it and more of torch: a
quarter of what a short training imports. What trains a network imports this first. Until the process ends torchmetrics
then has no metrics by language models; transformers itself can be imported as ever.
"""

from __future__ import annotations

import sys
from importlib import import_module

if "transformers" not in sys.modules:
    sys.modules["transformers"] = None  # type: ignore[assignment]  # means: cannot be found
    try:
        import_module("torchmetrics")
    finally:
        del sys.modules["transformers"]
