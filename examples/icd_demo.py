"""ICD codes for a new note: train PLANT on the built-in, made-up notes, then predict. ``python icd_demo.py``.

About a minute on two idle cores.
"""

from __future__ import annotations

from typing import Any

from plant_plugin import Predictor
from plant_plugin.config import load_config
from plant_plugin.data.label_names import label_names
from plant_plugin.training.run import run

NOTE = """CHIEF COMPLAINT: fever and shortness of breath. 71 year old woman.
Admitted with community-acquired PNA and AHRF, no signs of sepsis. PMH: HTN, afib on apixaban, T2DM, ex-smoker.
Denies any history of COPD. AKI resolved with fluids."""


def main(**changes: Any) -> None:
    """Train, load the model again as one would elsewhere, and print the codes of one note.

    Args:
        changes: Keys of a configuration that beat those of ``plant_demo.yml``.
    """
    config = load_config("plant_demo.yml", {"silent": True, **changes})
    result = run(config)
    print(f"P@5 on {result['counts']['documents']} test notes: {result['metrics']['P@5']:.3f}")
    predictor = Predictor.load(config.checkpoint_dir, names=label_names(["icd10"], config.checkpoint_dir))
    [prediction] = predictor.predict([NOTE], top=5)
    for found in prediction.labels:
        print(f"{found.label:<8} {found.probability:.2f}  {found.name}")


if __name__ == "__main__":
    main()
