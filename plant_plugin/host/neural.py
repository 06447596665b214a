"""LibMultiLabel's networks: read, build, train and test in the order of its ``main.py``, then hand over scores."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import torch
from libmultilabel.common_utils import AttributeDict, dump_log, is_multiclass_dataset
from libmultilabel.nn import data_utils
from libmultilabel.nn.model import Model
from libmultilabel.nn.networks.modules import RNNEncoder
from libmultilabel.nn.nn_utils import init_device, init_model, init_trainer, set_seed
from torch import Tensor
from torch.utils.data import DataLoader
from transformers import PreTrainedTokenizerBase

from plant_plugin.config.options import WORD2VEC
from plant_plugin.data.batches import move
from plant_plugin.data.documents import Corpus
from plant_plugin.host.checks import (
    check_labels,
    explained,
    load_checkpoint,
    padding_tokenizer,
    read_checked,
    warn_changed_labels,
)
from plant_plugin.host.scores import Scores, limited, sizes_and_hashes, sparse_truth
from plant_plugin.host.vocabulary import Document, read_labels, read_word_vectors, saved_words
from plant_plugin.networks.encoders import is_quicker_unpacked, unpacked
from plant_plugin.prepare.embeddings import write_embeddings
from plant_plugin.report.result import Scored, device_name, label_counts, labels_outside, write_predictions
from plant_plugin.report.run import Run

logger = logging.getLogger(__name__)

# What LibMultiLabel's functions take under the configuration's own names.
TRAINER_KEYS = ("checkpoint_dir", "patience", "early_stopping_metric", "val_metric", "silent", "limit_train_batches",
                "limit_val_batches", "limit_test_batches")  # fmt: skip
MODEL_KEYS = ("model_name", "init_weight", "log_path", "learning_rate", "optimizer", "momentum", "weight_decay",
              "lr_scheduler", "scheduler_config", "val_metric", "metric_threshold", "monitor_metrics", "multiclass",
              "loss_function", "silent", "save_k_predictions")  # fmt: skip
LOADER_KEYS = ("max_seq_length", "data_workers", "add_special_tokens")

WORD_VECTORS = "word_vectors.txt"  # by word2vec of the training texts, where the configuration names none
CHOSEN = {"train": "best_model.ckpt", "level_0": "model_0.ckpt", "level_1": "model_1.ckpt"}


def epochs_kept(folder: Path) -> dict[str, int]:
    """Read the epoch, from 1, of each checkpoint that ``val_metric`` chose: pickles of this run's own."""
    return {
        stage: torch.load(folder / name, map_location="cpu", mmap=True, weights_only=False)["epoch"] + 1
        for stage, name in CHOSEN.items()
        if (folder / name).is_file()
    }


class NetworkBaseline:
    """One network of LibMultiLabel from the files to the scores; ``settings`` are those of `library_settings`."""

    corpus: Corpus
    model: Model

    def __init__(self, settings: AttributeDict, run: Run) -> None:
        self.settings, self.run = settings, run
        self.datasets: dict[str, list[Document]] = {}
        self.labels: list[str] = []
        self.word_dict: dict[str, int] | None = None
        self.tokenizer: PreTrainedTokenizerBase | None = None

    def read(self) -> None:
        """Seed, pick the device, read all splits."""
        settings = self.settings
        self.corpus = read_checked(settings)
        set_seed(seed=settings.seed)  # from here on the order of random draws is LibMultiLabel's
        self.device = init_device(use_cpu=settings.cpu)
        reads_words = "lm_weight" not in settings.network_config
        if not reads_words:
            self.tokenizer = padding_tokenizer(settings.network_config["lm_weight"])
        self.datasets = data_utils.load_datasets(
            training_data=settings.training_file,
            test_data=settings.test_file,
            val_data=settings.val_file,
            # LibMultiLabel would try to split a training file that is not there.
            val_size=settings.val_size if settings.training_file else 0,
            merge_train_val=settings.merge_train_val,
            tokenize_text=reads_words,
            remove_no_label_data=settings.remove_no_label_data,
        )
        seen = self.datasets.get("train", []) + self.datasets.get("val", [])
        warn_changed_labels(self.corpus, (document["label"] for document in seen))
        settings.multiclass = is_multiclass_dataset(seen) if seen else False
        if reads_words and settings.embed_file in {None, WORD2VEC} and settings.checkpoint_path is None:
            out, count = Path(settings.checkpoint_dir, WORD_VECTORS), settings.min_vocab_freq
            _, words = write_embeddings(self.corpus.train.texts, out, min_count=count, seed=settings.seed or 1)
            if settings.embed_file == WORD2VEC:  # its words are CAML's: those of so many documents, not so often said
                settings.vocab_file = settings.vocab_file or str(words)
            settings.embed_file = str(out)

    def build(self) -> None:
        """Make the model and its trainer."""
        settings = self.settings
        if settings.checkpoint_path is None:
            self._new_model()
        else:
            self._load_model(settings.checkpoint_path)
        self.trainer = init_trainer(
            epochs=self.run.stop_after.get("train", settings.epochs),
            use_cpu=settings.cpu,
            save_checkpoints=True,
            **self._taken(TRAINER_KEYS),
        )

    def _taken(self, keys: tuple[str, ...]) -> dict[str, object]:
        """Return settings by name; those that are taken so are listed in ``logs.json``."""
        return {key: getattr(self.settings, key) for key in keys}

    def _new_model(self) -> None:
        settings = self.settings
        self.word_dict, vectors = read_word_vectors(settings, self.datasets["train"])
        self.labels = read_labels(settings, self.datasets)
        with explained(settings.model_name):
            self.model = init_model(
                network_config=dict(settings.network_config),
                classes=self.labels,
                embed_vecs=vectors,
                **self._taken(MODEL_KEYS),
            )

    def _load_model(self, checkpoint_path: str) -> None:
        logger.info("Loading the model of %s", checkpoint_path)
        self.model = load_checkpoint(Model, checkpoint_path, log_path=self.settings.log_path)
        # The checkpoint remembers the k of the run that made it; this run's own is meant.
        self.model.save_k_predictions = self.settings.save_k_predictions
        if self.tokenizer is None:
            keep_in = None if self.settings.eval else Path(self.settings.checkpoint_dir)
            self.word_dict = saved_words(Path(checkpoint_path).parent, keep_in)
        self.labels = list(self.model.classes)
        check_labels(self.corpus, self.labels, checkpoint_path, training=not self.settings.eval)

    def train(self) -> None:
        """Fit, then keep the best model (or the last, without validation documents)."""
        settings = self.settings
        loaders = [self.loader("train", shuffle=settings.shuffle)]
        if "val" in self.datasets:
            loaders.append(self.loader("val"))
        with self.fitting():
            if settings["resume"]:  # weights, optimiser, epoch and the best score so far
                self.trainer.fit(self.model, *loaders, ckpt_path=settings.checkpoint_path, weights_only=False)
            else:
                self.trainer.fit(self.model, *loaders)
        callback = self.trainer.checkpoint_callback
        best = callback.best_model_path or callback.last_model_path
        if best:
            self._load_model(best)
        dump_log(settings.log_path, config=settings)

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """Say on Ctrl-C how to resume."""
        folder = Path(self.settings["checkpoint_dir"])
        try:
            with without_packing() if self.settings["without_packing"] else nullcontext():
                yield
        except (KeyboardInterrupt, SystemExit):  # Lightning turns the former into the latter
            resumes = self.settings["model_name"] != "AttentionXML" and self.settings["refit"] == "none"
            if resumes and (folder / "last.ckpt").is_file():
                again = f"the same command with --resume {folder} --trust-code"
                self.run.log(f"Stopped. Resume after the last finished epoch: {again}")
            raise

    def loader(self, split: str, shuffle: bool = False) -> DataLoader[dict[str, Tensor]]:
        """Return LibMultiLabel's batches of a split."""
        settings = self.settings
        loader: DataLoader[dict[str, Tensor]] = data_utils.get_dataset_loader(
            data=self.datasets[split],
            classes=self.model.classes,
            device=self.device,
            batch_size=settings.batch_size if split == "train" else settings.eval_batch_size,
            shuffle=shuffle,
            word_dict=self.word_dict,
            tokenizer=self.tokenizer,
            **self._taken(LOADER_KEYS),
        )
        if 0 < settings[f"limit_{split}_batches"] * len(loader) < 1:  # Lightning refuses what our networks read as one
            setattr(self.trainer, f"limit_{split}_batches", 1)
        return loader

    def test(self) -> None:
        """Run LibMultiLabel's own test: metrics into ``logs.json``, the best k labels into ``predict_out_path``."""
        settings = self.settings
        loader = self.loader("test")
        self.trainer.test(self.model, dataloaders=loader, verbose=False)
        if settings.save_k_predictions > 0:
            names = self.model.classes
            rows = (
                ([names[label] for label in labels], scores)
                for batch in self.trainer.predict(self.model, dataloaders=loader)
                for labels, scores in zip(batch["top_k_pred"], batch["top_k_pred_scores"], strict=True)
            )
            write_predictions(settings.predict_out_path, rows)
        dump_log(settings.log_path, config=settings)

    @torch.no_grad()
    def scores(self, split: str) -> Scores:
        """Yield logits (B, L) and truth of a split, batch by batch."""
        device = self.device
        model = self.model.to(device).eval()
        for batch in limited(self.loader(split), self.settings, split):
            yield model(move(batch, device)).float().cpu().numpy(), sparse_truth(batch["label"].numpy())

    def scored(self) -> Scored:
        """Return all that the evaluation needs."""
        labels = self.labels
        train, test = self.datasets.get("train"), self.datasets.get("test")
        counts, hashes = sizes_and_hashes(self.corpus, labels)
        return Scored(
            model=self.settings.model_name,
            device=device_name(self.device),
            labels=labels,
            train_counts=label_counts((document["label"] for document in train), labels) if train else None,
            num_train=len(train) if train else None,
            validation=(lambda: self.scores("val")) if "val" in self.datasets else None,
            test=None if test is None else (lambda: self.scores("test")),
            outside=None if test is None else labels_outside((document["label"] for document in test), labels),
            hashes=hashes,
            counts=counts,
        )


@contextmanager
def without_packing() -> Iterator[None]:
    """Train LibMultiLabel's own recurrent networks :func:`unpacked` on a CPU as long as this lasts."""
    packed = RNNEncoder.forward

    def forward(self: RNNEncoder, input: Tensor, length: Tensor, **kwargs: object) -> Tensor:
        if is_quicker_unpacked(input):
            return unpacked(self.rnn, self.post_encoder_dropout, input[:, : int(length.max().clamp(min=1))], length)
        return packed(self, input, length, **kwargs)

    RNNEncoder.forward = forward
    try:
        yield
    finally:
        RNNEncoder.forward = packed
