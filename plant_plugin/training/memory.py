"""Main memory that the steps of a run take at most, from shapes; what does not fit is refused before it is taken.

Shapes: N training documents, L labels, V token types.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.config import registry
from plant_plugin.config.options import PLANTED_SCORES
from plant_plugin.config.sections import Settings
from plant_plugin.config.values import Keys
from plant_plugin.data.text import text_lines
from plant_plugin.errors import PlantError
from plant_plugin.networks.backbone.loading import read_config
from plant_plugin.networks.footprint import Footprint, NoFormula, footprint, plan_of, words_footprint
from plant_plugin.report.machine import free_and_total_memory
from plant_plugin.training.devices import device_of, is_first
from plant_plugin.training.prepare import Encoded

if TYPE_CHECKING:
    from transformers import PretrainedConfig

GIB = 1024**3
RELEVANCE_BYTES = 16  # of an entry: value and place, by label and by word
# Of a byte of the training texts, times the longest run of words that is a term: terms, their rows, what counting left.
TERM_BYTES = 4.5
WEIGHT_BYTES = 8  # of a planted score's weight: value and place
SCORES = 4  # times that these are in memory at most, all documents solved at once
LABEL_SCORES, KEPT_SCORES = 2.5, 2  # the same where each label is solved by itself, and behind the fit
NEGATIVE_BYTES = 3000  # of a document's hard negatives, while they are turned to labels
ROWS = 8  # of scores of all labels that validation and test hold of a document at once, with what metrics sort
ROW_FIX = "a smaller eval_batch_size"
RELEVANCE_FIX = "a smaller relevance.top"
SCORES_FIX = "a smaller planted_scores.top, planted_scores.ngrams 1"
EXACT_FIX = f"planted_scores.model label_ridge, {SCORES_FIX}"
NETWORK_FIX = "a smaller batch_size with more accumulate, fewer stage1.labels, a smaller max_seq_length"


class Shape(NamedTuple):
    """What a run is of."""

    documents: int
    labels: int
    entries: int  # words of labels that relevance may keep, all labels together
    text_bytes: int = 0  # of the training texts; 0 where they are not there


class Need(NamedTuple):
    """Bytes that a step takes at most, those that stay behind it, and the keys that lower them."""

    step: str
    bytes: float
    stays: float
    fix: str


def relevance_entries(
    labels: sp.csr_array, lengths: npt.NDArray[np.integer], settings: Settings, vocabulary: int
) -> int:
    """Words that relevance may keep of documents (N, L) of so many tokens (N,): a label has those of its documents."""
    most = min(settings.relevance.top, vocabulary)
    if settings.relevance.association == "any" and settings.relevance.measure == "mig":  # words that avoid it too
        return labels.shape[1] * most
    return int(np.minimum(labels.T @ lengths.astype(np.float64), most).sum())


def table_needs(settings: Settings, shape: Shape) -> dict[str, Need]:
    """What relevance and planted scores take, where the configuration has them."""
    options, found = settings.planted_scores, {}
    if options.model != "none":
        weights = shape.labels * options.top * WEIGHT_BYTES
        exact = options.model_for(shape.documents, shape.labels) == "ridge"
        terms = TERM_BYTES * options.ngrams * shape.text_bytes
        fit = LABEL_SCORES * weights + NEGATIVE_BYTES * shape.documents
        if exact:
            fit = SCORES * weights + 4 * shape.documents**2
        step = f"planted scores, {f'{shape.documents:,} documents at once' if exact else 'label by label'}"
        found["planted_scores"] = Need(step, fit + terms, KEPT_SCORES * weights, EXACT_FIX if exact else SCORES_FIX)
    if settings.network_config.get("planted_prior") == "additive" or settings.strategy == "plant":
        size = shape.entries * RELEVANCE_BYTES
        found["relevance"] = Need("the relevance of words", size, size, RELEVANCE_FIX)
    return found


def is_worked_out(settings: Settings) -> bool:
    """Whether there is a formula of the network's training."""
    network = settings.network_config
    other = network.get("freeze_encoder") or network.get("encoder") in registry.entries("encoders")
    return settings.model_name == "PLANT" and not other and settings.strategy != PLANTED_SCORES


def network_footprint(settings: Settings, tokens: int, labels: int, vocabulary: int, *, on_gpu: bool) -> Footprint:
    """What training the network takes on its device, of documents of so many tokens."""
    network = settings.network_config
    plan = plan_of(settings, tokens, labels, on_gpu=on_gpu)
    if network.get("lm_weight"):
        return footprint(_shape_of(network), plan)
    file = settings.embed_file
    return words_footprint(plan, vocabulary, _width_of_vectors(file) if file else plan.network.embed_dim)


def _shape_of(network: Keys) -> PretrainedConfig:
    """Transformers' configuration: of a preset from the list, without a connection; else from where the weights lie."""
    from transformers import AutoConfig

    name = network["lm_weight"]
    preset = registry.preset(name)
    if preset is None or preset.shape is None:
        return read_config(name, bool(network.get("trust_remote_code")))
    return AutoConfig.for_model(**preset.shape)


def _width_of_vectors(embed_file: str) -> int:
    """Of GloVe vectors by their name, else of the second line of a file; the first may be a header."""
    if not Path(embed_file).is_file():
        return int(embed_file.rpartition(".")[2].removesuffix("d"))
    with text_lines(Path(embed_file), newline=None) as lines:
        beginning = [*itertools.islice(lines, 2)]
    return len(beginning[-1].split()) - 1 if beginning else 0  # refused where the vectors are read


def run_needs(settings: Settings, shape: Shape, tokens: int, vocabulary: int) -> list[Need]:
    """Of each step of a run in main memory what it takes beside what earlier ones left there."""
    before, found = 0.0, []
    for need in table_needs(settings, shape).values():
        found.append(need._replace(bytes=before + need.bytes))
        before += need.stays
    if is_worked_out(settings) and device_of(settings.cpu).type == "cpu":
        with contextlib.suppress(NoFormula):
            own = network_footprint(settings, tokens, shape.labels, vocabulary, on_gpu=False)
            found.append(Need("training the network", before + own.total, own.total, NETWORK_FIX))
            before += 4 * own.parameters  # float32
    rows = ROWS * 4 * shape.labels * settings.eval_batch_size
    return [*found, Need("validation and test", before + rows, 0, ROW_FIX)]


def refuse(needs: Sequence[Need], free: int) -> None:
    """Refuse a run of which a step needs more bytes than are ``free``.

    Raises:
        PlantError: Which step needs most of those that do not fit, how much, and what lowers it.
    """
    need = max(needs, key=lambda one: one.bytes)
    if need.bytes > free:
        what = f"{need.step}: {need.bytes / GIB:.1f} GiB of memory at most, and {free / GIB:.1f} GiB are free"
        fix = f"{need.fix}; or go on with --check_memory false: that is an upper bound, and less may be needed"
        raise PlantError(what, where="memory", fix=fix)


def check_memory(documents: Encoded, settings: Settings) -> None:
    """Refuse what :func:`refuse` refuses, of documents that have been read, before anything is computed of them.

    A network's own memory on a GPU is not looked at: a step that does not fit there is done again in parts.
    """
    if not settings.check_memory or not is_first():
        return
    lengths, texts = documents.arrays["train"].lengths, documents.corpus.train.texts
    entries = relevance_entries(documents.labels["train"], lengths, settings, documents.tokens.size)
    shape = Shape(len(texts), documents.num_labels, entries, sum(map(len, texts)))
    tokens = int(lengths.max(initial=1))
    refuse(run_needs(settings, shape, tokens, documents.tokens.size), free_and_total_memory()[0])
