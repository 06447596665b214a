"""LibMultiLabel's linear models: read, train, test in the order of its ``main.py``, then hand over scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

import libmultilabel.linear as linear
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from libmultilabel.common_utils import AttributeDict, dump_log, is_multiclass_dataset
from libmultilabel.linear.tree import EnsembleTreeModel, TreeModel, train_ensemble_tree
from libmultilabel.linear.utils import linear_test

from plant_plugin.config import registry
from plant_plugin.data.documents import Corpus
from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.evaluation.names import check_ranks
from plant_plugin.host.checks import check_labels, read_checked, reading_pickle, warn_changed_labels
from plant_plugin.host.scores import Scores, listed_logits_of, logits_of, sizes_and_hashes, sparse_truth
from plant_plugin.host.svm import check_svm, svm_hashes, with_svm_files
from plant_plugin.relevance.pruned_index import PRUNED_ABOVE
from plant_plugin.report.result import Scored, labels_outside, write_predictions
from plant_plugin.report.run import Run


class LinearSplit(TypedDict):
    """Documents as LibMultiLabel's preprocessing leaves them: features (N, F) and zeros and ones (N, L)."""

    x: sp.csr_matrix
    y: sp.csr_matrix


class LinearBaseline:
    """One linear technique from the files to the scores; ``settings`` are those of `library_settings`.

    LibMultiLabel's linear models train on the whole training file and never look at a validation file, so a
    ``val_file`` serves here to tune thresholds, and with ``refit`` to train the second model on it too.
    """

    model: linear.FlatModel | TreeModel | EnsembleTreeModel
    preprocessor: linear.Preprocessor
    datasets: dict[str, LinearSplit]
    corpus: Corpus | None = None
    outside: npt.NDArray[np.int64] | None = None

    def __init__(self, settings: AttributeDict, run: Run) -> None:
        self.settings, self.run = settings, run
        self.files = with_svm_files(settings)  # the same but for files of another format
        self.on_both = settings["refit"] != "none" and settings["merge_train_val"]  # else there is nothing to merge

    def read(self) -> None:
        """Seed, read and turn texts into tf-idf (``svm`` and ``xmc`` files hold features already)."""
        settings = self.files
        if settings.data_format == "svm":
            check_svm(settings)
        else:
            # Nothing is split off for a linear model.
            self.corpus = read_checked(settings, val_size=0, merge_train_val=self.on_both)
        if settings.seed is not None:
            np.random.seed(settings.seed)  # from here on the order of random draws is LibMultiLabel's
        if settings.eval:
            path, fix = Path(settings.checkpoint_path), "give the linear_pipeline.pickle of a run's folder"
            with reading_pickle("a linear model of LibMultiLabel", path, fix):
                self.preprocessor, self.model = linear.load_pipeline(str(path))
            made_with = self.preprocessor.data_format
            if (made_with == "svm") != (settings.data_format == "svm"):
                what = f"the model was trained on data_format {made_with}, the test file is {self.settings.data_format}"
                raise CheckpointError(what, where=str(path), fix="use the same data_format as in training")
        else:
            self.preprocessor = linear.Preprocessor(settings.include_test_labels, settings.remove_no_label_data)
        # To evaluate, the training file is read as LibMultiLabel does, for its label counts.
        label_file = None if settings.eval else settings.label_file
        raw = linear.load_dataset(settings.data_format, settings.training_file, settings.test_file, label_file)
        if self.on_both and "train" in raw:
            raw["train"]["x"], raw["train"]["y"] = self._with_validation(**raw["train"])
        if settings.eval:
            self.datasets = self.preprocessor.transform(raw)
            if self.corpus is not None:
                check_labels(self.corpus, self.labels, settings.checkpoint_path, training=False)
        else:
            self.datasets = self.preprocessor.fit_transform(raw)
        if "test" in raw:
            self.outside = labels_outside((map(str, names) for names in raw["test"]["y"]), self.labels)
        if self.corpus is not None and "train" in raw:
            warn_changed_labels(self.corpus, raw["train"]["y"])
        metrics = dict.fromkeys(settings.monitor_metrics, "monitor_metrics")
        check_ranks(metrics, settings.save_k_predictions, len(self.labels), most=len(self.labels))

    def _with_validation(
        self, x: list[str] | sp.csr_matrix, y: list[list[str]]
    ) -> tuple[list[str] | sp.csr_matrix, list[list[str]]]:
        """Return texts or features, and labels, of training documents and after them of those of ``val_file``."""
        val = linear.load_dataset(self.files.data_format, None, self.files.val_file)["test"]
        if isinstance(x, list):
            return x + val["x"], y + val["y"]
        width = max(x.shape[1], val["x"].shape[1])  # the highest number that each file has
        wide = [sp.csr_matrix((f.data, f.indices, f.indptr), shape=(f.shape[0], width)) for f in (x, val["x"])]
        return sp.vstack(wide, format="csr"), y + val["y"]

    @property
    def labels(self) -> list[str]:
        """Return the label set, in column order."""
        return [str(name) for name in self.preprocessor.label_mapping]

    @property
    def _is_tree(self) -> bool:
        return isinstance(self.model, TreeModel | EnsembleTreeModel)

    def build(self) -> None:
        """Do nothing: LibMultiLabel makes a linear model in training it."""

    def train(self) -> None:
        """Fit the technique and keep it with its preprocessing in ``linear_pipeline.pickle``."""
        settings = self.settings
        split = self.datasets["train"]
        multiclass = is_multiclass_dataset(split, "y")
        options = {"options": settings.liblinear_options}
        entry = registry.get("linear", settings.linear_technique)
        train = entry.load()
        if settings.linear_technique == "tree":
            if multiclass:
                what = "every training document has exactly one label, and a tree is only for several"
                raise ConfigError(what, where="linear_technique: tree", fix="use 1vsrest or binary_and_multiclass")
            options |= {"K": settings.tree_degree, "dmax": settings.tree_max_depth}
            if settings.tree_ensemble_models > 1:
                train = train_ensemble_tree
                options |= {"n_trees": settings.tree_ensemble_models, "seed": settings.seed}
        else:
            options["multiclass"] = multiclass
        if entry.is_users:  # of what LibMultiLabel's are handed, what it has arguments for
            has = entry.signature()
            options = {name: value for name, value in options.items() if has.open or name in has}
        if settings.linear_technique == "binary_and_multiclass" and (split["y"].getnnz(axis=1) != 1).any():
            what = "some training documents do not have exactly one label"
            raise ConfigError(what, where="linear_technique: binary_and_multiclass", fix="use 1vsrest")
        truth = CountableTruth(split["y"]) if settings.linear_technique == "thresholding" else split["y"]
        self.model = train(truth, split["x"], **options)
        linear.save_pipeline(settings.checkpoint_dir, self.preprocessor, self.model)

    def test(self) -> None:
        """Run LibMultiLabel's own test: metrics into ``logs.json``, the labels wanted into ``predict_out_path``."""
        settings = self.settings
        test = self.datasets["test"]
        _, metrics, labels, scores = linear_test(
            test["y"],
            test["x"],
            self.model,
            eval_batch_size=settings.eval_batch_size,
            monitor_metrics=settings.monitor_metrics,
            beam_width=settings.beam_width if self._is_tree else None,
            label_mapping=self.preprocessor.label_mapping,
            save_k_predictions=settings.save_k_predictions,
            save_positive_predictions=settings.save_positive_predictions,
        )
        dump_log(config=settings, metrics=metrics, split="test", log_path=settings.log_path)
        if settings.save_k_predictions > 0:
            write_predictions(settings.predict_out_path, zip(labels, scores, strict=True))
        elif settings.save_positive_predictions:
            batches = zip(labels, scores, strict=True)
            rows = (row for names, values in batches for row in zip(names, values, strict=True))
            write_predictions(settings.predict_out_path, rows)
        self.run.log(linear.tabulate_metrics(metrics, "test"))

    def scores(self, split: LinearSplit) -> Scores:
        """Yield decision values (B, L) and truth, batch by batch.

        A tree answers with probabilities, 0 for labels outside its beam; they become logits, so that for every
        technique 0.0 is the undecided score. (LibMultiLabel's own F1 of a tree counts every label in the beam.) Of very
        many labels these are sparse, so that no file of all scores is kept for MAP and the AUCs.
        """
        options = {"beam_width": self.settings.beam_width} if self._is_tree else {}
        size = self.settings.eval_batch_size
        for start in range(0, split["x"].shape[0], size):
            values = self.model.predict_values(split["x"][start : start + size], **options)
            truth = sparse_truth(split["y"][start : start + size])
            if not self._is_tree:
                yield values.astype(np.float32), truth
            else:
                yield (listed_logits_of if values.shape[1] > PRUNED_ABOVE else logits_of)(values), truth

    def _validation(self) -> Scores:
        raw = linear.load_dataset(self.files.data_format, None, self.files.val_file)
        return self.scores(self.preprocessor.transform(raw)["test"])

    def scored(self) -> Scored:
        """Return all that the evaluation needs."""
        train, test = self.datasets.get("train"), self.datasets.get("test")
        if self.corpus is None:
            counts, hashes = svm_hashes(self.files, self.labels)
        else:
            counts, hashes = sizes_and_hashes(self.corpus, self.labels)
        return Scored(
            model=f"linear-{self.settings.linear_technique}",
            device="cpu",
            labels=self.labels,
            train_counts=None if train is None else np.asarray(train["y"].sum(axis=0)).ravel().astype(np.int64),
            num_train=None if train is None else int(train["y"].shape[0]),
            validation=self._validation if self.settings.val_file and not self.on_both else None,
            test=None if test is None else (lambda: self.scores(test)),
            outside=self.outside,
            hashes=hashes,
            counts=counts,
            log_odds=self._is_tree,
        )


class CountableTruth(sp.csr_matrix):
    """A label matrix whose column form counts its columns when asked to sum over "axis 2".

    LibMultiLabel 0.10.0 sorts labels for ``thresholding`` by ``np.sum(y, 2)``. SciPy once let that pass for column
    matrices as the sum of each column; by 1.17 it refuses, and ``main.py`` stops there.
    """

    def tocsc(self, copy: bool = False) -> _CountableColumns:
        """Return the column form."""
        return _CountableColumns(super().tocsc(copy=copy))


class _CountableColumns(sp.csc_matrix):
    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return super().sum(axis=0 if axis == 2 else axis, dtype=dtype, out=out)
