"""MIMIC-III and MIMIC-IV: admissions, notes and codes to training files. Begin with ``mimic``."""
