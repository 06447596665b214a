"""Knowledge of labels without a network: mutual information, phrases that coders marked, planted scores.

May import: ``data``, ``networks`` and the rooms below them.
Begin with :mod:`plant_plugin.relevance.mutual_information`.
"""
