"""The output of ``plant predict`` for some documents, in any of its forms."""

from __future__ import annotations

import io
from collections import Counter
from functools import partial

from plant_plugin.data.tables import Document
from plant_plugin.model.fhir import bundles, system_of
from plant_plugin.model.prediction_files import FORMATS
from plant_plugin.model.predictor import Predictor


def written(
    predictor: Predictor,
    documents: list[Document],
    *,
    output: str,
    system: str | None,
    threshold: float | str | None,
    top: int | None,
) -> tuple[str, Counter[str]]:
    """Predict the labels of documents; return what is written of them and what is counted."""
    write = FORMATS.get(output)
    if write is None:
        write = partial(bundles, predictor=predictor, system=system_of(predictor.labels, system))
    texts = [document.text for document in documents]
    predictions, stream = predictor.predict(texts, threshold=threshold, top=top), io.StringIO()
    write(zip(documents, predictions, strict=True), stream)
    empty = sum(not prediction.tokens for prediction in predictions)
    cut = sum(prediction.cut for prediction in predictions)
    return stream.getvalue(), Counter(documents=len(documents), empty=empty, cut=cut)
