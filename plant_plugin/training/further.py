"""Train a model further, with more documents: ``plant train --from``.

What is exact and cheap is made anew from all documents: relevance, phrases, the linear model of documents and
thresholds. The linear model of sentences is taught the new ones. The network, its vocabulary and the weights of
planted scores stay as they are, but that a label that is new begins as the mean of all known ones.

What says how to train is taken over from the run's folder, which a stranger may have written; where things are written
and how the work is spread, the new command says. Code is run only with ``--trust-code``.

Once more documents have come than the network was trained on, it reads these, and some of the old ones with them, so
that it does not forget these; rows of words and labels that it knows move to their new places. All else is then made
and chosen anew.

Source: ours; replay is that of Robins 1995, "Catastrophic forgetting, rehearsal and pseudorehearsal".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from plant_plugin.config import Config, load_config
from plant_plugin.config.load import WITHOUT_INFLUENCE
from plant_plugin.config.options import AUTO, PLANTED_SCORES
from plant_plugin.config.sections import FIELDS, Settings
from plant_plugin.config.values import Keys
from plant_plugin.data.documents import (
    AS_TEXT,
    COLUMN_KEYS,
    DEMO_PREFIX,
    LABEL_NAMES,
    Corpus,
    Split,
    load_corpus,
    read_as_text,
)
from plant_plugin.data.evidence import evidence_beside
from plant_plugin.data.label_names import label_name_rows
from plant_plugin.data.name_rows import table_text
from plant_plugin.data.names_beside import names_beside
from plant_plugin.data.tokens import load_tokens
from plant_plugin.data.word_tokens import WordTokens
from plant_plugin.errors import CheckpointError, DataError
from plant_plugin.files import private_files, write_json, write_text
from plant_plugin.model.folder import COMPLETE, read_content, read_labels
from plant_plugin.model.manifest import MODEL, verify
from plant_plugin.networks.no_network import NO_NETWORK
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.networks.trained_state import trained_state
from plant_plugin.prepare.marked.marked import Marked, write_sets
from plant_plugin.relevance.names.open_labels import ARRAYS
from plant_plugin.report.logs import logged_config
from plant_plugin.report.record import FIRST_PASS, FURTHER, Further, read_further
from plant_plugin.training.further_files import how_read, new_documents, plain, write_test_file
from plant_plugin.training.further_resume import DOCUMENTS, begun_in, new_folder, settled_in
from plant_plugin.training.inputs import Encoded

Say = Callable[[str], None]
CODE = "registry"  # the key that names a file with code
YOURS = "if you trust whoever wrote it: --trust-code"
LABELS = "labels.txt"  # beside them
EPOCHS, SLOWER = 1, 3.0  # passes over new documents; by what their learning rate is lower than a new network's


def further(
    folder: Path, file: Path, flags: Mapping[str, object], *, trust_code: bool = False, say: Say = print
) -> Config:
    """Write down the documents of a run and new ones, and return the configuration of the training that reads them.

    The old and the new documents come to lie in ``documents/`` of the new run's folder, readable only to their owner:
    the training after this one needs them. A new document whose text was known takes the place of the old one, and is
    not new where its labels and their evidence were known too. Until more documents have come than the network was
    trained on, the network stays as it is, and only what is quick is made anew: see :func:`few_are_new`.

    Args:
        folder: A finished run of our strategies.
        file: Documents with labels, and their evidence file beside them where there is one.
        flags: Keys that beat those of the run.
        trust_code: Take over a registry and a network of somebody's own, which run code.
        say: Gets a line about keys that are not taken over.

    Raises:
        CheckpointError: The folder is no model, was changed, or names code that is to be run and is not trusted; or
            the run to resume has not begun.
        DataError: The run's training file is gone, or a file cannot be read, or no document of ``file`` has a label.
    """
    if resumed := begun_in(flags.get("resume")):  # its documents, whatever has come since
        return load_config(None, {**_keys_of(resumed, trust_code, say), **flags})
    content = read_content(folder, trust_code=trust_code)
    verify(folder)  # before the first step: a training that cannot end leaves nothing
    keys = _keys_of(folder, trust_code, say)
    if Path(str(keys.get("label_file"))).resolve() == (folder / DOCUMENTS / LABELS).resolve():
        keys.pop("label_file")  # of the training before: it grows
    before = load_config(None, keys)
    old, earlier, reading = _corpus(folder, before), read_further(folder), how_read(before, flags)
    trained = old.train.trained.knowing(read_labels(folder)[0])
    new = new_documents(file, reading, trained)
    flags = {key: value for key, value in flags.items() if key not in COLUMN_KEYS}
    new_rows, old_rows = _rows(new, old.train)
    # Of the documents before, those at the head that its network has not read either.
    unread = earlier["new"] + earlier["waiting"] if earlier is not None and few_are_new(earlier) else 0
    waiting = sum(row < unread for row in old_rows)
    keys |= {"strategy": "end_to_end", "stage2.epochs": EPOCHS}
    keys |= {key: value for key, value in decided(before, folder).items() if value != "plant"}
    if before.strategy == PLANTED_SCORES:
        keys["strategy"] = PLANTED_SCORES
    if earlier is None:  # else the rate is low
        keys["stage2.learning_rate"] = (before.stage2.learning_rate or before.learning_rate) / SLOWER
    config = load_config(None, {**keys, **flags})
    network = content["model_name"], content["network_config"]
    if config.strategy != PLANTED_SCORES and network != (config.model_name, config.network_config):
        raise _another(folder)
    sets = {"train": [*_marked(new, new_rows), *_marked(old.train, old_rows)]}
    if old.val is None:  # none, or merged
        keys |= {"val_file": None, "val_size": 0, "merge_train_val": False, "evidence.val_file": None}
    elif config.val_file is None or not read_as_text(config.val_file, before):  # drawn from the training file
        sets["valid"] = list(_marked(old.val, range(len(old.val))))
    name = f"{config.data_name}_taught_{config.run_name.rpartition('_')[2]}"
    reads = len(new_rows) + waiting > len(old_rows) - waiting or "stage2.epochs" in flags
    with private_files(), new_folder(config.checkpoint_dir.with_name(name)) as run_folder:
        files = _written(run_folder / DOCUMENTS, sets, {*read_labels(folder)[0]}, config, before)
        if config.test_file is not None:
            read_by = reading if "test_file" in flags else before
            tested = write_test_file(config.test_file, read_by, before, run_folder / DOCUMENTS, trained)
            files |= {"test_file": config.test_file if tested is None else str(tested)}
        added = {"folder": str(folder), "new": len(new_rows), "waiting": waiting, "reads": reads}
        write_json(run_folder / FURTHER, added)
        return settled_in(run_folder, {**keys, **flags, **files})


def decided(settings: Settings, folder: Path) -> Keys:
    """Return the keys of a configuration that say ``auto``, with what they are in the folder of a trained model."""
    keys: Keys = {}
    if settings.strategy == AUTO:
        without = read_content(folder, trust_code=True)["model_name"] == NO_NETWORK
        keys["strategy"] = PLANTED_SCORES if without else "plant"
    if settings.label_set == AUTO:
        keys["label_set"] = "named" if (folder / ARRAYS).is_file() else "trained"
    return keys


def _keys_of(folder: Path, trust_code: bool, say: Say) -> Keys:
    """Return the keys of a run that the training after it takes over.

    Raises:
        CheckpointError: The log of the run holds no configuration, or one that runs code that is not trusted.
    """
    logged = logged_config(folder)
    if "strategy" not in logged:
        fix = "take the folder that training wrote: exported, stripped and ready models have no documents to go on from"
        raise CheckpointError("the log of the run does not hold its configuration", where=str(folder), fix=fix)
    keys, amiss = taken_over(logged, str(folder), trust_code=trust_code)
    if amiss:
        say(f"not taken over from {folder}: {', '.join(amiss)}; {YOURS}")
    return keys


def taken_over(keys: Mapping[str, object], where: str, *, trust_code: bool) -> tuple[Keys, list[str]]:
    """Return the keys of a run's configuration that the training after it takes over, and what is amiss with others.

    Amiss are a registry of somebody's own, without ``trust_code``, and keys that no configuration has.

    Args:
        keys: The configuration in the run's folder.
        where: The folder, for errors.
        trust_code: Take over a registry and a network of somebody's own, which run code.

    Raises:
        CheckpointError: The network is code of somebody's own, and is not trusted.
    """
    name = str(keys.get("model_name"))
    if ":" in name and not trust_code:
        what = f"the configuration in it imports and runs {name.partition(':')[0]!r}"
        raise CheckpointError(what, where=where, fix=YOURS)
    known = {key: value for key, value in keys.items() if key.partition(".")[0] in FIELDS}
    amiss = sorted(keys.keys() - known.keys())
    taken = {key: value for key, value in known.items() if key not in WITHOUT_INFLUENCE | {"checkpoint_path"}}
    if trust_code:
        taken[CODE] = known.get(CODE)
    elif known.get(CODE):
        amiss.append(CODE)
    name_of_data = known.get("data_name")  # a part of the new folder's name, so it must not lead elsewhere
    if isinstance(name_of_data, str) and Path(name_of_data).name == name_of_data:
        taken["data_name"] = name_of_data
    return taken, amiss


def _written(folder: Path, sets: dict[str, list[Marked]], known: set[str], config: Config, before: Config) -> Keys:
    """Write the documents of both trainings, with labels and names, to a folder; return the keys that name the files.

    A label whose last document was coded anew stays one that the network knows: ``known`` holds all of the run before.
    """
    write_sets(folder, {"": sets}, (), {"command": "train --from", "options": {}, "counts": {}})
    keys: Keys = {**AS_TEXT}
    labels = known.union(*(document.labels for documents in sets.values() for document in documents))
    if config.label_file is None:
        write_text(folder / LABELS, "".join(f"{label}\n" for label in sorted(labels)))
        keys |= {"label_file": str(folder / LABELS), "include_test_labels": False}
    if names := names_beside(before):
        write_text(folder / LABEL_NAMES, table_text(label_name_rows([str(names)], labels)))
    for name, key in (("train", "training_file"), ("valid", "val_file")):
        path = folder / f"{name}.txt"
        if name in sets:
            keys[key] = str(path)
            keys[f"evidence.{key}"] = str(evidence_beside(path)) if evidence_beside(path).exists() else None
    return keys


def _rows(new: Split, old: Split) -> tuple[list[int], list[int]]:
    """Return rows of the new documents that are taken, and of the old ones beside them: a desk sends all that it has.

    Documents of one text, as short notes may be, are taken or left together.
    """
    taken, known = _rows_of_texts(new), _rows_of_texts(old)
    for text in taken.keys() & known.keys():
        before = [_coded(old, row) for row in known[text]]
        if all(_coded(new, row) in before for row in taken[text]):
            del taken[text]
    rows_kept = (rows for text, rows in known.items() if text not in taken)
    return sorted(chain.from_iterable(taken.values())), sorted(chain.from_iterable(rows_kept))


def _rows_of_texts(split: Split) -> dict[str, list[int]]:
    rows_by_text: dict[str, list[int]] = {}
    for row, text in enumerate(split.texts):
        rows_by_text.setdefault(plain(text), []).append(row)
    return rows_by_text


def _coded(split: Split, row: int) -> dict[str, list[str]]:
    """Return the labels of a document, each with the words that prove it."""
    evidence, text = {} if split.evidence is None else split.evidence[row], split.texts[row]
    return {
        label: sorted(plain(text[start:end]) for start, end in evidence.get(label, [])) for label in split.labels[row]
    }


def few_are_new(further: Further | None) -> bool:
    """Tell whether network, vocabulary and weights stay as they are: few documents have come since it was trained."""
    return further is not None and not further["reads"]


def folder_before(further: Further, settings: Settings) -> Path:
    """Return the folder of the run before; where it trained twice, the pass over as many documents as this one has.

    A model that has trained on validation documents could choose nothing on them.
    """
    folder = Path(further["folder"])
    first = folder / FIRST_PASS
    return first if first.is_dir() and not settings.merge_train_val else folder


def _marked(split: Split, rows: Iterable[int]) -> Iterator[Marked]:
    for row in rows:
        evidence = {} if split.evidence is None else split.evidence[row]
        labels = {label: [[span] for span in evidence.get(label, [])] for label in split.labels[row]}
        yield Marked(split.texts[row], labels)


def _corpus(folder: Path, config: Config) -> Corpus:
    """Read the documents of a run, without its test split."""
    source = str(config.training_file)
    if not source.startswith(DEMO_PREFIX) and not Path(source).exists():
        what = f"the documents that the run was trained on are not there any more: {source}"
        raise DataError(what, where=str(folder), fix="put the file back where it lay, or train anew on all documents")
    return load_corpus(dataclasses.replace(config, test_file=None, include_test_labels=False))


def load_grown(folder: Path, network: PlantableNetwork, documents: Encoded) -> None:
    """Give a fresh network the weights of a run, where its words and labels are some of this one's; in place.

    Args:
        folder: The run's folder, see :func:`folder_before`.
        network: As :func:`.construct` made it.
        documents: Their vocabulary and labels.

    Raises:
        CheckpointError: It is no model, or torn, or another network, or knows as many labels, but others.
    """
    content = read_content(folder, trust_code=True)
    verify(folder)
    if (content["model_name"], content["network_config"]) != network.built_as:
        raise _another(folder)
    (labels, _), after = read_labels(folder), documents.corpus.label_names
    if len(labels) == len(after) and labels != after:  # shapes do not show then what has a row for each label
        fix = "put its labels into label_file as well, or train anew"
        raise CheckpointError(f"it knows {len(labels)} labels too, but others", where=str(folder), fix=fix)
    label_rows = _moved(labels, after)
    tokens, tables = load_tokens(folder), {table.data_ptr() for table in network.word_tables()}
    word_rows = _moved((), ())
    if isinstance(tokens, WordTokens) and isinstance(documents.tokens, WordTokens):
        word_rows = _moved(tokens.words, documents.tokens.words)
    before = load_file(folder / MODEL)
    for name, tensor in trained_state(network).items():
        known = before.get(name)
        if known is None or known.shape[1:] != tensor.shape[1:]:
            raise CheckpointError(f"{name} is missing or of another shape", where=str(folder), fix=COMPLETE)
        if tensor.data_ptr() in tables:
            _copy(tensor, known, word_rows)
        elif known.shape == tensor.shape:
            tensor.copy_(known)
        else:  # a row for each label
            tensor.copy_(known.mean(dim=0).expand_as(tensor))
            _copy(tensor, known, label_rows)


def _another(folder: Path) -> CheckpointError:
    fix = "leave model_name and network_config as they were, or train anew"
    return CheckpointError("it holds another network", where=str(folder), fix=fix)


def _copy(tensor: Tensor, known: Tensor, rows: tuple[Tensor, Tensor]) -> None:
    tensor[rows[1]] = known[rows[0]].to(tensor)


def _moved(before: Sequence[str], after: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Return the places of what both have, before and after."""
    place = {name: number for number, name in enumerate(after)}
    both = [(number, place[name]) for number, name in enumerate(before) if name in place]
    return tuple(torch.tensor(both, dtype=torch.long).reshape(-1, 2).T)
