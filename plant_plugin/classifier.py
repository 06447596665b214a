"""The strategies as a scikit-learn classifier of texts into several labels.

Shapes: N documents, L labels.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted

if TYPE_CHECKING:
    from plant_plugin.model.explanation import Explanation


class PlantClassifier(ClassifierMixin, BaseEstimator):
    """A network of ours, trained by a strategy of ours, under scikit-learn's interface.

    ``fit`` writes the documents into a temporary folder, trains as ``libmultilabel`` does and reads the run's folder
    back. White space in a text counts as one space.

    Examples:
        >>> from plant_plugin import PlantClassifier
        >>> classifier = PlantClassifier(options=options).fit(texts, labels)
        >>> classifier.predict(["filler1 sign3x filler2"]).shape
        (1, 12)

    Args:
        config: A configuration, by file or packaged name (`plant list configurations`); its data files are not read.
            None: the defaults, so that ``options`` has to name the network. With ``plant.yml``, as with
            ``plant train``, the documents decide what ``options`` leave open.
        options: Keys that beat the configuration's, dots reaching into blocks: ``{"stage2.epochs": 6}``.
        labels: What the columns of ``y`` are called; explanations say it, and code systems know codes by it.
        val_size: Share, or number, of the documents kept for validation: early stopping and thresholds. 0: none.
        threshold: What ``predict`` takes as the limit, see :meth:`plant_plugin.Predictor.predict`.
        device: ``cpu``, or None: a GPU where there is one.
        random_state: Seed; None draws one.
        result_dir: Keep the run's folder here; None: it goes when ``fit`` is done.
        verbose: Show the training's messages.

    Attributes:
        predictor_: What predicts.
        classes_: ``labels``, or their column numbers, (L,).
        run_folder_: The run's folder, or None where it is gone.
    """

    def __init__(
        self,
        config: str | None = "plant.yml",
        *,
        options: Mapping[str, object] | None = None,
        labels: Sequence[str] | None = None,
        val_size: float = 0.1,
        threshold: float | str | None = None,
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
        result_dir: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.config = config
        self.options = options
        self.labels = labels
        self.val_size = val_size
        self.threshold = threshold
        self.device = device
        self.random_state = random_state
        self.result_dir = result_dir
        self.verbose = verbose

    def fit(self, X: Sequence[str], y: Any) -> PlantClassifier:
        """Train on texts and their labels.

        Args:
            X: N texts.
            y: Indicator (N, L) of zeros and ones, dense or sparse; a label that no document has is allowed.

        Raises:
            ValueError: No texts, another number of rows, or no indicator.
            PlantError: What the configuration or the training cannot do.
        """
        texts = _texts(X)
        if not texts:
            raise ValueError("there are no texts to fit")
        if type_of_target(y, input_name="y") != "multilabel-indicator":
            raise ValueError("y has to be an indicator (N, L) of zeros and ones; MultiLabelBinarizer makes one")
        labels = sparse.csr_array(y, copy=True)
        labels.sum_duplicates()
        labels.eliminate_zeros()  # what is stored counts as given
        if (labels.data != 1).any():
            raise ValueError("y has to hold only zeros and ones")
        check_consistent_length(texts, labels)
        with tempfile.TemporaryDirectory() as folder:
            self._fit(texts, labels, Path(folder))
        return self

    def _fit(self, texts: list[str], indicator: sparse.csr_array, folder: Path) -> None:
        from plant_plugin import train

        number = indicator.shape[1]
        width = len(str(number))  # so that the alphabet, the order of label sets, is the columns'
        names = [f"{column:0{width}}" for column in range(number)]
        if self.labels is not None:
            names = [name.replace(" ", "_") for name in _texts(self.labels, "labels")]
            if not len(names) == len({*names}) == number:
                raise ValueError(f"labels has to hold another name for each of the {number} columns of y")
        rows = [[names[column] for column in row] for row in np.split(indicator.indices, indicator.indptr[1:-1])]
        (folder / "labels.txt").write_text("\n".join(names), encoding="utf-8")
        options = self._overrides(folder, number)
        trained = train({"text": texts, "labels": rows}, config=self.config, options=options, device=self.device)
        self.predictor_ = trained.predictor
        _ = self.predictor_.relevance  # read while its file is there: `explain` wants it
        self._columns = [self.predictor_.labels.index(name) for name in names]
        self.classes_ = np.arange(number) if self.labels is None else np.array(names)
        self.run_folder_ = self.result_dir and trained.folder

    def _overrides(self, folder: Path, num_labels: int) -> dict[str, object]:
        metric = f"nDCG@{max(1, min(5, num_labels - 1))}"  # the best of all labels would be no choice
        return {
            "monitor_metrics": [metric],
            "val_metric": metric,
            **(self.options or {}),
            "val_size": self.val_size,
            "label_file": str(folder / "labels.txt"),
            "seed": int(check_random_state(self.random_state).randint(2**31 - 1)),
            "cpu": self.device == "cpu",
            "silent": not self.verbose,
            "result_dir": str(self.result_dir or folder / "runs"),
            "cache_dir": str(folder / "cache"),
        }

    def predict(self, X: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return an indicator (N, L) of the labels above the threshold."""
        logits = self.decision_function(X)
        return (logits > np.float32(self.predictor_.limit(self.threshold))).astype(np.int64)

    def decision_function(self, X: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return logits (N, L)."""
        check_is_fitted(self)
        return self.predictor_.logits(_texts(X))[:, self._columns]

    def predict_proba(self, X: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return probabilities (N, L); labels are not exclusive, so that rows need not sum to 1."""
        from scipy.special import expit

        return expit(self.decision_function(X).astype(np.float64))

    def explain(self, X: Sequence[str], *, top: int | None = None) -> list[Explanation]:
        """Explain the labels that ``predict`` finds, or the best ``top``, by what each word of N texts adds to them.

        Without ``labels`` a label's name is its column, with zeros in front: ``int(evidence.scored.label)``.
        """
        check_is_fitted(self)
        threshold = None if top else self.threshold
        return [self.predictor_.explain(text, threshold=threshold, top=top) for text in _texts(X)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = tags.input_tags.string = True
        tags.target_tags.single_output, tags.target_tags.multi_output = False, True
        tags.classifier_tags.multi_class, tags.classifier_tags.multi_label = False, True
        return tags


def _texts(given: Iterable[str], what: str = "texts") -> list[str]:
    """Return texts as one line each; a ``ValueError`` where they are one string, a table or no texts."""
    if isinstance(given, (str, bytes)):
        raise ValueError(f"one string was given where a sequence of {what} is wanted")
    if isinstance(given, Mapping) or getattr(given, "ndim", 1) != 1:  # their names of columns would be the texts
        raise ValueError(f"a table was given where a sequence of {what} is wanted: pass its column of {what}")
    texts = list(given)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"the {what} have to be strings")
    return [" ".join(text.split()) for text in texts]
