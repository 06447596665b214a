"""Trees of others beside ours, as linear techniques of a registry (`peers.yml`): Omikuji's and PECOS's.

So they read the features that LibMultiLabel's linear models read, and thresholds, metrics, times and results are those
of every run. The packages are no dependency of this one; put them into a folder of their own, without what they need:

    pip install --target FOLDER --no-deps omikuji milksnake cffi pycparser libpecos
    PYTHONPATH=FOLDER:benchmarks python benchmarks/experiments/run.py many_labels yso --variants bonsai pecos

Their settings stand where liblinear's stand (`liblinear_options`), as `name=value` words; what is not said is the
package's own default.

Shapes: N training documents, B documents, F features, L labels.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import yaml

from plant_plugin.host.scores import logits_of

BEAM = 10  # branches that Omikuji and PECOS follow by default
TOP = 100  # labels of a document that are scored at most; neither finds more than its beam's leaves hold

Options = dict[str, Any]


class Tree:
    """A trained tree: ``found`` gives probabilities of some labels (B, L) of features (B, F), both sparse.

    Not kept with a run: pickled it is its settings alone. Whoever wants the model takes the package's own commands.
    """

    multiclass = False  # LibMultiLabel's test asks: a document may have several labels

    def __init__(self, found: Callable[[sp.csr_matrix], sp.csr_matrix], settings: Options) -> None:
        self.found, self.settings = found, settings

    def predict_values(self, x: sp.csr_matrix) -> npt.NDArray[np.float32]:
        """Logits (B, L); labels that were not found, as of the probability 0."""
        return logits_of(self.found(x).toarray())

    def __getstate__(self) -> Options:
        return {"settings": self.settings}


def options_of(text: str | None) -> Options:
    """``cluster_k=100 cluster_balanced=false`` by name, in YAML's types."""
    return {name: yaml.safe_load(value) for name, _, value in (word.partition("=") for word in (text or "").split())}


def omikuji(y: sp.csr_matrix, x: sp.csr_matrix, options: str | None = None) -> Tree:
    """Partitioned label trees; Bonsai with ``cluster_balanced=false cluster_k=100 max_depth=3``, as Annif has it.

    Args:
        y: Ones where a document has a label (N, L).
        x: Features (N, F).
        options: Omikuji's hyper-parameters, and ``beam_size``.
    """
    import omikuji as package

    settings = options_of(options)
    beam = settings.pop("beam_size", BEAM)
    asked = package.Model.default_hyper_param()
    for name, value in settings.items():
        setattr(asked, name, value)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "training.txt"
        _write(path, y.tocsr(), x.tocsr())
        model = package.Model.train_on_data(str(path), asked, 1)
    model.init_prediction_thread_pool(1)

    def found(features: sp.csr_matrix) -> sp.csr_matrix:
        rows = [model.predict(list(zip(row.indices, row.data, strict=True)), beam, TOP) for row in features]
        columns = [label for row in rows for label, _ in row]
        offsets = np.cumsum([0, *map(len, rows)])
        values = np.array([score for row in rows for _, score in row], dtype=np.float64)
        return sp.csr_matrix((values, columns, offsets), shape=(features.shape[0], y.shape[1]))

    return Tree(found, settings)


def _write(path: Path, y: sp.csr_matrix, x: sp.csr_matrix) -> None:
    """The file that Omikuji reads, the Extreme Classification Repository's, of documents that have labels and words."""
    x = x.sorted_indices()
    kept = np.flatnonzero(np.diff(y.indptr) * np.diff(x.indptr))
    with path.open("w", encoding="ascii") as stream:
        stream.write(f"{len(kept)} {x.shape[1]} {y.shape[1]}\n")
        for row in kept:
            labels = ",".join(map(str, y.indices[y.indptr[row] : y.indptr[row + 1]]))
            here = slice(x.indptr[row], x.indptr[row + 1])
            words = " ".join(f"{word}:{value:.6g}" for word, value in zip(x.indices[here], x.data[here], strict=True))
            stream.write(f"{labels} {words}\n")


def pecos(y: sp.csr_matrix, x: sp.csr_matrix, options: str | None = None) -> Tree:
    """PECOS's linear model: a tree of labels by their documents' mean features, a ranker in each node.

    Args:
        y: Ones where a document has a label (N, L).
        x: Features (N, F).
        options: Of its clustering ``nr_splits`` and ``max_leaf_size``, of its prediction ``beam_size``, ``only_topk``
            and ``post_processor``, all others of its training.
    """
    from pecos.utils import smat_util
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    smat_util.cs_matrix = _matrix
    settings = options_of(options)
    of_tree = {name: settings[name] for name in ("nr_splits", "max_leaf_size") if name in settings}
    of_prediction = {"beam_size": BEAM, "only_topk": TOP}
    of_prediction |= {name: settings[name] for name in ("beam_size", "post_processor") if name in settings}
    of_training = {name: value for name, value in settings.items() if name not in {*of_tree, *of_prediction}}
    features, truth = sp.csr_matrix(x, dtype=np.float32), sp.csc_matrix(y, dtype=np.float32)
    means = LabelEmbeddingFactory.create(truth.tocsr(), features, method="pifa")
    tree = Indexer.gen(means, threads=1, **of_tree)
    model = XLinearModel.train(features, truth, C=tree, threads=1, **of_training)

    def found(some: sp.csr_matrix) -> sp.csr_matrix:
        return sp.csr_matrix(model.predict(sp.csr_matrix(some, dtype=np.float32), threads=1, **of_prediction))

    return Tree(found, settings)


def _matrix(arrays: tuple[Any, ...], kind: Any, shape: Any = None, dtype: Any = None, **_: bool) -> Any:
    """What PECOS 1.2.8 makes of values, indices and offsets in ways that numpy 2 and scipy 1.14 no longer allow."""
    return kind(arrays, shape=shape, dtype=dtype)
