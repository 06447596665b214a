"""LibMultiLabel's AttentionXML: a network over clusters of labels, then one over the labels of the best clusters."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import torch
from libmultilabel.common_utils import dump_log
from libmultilabel.nn.attentionxml import PlainDataset, PLTDataset, PLTModel, PLTTrainer
from libmultilabel.nn.model import Model
from sklearn.preprocessing import MultiLabelBinarizer

from plant_plugin.data.batches import move
from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.host.checks import check_labels, explained, load_checkpoint
from plant_plugin.host.neural import NetworkBaseline
from plant_plugin.host.scores import Scores, limited, logits_of, sparse_truth
from plant_plugin.host.vocabulary import read_labels, read_word_vectors, saved_words
from plant_plugin.report.record import FIRST_PASS


class AttentionXMLBaseline(NetworkBaseline):
    """AttentionXML through LibMultiLabel's ``PLTTrainer``.

    Two differences from LibMultiLabel 0.10.0 that change no number: ``eval`` works (there it stops, as it forgets the
    label set of a checkpoint), and sizes that cannot work are named before training. As there, the test metrics are
    printed but not written to ``logs.json``; ``result.json`` has them.

    LibMultiLabel cannot train it without validation documents. For ``refit`` nothing is chosen on them: each level ends
    after the epochs of the first training, whose clusters, made of both splits, hold for the second too.
    """

    def build(self) -> None:
        """Make LibMultiLabel's trainer of two levels; ``checkpoint_path`` names the second level's checkpoint."""
        settings, vectors = self.settings, None
        if settings.checkpoint_path is None:
            if "val" not in self.datasets and not self.run.stop_after:
                what = "AttentionXML chooses its best epoch on validation documents, and there are none"
                raise ConfigError(what, where="val_size", fix="give a val_file or a val_size above 0, do not merge")
            documents = self.datasets["train"] + self.datasets.get("val", [])
            self.word_dict, vectors = read_word_vectors(settings, documents)
            self.labels = read_labels(settings, self.datasets)
            self._check_clusters(len(self.labels))
        elif not settings.eval:
            what = "AttentionXML cannot be trained further from a checkpoint"
            raise ConfigError(what, where="checkpoint_path", fix="leave it out, or add --eval to test it")
        else:
            self.labels = self._checkpoint_labels(Path(settings.checkpoint_path))
        kind = SecondTrainer if self.run.stop_after else PLTTrainer
        self.trainer = kind(settings, classes=self.labels, embed_vecs=vectors, word_dict=self.word_dict)
        if self.run.stop_after:
            self.trainer.prepare(self.run.stop_after)
        if settings.checkpoint_path is not None:
            self.trainer.checkpoint_dir = Path(settings.checkpoint_path).parent

    def _checkpoint_labels(self, path: Path) -> list[str]:
        for name in ("model_0.ckpt", "model_1.ckpt", "label_clusters.npy", "word_dict.pickle"):
            if not (path.parent / name).is_file():
                fix = "checkpoint_path names model_1.ckpt in the folder of a finished AttentionXML run"
                raise CheckpointError(f"{name} of AttentionXML is missing", where=str(path.parent), fix=fix)
        labels = list(load_checkpoint(PLTModel, path.parent / "model_1.ckpt").classes)
        check_labels(self.corpus, labels, str(path), training=False)
        self.word_dict = saved_words(path.parent)
        return labels

    def _check_clusters(self, num_labels: int) -> None:
        """Check that labels, halved until a cluster holds at most ``cluster_size``, make clusters that work."""
        size, beam = self.settings.cluster_size, self.settings.beam_width
        clusters = 2 ** max(0, math.ceil(math.log2(num_labels / size)))
        if num_labels % clusters == 0:
            what = f"{num_labels} labels fall into {clusters} clusters of one size, which LibMultiLabel cannot index"
            raise ConfigError(what, where="cluster_size", fix="choose one that does not divide evenly, or add a label")
        ranks = [int(name.rpartition("@")[2]) for name in self.settings["monitor_metrics"] if "@" in name]
        needed = max([beam, *(rank + 1 for rank in ranks)])
        if needed > clusters:
            what = f"{num_labels} labels make {clusters} clusters, but beam_width and monitor_metrics need {needed}"
            fix = "lower cluster_size or beam_width, or monitor smaller ranks"
            raise ConfigError(what, where="cluster_size", fix=fix)

    def train(self) -> None:
        """Train both levels, one after the other."""
        datasets = {"val": self.datasets["train"][:1], **self.datasets}  # scored for nothing where there are none
        with explained("AttentionXML"), self.fitting():
            self.trainer.fit(datasets)
        dump_log(self.settings.log_path, config=self.settings)

    def test(self) -> None:
        """Run LibMultiLabel's own test of both levels."""
        self.trainer.test(self.datasets["test"])

    @torch.no_grad()
    def scores(self, split: str) -> Scores:
        """Yield logits (B, L) of the candidates' probabilities and truth; labels outside the beam get -inf."""
        trainer, device = self.trainer, self.device
        documents = self.datasets[split]
        level_0 = load_checkpoint(Model, trainer.get_best_model_path(level=0)).to(device).eval()
        level_1 = load_checkpoint(PLTModel, trainer.get_best_model_path(level=1)).to(device).eval()
        texts = trainer.reformat_text(documents)
        truth = MultiLabelBinarizer(classes=level_1.classes, sparse_output=True).fit(None)
        # scikit-learn warns about labels outside the set; they are counted in result.json.
        columns = truth.transform([document["label"] for document in documents])
        clusters = np.load(trainer.get_cluster_path(), allow_pickle=True)
        chosen, probabilities = [], []
        for batch in trainer.eval_dataloader(PlainDataset(texts)):
            best = level_0(move(batch, device)).sigmoid().topk(trainer.beam_width)
            chosen.append(best.indices.cpu().numpy())
            probabilities.append(best.values.cpu().numpy())
        candidates, priors = PLTTrainer.cluster2label(clusters, np.vstack(chosen), np.vstack(probabilities))
        dataset = PLTDataset(
            texts,
            columns,
            num_classes=len(level_1.classes),
            num_labels_selected=trainer.beam_width * max(len(cluster) for cluster in clusters),
            labels_selected=candidates,
            label_scores=priors,
        )
        for batch in limited(trainer.eval_dataloader(dataset), self.settings, split):
            moved = move(batch, device)
            products = level_1.scatter_logits(level_1(moved), moved["labels_selected"], moved["label_scores"])
            yield logits_of(products.cpu().numpy()), sparse_truth(batch["label"].numpy())


class SecondTrainer(PLTTrainer):
    """Trains each level for a number of epochs and keeps its last weights; nothing is measured meanwhile."""

    def prepare(self, epochs: dict[str, int]) -> None:
        """Take over clusters, and the epochs of ``level_0`` and ``level_1``, from the first training."""
        self._left = [epochs["level_0"], epochs["level_1"]]
        self.val_metric, self.limit_val_batches = None, 0
        clusters = self.get_cluster_path()
        shutil.copyfile(clusters.parent / FIRST_PASS / clusters.name, clusters)

    @property
    def epochs(self) -> int:
        """Return the epochs of the next level: LibMultiLabel asks once for each."""
        return self._left.pop(0)

    @epochs.setter
    def epochs(self, value: int) -> None:
        pass  # of the configuration
