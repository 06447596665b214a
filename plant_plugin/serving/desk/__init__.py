"""Coders teach a model here: ``plant serve RUN_FOLDER --desk FILE.sqlite`` and ``plant desk``.

Data flow one way: documents enter the file, the model suggests labels, coders decide, training files leave it.
Begin with :mod:`plant_plugin.serving.desk.store`; :mod:`plant_plugin.serving.desk.web` is what the browser talks to.
"""
