"""A trained model: its folder, scores of new texts, predictions, explanations; neither Lightning nor LibMultiLabel.

May import: ``report``, ``relevance``, ``networks``, ``data`` and the rooms below them.
Begin with :mod:`plant_plugin.model.predictor`.
"""
