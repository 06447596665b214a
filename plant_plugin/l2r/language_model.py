"""``plant pretrain-lm``: a language model of the training texts; a killed run resumes at its last saved step.

Shape key: **B** columns of a text, read side by side · **T** words of a segment · **V** words.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from plant_plugin.config import registry
from plant_plugin.config.sections import Settings
from plant_plugin.config.values import Keys
from plant_plugin.data.documents import load_corpus
from plant_plugin.data.token_arrays import WHOLE_DOCUMENT, TokenArrays
from plant_plugin.data.tokens import build_tokens
from plant_plugin.data.word_tokens import WordTokens, embedding_matrix
from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.files import atomic_write, locked, write_json
from plant_plugin.l2r.awd_lstm import AwdLstm, LanguageModel, State
from plant_plugin.l2r.encoder import AwdLstmBackbone
from plant_plugin.model.folder import read_metadata, write_tensors
from plant_plugin.networks.construct import construct, word_width
from plant_plugin.training.devices import device_of
from plant_plugin.training.resume import UNREADABLE
from plant_plugin.training.stage import learning_rate_factor

SAVE_SECONDS = 60.0  # between two states on disk
REPORT = "language_model.json"
WEIGHT_DECAY = 0.01  # of AdamW, whose β are 0.9 and 0.99
CLIP_NORM = 0.25  # gradient norm
SAVED = ("identity", "step", "cpu_s", "best", "state", "perplexities")  # fields of a training in its state on disk


@dataclass(frozen=True)
class Pretraining:
    """How long and how fast a language model is trained."""

    epochs: int  # passes over the training texts; the best by validation perplexity is kept
    learning_rate: float  # highest of the one cycle
    batch_size: int  # columns that the text is cut into, read side by side
    segment_tokens: int  # words that a gradient goes back through


def pretrain(settings: Settings, pretraining: Pretraining) -> dict[str, dict[str, float]]:
    """Train the language models that a configuration's encoder starts from, on its training texts only.

    The folder ``network_config.language_model`` gets ``vocabulary.json``, ``forward.safetensors`` and, where the
    network reads both ways, ``backward.safetensors``, and :data:`REPORT`. Called again it resumes where it was killed,
    with the same weights at the end; what has ended is not trained again. The best epoch on validation texts is kept,
    where there are any.

    Returns:
        Of each direction the times, and the perplexities on validation texts of the model and of word frequencies.

    Raises:
        ConfigError: No folder, or no network over an AWD-LSTM, is named.
        CheckpointError: The folder holds a language model of other texts or options.
    """
    network_config = {name: value for name, value in settings.network_config.items() if name != "language_model"}
    if (place := registry.vocabulary_folder(settings.model_name, settings.network_config)) is None:
        fix = "add `language_model: FOLDER` to network_config of PLANTL2R, or with `encoder: awd_lstm`"
        raise ConfigError("there is no folder to write to", where="network_config.language_model", fix=fix)
    folder, corpus, seed = Path(place.folder), load_corpus(settings), settings.seed or 0
    tokens = build_tokens(replace(settings, network_config=network_config), corpus.train)
    vectors = None
    if isinstance(tokens, WordTokens):
        width = word_width(settings.model_name, network_config)
        vectors = embedding_matrix(tokens, None, normalize=False, seed=seed, dim=width)
    torch.manual_seed(seed)
    backbone = construct(settings.model_name, 1, vectors, network_config).backbone
    if vectors is None or not isinstance(backbone, AwdLstmBackbone):
        fix = "PLANTL2R, or a network with `encoder: awd_lstm`"
        raise ConfigError("this network reads no language model of ours", where="model_name", fix=fix)
    reports: dict[str, dict[str, float]] = {}
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", "wait for the other training, or name another folder"):
        tokens.save(folder)
        splits = {split.name: tokens.encode(split.texts, WHOLE_DOCUMENT)
                  for split in corpus.splits if split.name != "test" and len(split)}  # fmt: skip
        common = {"vocabulary": tokens.hash(), "texts": corpus.train.hash(), "seed": str(settings.seed),
                "options": repr(pretraining)}  # fmt: skip
        for direction, encoder in zip(backbone.directions, backbone.models, strict=True):
            assert isinstance(encoder, AwdLstm)
            network = repr([[*map(int, each.shape)] for each in encoder.parameters()] + [*encoder.dropouts])
            streams = {name: stream(arrays, tokens.pad_id, backward=direction == "backward")
                       for name, arrays in splits.items()}  # fmt: skip
            training = _Training(
                folder / f"{direction}.safetensors", {**common, "network": network}, LanguageModel(encoder), streams,
                settings, pretraining
            )  # fmt: skip
            reports[direction] = training.run()
        write_json(folder / REPORT, reports)
    return reports


def stream(arrays: TokenArrays, between: int, *, backward: bool) -> npt.NDArray[np.int64]:
    """Join all documents to one run of words, the id ``between`` before each; backward, their words turned round."""
    documents = np.split(arrays.ids.astype(np.int64), arrays.offsets[1:-1])
    return np.concatenate([part for words in documents for part in ([between], words[::-1] if backward else words)])


def columns(words: npt.NDArray[np.int64], count: int) -> Tensor:
    """Cut a run of words into ``count`` columns (B, words of each); the rest at the end is not read."""
    count = max(1, min(count, (len(words) - 1) // 2))
    return torch.from_numpy(words[: len(words) // count * count].reshape(count, -1))


def unigram_perplexity(train: npt.NDArray[np.int64], words: npt.NDArray[np.int64], size: int) -> float:
    """Return the perplexity of word frequencies (each plus 1) on ``words``, which a model should beat."""
    counts = np.bincount(train, minlength=size) + 1.0
    return float(np.exp(-np.log(counts[words[1:]] / counts.sum()).mean()))


class _Training:
    """The training of one direction: its model, its optimiser and its step."""

    def __init__(
        self, path: Path, identity: dict[str, str], model: LanguageModel,
        streams: dict[str, npt.NDArray[np.int64]], settings: Settings, options: Pretraining,
    ) -> None:  # fmt: skip
        self.path, self.identity, self.options, self.seed = path, identity, options, settings.seed or 0
        self._state_path = path.with_suffix(".state")
        self.streams, self.device = streams, device_of(settings)
        self.model = model.to(self.device)
        self.text = columns(streams["train"], options.batch_size)
        self.starts = range(0, self.text.shape[1] - 1, options.segment_tokens)
        self.optimizer = torch.optim.AdamW(
            model.parameters(), options.learning_rate, (0.9, 0.99), weight_decay=WEIGHT_DECAY
        )
        self.factor = learning_rate_factor("one_cycle", 0.0, options.epochs * len(self.starts))
        self.step, self.cpu_s, self.perplexities = 0, 0.0, list[float]()
        self.best: dict[str, Tensor] | None = None
        self.state: State = model.encoder.start(len(self.text))

    def run(self) -> dict[str, float]:
        """Train to the end, or read a training that has ended; return the report of this direction."""
        if self.path.is_file():
            known = read_metadata(self.path)
            self._check_same(known)
            return {name: float(known[name]) for name in ("perplexity", "unigram_perplexity", "cpu_s") if name in known}
        self._resume()
        began, saved, steps = time.process_time(), time.monotonic(), len(self.starts)
        while self.step < self.options.epochs * steps:
            self._train_step(self.starts[self.step % steps])
            self.step += 1
            epoch_ended = self.step % steps == 0
            if epoch_ended:
                self.state = self.model.encoder.start(len(self.text))
                self._validate()
            if epoch_ended or time.monotonic() - saved > SAVE_SECONDS:
                now, saved = time.process_time(), time.monotonic()
                self.cpu_s, began = self.cpu_s + now - began, now
                self._save()
        return self._finish()

    def _train_step(self, start: int) -> None:
        """Take an optimiser step, whose random draws depend only on its number."""
        drawn = np.random.SeedSequence((self.seed, self.step)).generate_state(1)[0]
        torch.manual_seed(int(drawn))
        segment = self.text[:, start : start + self.options.segment_tokens + 1].to(self.device)
        self.model.train()
        loss, penalty, self.state = self.model.losses(segment[:, :-1], segment[:, 1:], self.state)
        self.optimizer.zero_grad()
        (loss + penalty).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP_NORM)
        for group in self.optimizer.param_groups:
            group["lr"] = self.options.learning_rate * self.factor(self.step)
        self.optimizer.step()

    def _validate(self) -> None:
        if "val" not in self.streams:
            return
        value = perplexity(self.model, self.streams["val"], self.options, self.device)
        if not self.perplexities or value < min(self.perplexities):
            self.best = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
        self.perplexities.append(value)
        epoch = f"epoch {len(self.perplexities)}/{self.options.epochs}"
        click.echo(f"{self.path.stem} {epoch}: validation perplexity {value:.1f}")

    def _finish(self) -> dict[str, float]:
        report = {"cpu_s": round(self.cpu_s, 1)}
        if self.best is not None:
            self.model.load_state_dict(self.best)
            least = unigram_perplexity(self.streams["train"], self.streams["val"], len(self.model.bias))
            report |= {"perplexity": min(self.perplexities), "unigram_perplexity": least}
            if report["perplexity"] >= least:
                click.echo(f"{self.path.stem}: no better than word frequencies ({least:.1f}): train longer or faster")
        write_tensors(self.path, self.model.state_dict(), {**self.identity, **{k: str(v) for k, v in report.items()}})
        self._state_path.unlink(missing_ok=True)
        return report

    def _save(self) -> None:
        content = {name: getattr(self, name) for name in SAVED}
        content |= {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        with atomic_write(self._state_path) as temporary:
            torch.save(content, temporary)

    def _resume(self) -> None:
        """Load the state of a run that was killed; without a state that can be read the training starts anew."""
        try:
            content: Keys = torch.load(self._state_path, map_location=self.device, weights_only=True)
        except UNREADABLE:
            return
        self._check_same(content["identity"])
        self.model.load_state_dict(content["model"])
        self.optimizer.load_state_dict(content["optimizer"])
        for name in SAVED:
            setattr(self, name, content[name])

    def _check_same(self, known: dict[str, str]) -> None:
        changed = [name for name, value in self.identity.items() if known.get(name) != value]
        if changed:
            what = f"a language model of other {', '.join(changed)} is here"
            raise CheckpointError(what, where=str(self.path), fix="name another folder, or remove this one")


@torch.no_grad()
def perplexity(model: LanguageModel, words: npt.NDArray[np.int64], options: Pretraining, device: torch.device) -> float:
    """Return the exponential of the mean cross-entropy of a run of words, each predicted from all before it."""
    model.eval()
    text, total, state = columns(words, options.batch_size), 0.0, None
    for start in range(0, text.shape[1] - 1, options.segment_tokens):
        segment = text[:, start : start + options.segment_tokens + 1].to(device)
        loss, _, state = model.losses(segment[:, :-1], segment[:, 1:], state or model.encoder.start(len(text)))
        total += float(loss) * (segment.shape[1] - 1)
    return math.exp(total / max(1, text.shape[1] - 1))
