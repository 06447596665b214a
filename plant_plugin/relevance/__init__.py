"""Knowledge of labels without a network: mutual information, phrases that coders marked, planted scores.

May import: ``data``, ``networks`` and the rooms below them.
Begin with :mod:`plant_plugin.relevance.mutual_information`.
"""

from plant_plugin.relevance.mutual_information import Relevance, compute_relevance

__all__ = ["Relevance", "compute_relevance"]
