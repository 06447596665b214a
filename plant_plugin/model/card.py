"""The card of a model, as Hugging Face's hub shows it: what it is for, what it reached and what it cannot do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from plant_plugin.model.folder import Content
from plant_plugin.model.promises import promises_of
from plant_plugin.networks.no_network import NO_NETWORK
from plant_plugin.report.result import Result, read_result
from plant_plugin.report.tables import percent

SHOWN = ("MAP", "nDCG@5", "P@1", "P@5", "Micro-F1@micro", "Macro-F1@macro")
USE = """\
It suggests labels for texts like those that it was trained on, for people who check each one. It decides nothing by
itself: of health data a coder confirms or rejects every code."""
LIMITS = """\
- It knows the labels of `labels.txt` and, if there is one, of `open_labels.json`, and no others. Of labels that few
  training documents have it knows little.
- On texts of another kind, language, house or time than its training texts it is worse, and does not say so.
- Probabilities were fitted to validation documents, if to any. They hold for texts like these.
- No document is in it. Words of training documents are: in the vocabulary, in the terms of its linear part, in phrases
  that coders marked. Rare ones may name a person: `plant strip` removes them, before a model is handed on."""


def model_card(folder: Path, content: Content, labels: int, languages: Sequence[str] = ()) -> str:
    """Write the card of a run's model, with the numbers of ``result.json`` where there is one; no text, path or id.

    ``languages`` are those of the texts, as codes of two letters; no model folder knows them.

    Raises:
        DataError: ``result.json`` is torn.
    """
    head = {"library_name": "plant-plugin", "pipeline_tag": "text-classification",
            "tags": ["multi-label-classification", "plant"]}  # fmt: skip
    if languages:
        head["language"] = list(languages)
    result = read_result(folder / "result.json") if (folder / "result.json").is_file() else None
    name = (result or {}).get("dataset", "model")
    length = content["max_seq_length"]
    read = "whole documents" if length is None else f"the first {length:,} tokens of a document"
    network = f"the network {content['model_name']} on {read}"
    kind = "planted scores without a network" if content["model_name"] == NO_NETWORK else network
    return f"""---
{yaml.safe_dump(head, sort_keys=False)}---
# plant_plugin on {name}

A classifier of texts into {labels:,} labels, several a text: {kind}.
Languages of the texts: {", ".join(languages) or "not stated"}.

```python
from plant_plugin import Predictor

predictor = Predictor.from_pretrained("THIS_FOLDER")
```

## Intended use

{USE}

## Data and metrics

{_numbers(result)}

## Probabilities

{_curve(result)}

{promises_of(folder)}

## Limits

{LIMITS}
"""


def _numbers(result: Result | None) -> str:
    if result is None:
        return "Nothing is known of how well it does: the run has not been tested."
    counts, metrics = result.get("counts", {}), result["metrics"]
    rows = [f"| {name} | {percent(metrics[name])} |" for name in SHOWN if metrics.get(name) is not None]
    how = f"Data set {result.get('dataset')}, configuration {result.get('config')}, seed {result.get('seed')}."
    where = f"On its {result.get('split', 'test')} split, documents: {counts.get('documents', 0):,}, percent, one run;"
    unseen = f"training never showed {counts.get('labels_unseen_in_training', 0):,} of its labels:"
    return "\n".join((f"{how} {where} {unseen}", "", "| metric | value |", "|---|---:|", *rows))


def _curve(result: Result | None) -> str:
    calibration = None if result is None else result.get("calibration")
    if not calibration:
        return "How often labels of a probability are right was not measured."
    of_all, of_predicted = (percent(calibration[of]) for of in ("ECE", "ECE_predicted"))
    said = f"""Of labels that get 0.8, eight in ten should be true. On the documents above the mean distance from that
(expected calibration error) is {of_all} % of all pairs of a document and a label, {of_predicted} % of those of 0.5 and
more."""
    rows = [
        f"| {part['below']:.1f} | {part['pairs']:,} | {percent(part['probability'])} | {percent(part['true'])} |"
        for part in calibration["curve"]
    ]
    head = "| probability below | pairs | mean probability, % | true, % |"
    return "\n".join((said, "", head, "|---:|---:|---:|---:|", *rows))
