"""Do our `libmultilabel` and LibMultiLabel's own `main.py` give the same numbers?

    python benchmarks/experiments/same_as_libmultilabel.py PATH_OF_A_LIBMULTILABEL_CHECKOUT

The three scripts of the checkout (main.py, torch_trainer.py, linear_trainer.py) are copied to a temporary folder, so
that they import the installed libmultilabel package and only the driver differs. Both run every configuration below on
made-up documents, on the CPU, with the same seed; the metrics of logs.json, every line of predictions.txt and the
tensors of the checkpoints are compared. The table goes to benchmarks/tables/same_as_libmultilabel.md. About ten
minutes on two cores; name models behind the path to run only those.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

TABLE = Path(__file__).parents[1] / "tables" / "same_as_libmultilabel.md"
SCRIPTS = ("main.py", "torch_trainer.py", "linear_trainer.py")
OURS = "from plant_plugin.cli import libmultilabel; libmultilabel()"
LABELS, WORDS, DIMENSIONS = 50, 300, 16
# Both sides start with this. One thread: LibMultiLabel trains linear models in as many threads as there are cores; they
# share the C library's random numbers, so that main.py does not repeat its own decision values beyond three digits.
# Axis 2: main.py's `thresholding` stops with recent SciPy, which once took it for axis 0 of a column matrix.
START = """
import psutil
psutil.cpu_count = lambda logical=True: 1
import scipy.sparse
plain_sum = scipy.sparse.csc_matrix.sum
def sum_of(self, axis=None, dtype=None, out=None):
    return plain_sum(self, 0 if axis == 2 else axis, dtype, out)
scipy.sparse.csc_matrix.sum = sum_of
"""

COMMON: dict[str, Any] = {
    "seed": 1337,
    "cpu": True,
    "data_workers": 0,
    "training_file": "train.txt",
    "test_file": "test.txt",
    "data_name": "made_up",
    "epochs": 3,
    "batch_size": 16,
    "eval_batch_size": 32,
    "learning_rate": 0.005,
    "max_seq_length": 40,
    "embed_file": "vectors.txt",
    "monitor_metrics": ["P@1", "P@5", "nDCG@5", "RP@5", "Micro-F1", "Macro-F1", "Another-Macro-F1"],
    "val_metric": "nDCG@5",
    "save_k_predictions": 10,
}
LINEAR: dict[str, Any] = {
    **{key: COMMON[key] for key in ("seed", "training_file", "test_file", "data_name", "eval_batch_size")},
    "linear": True,
    "liblinear_options": "-s 1 -B 1 -e 0.0001 -q",
    "monitor_metrics": ["P@1", "P@5", "NDCG@5", "RP@5", "Micro-F1", "Macro-F1", "Another-Macro-F1"],
    "save_k_predictions": 10,
}
RNN = {"embed_dropout": 0.2, "post_encoder_dropout": 0.2, "rnn_dim": 32, "rnn_layers": 1}
CNN = {"embed_dropout": 0.2, "post_encoder_dropout": 0.2, "filter_sizes": [4], "num_filter_per_size": 32}
BERT: dict[str, Any] = {"embed_file": None, "init_weight": None, "epochs": 2, "optimizer": "adamw"}
TREE = {"linear_technique": "tree", "tree_degree": 5, "tree_max_depth": 3}


def network(model_name: str, network_config: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**COMMON, "model_name": model_name, "network_config": network_config, **more}


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "KimCNN": network("KimCNN", {**CNN, "filter_sizes": [2, 4]}),
    "CAML": network(
        "CAML",
        {"embed_dropout": 0.2, "filter_sizes": [4], "num_filter_per_size": 32},
        val_file="valid.txt",
        shuffle=False,
        init_weight=None,
        normalize_embed=True,
    ),
    "BiGRULWAN": network("BiGRULWAN", RNN, include_test_labels=True, remove_no_label_data=True),
    "BiLSTMLWAN": network("BiLSTMLWAN", RNN, lr_scheduler="ReduceLROnPlateau", scheduler_config={"patience": 0}),
    "BiLSTMLWMHAN": network("BiLSTMLWMHAN", {**RNN, "num_heads": 4}, optimizer="adamw", weight_decay=0.01),
    "CNNLWAN": network("CNNLWAN", CNN, merge_train_val=True),
    "KimCNN, one label each": network(
        "KimCNN", CNN, training_file="train_one_label.txt", test_file="test_one_label.txt", include_test_labels=True
    ),
    "BERT": network("BERT", {"lm_weight": "bert", "lm_window": 16}, **BERT),
    "BERTAttention": network(
        "BERTAttention",
        {"lm_weight": "bert", "lm_window": 16, "attention_type": "multihead"},
        **BERT,
        add_special_tokens=False,
    ),
    "AttentionXML": network(
        "AttentionXML", {"rnn_dim": 32, "linear_size": [16], "embed_dropout": 0.2}, cluster_size=4, beam_width=8
    ),
    "linear-1vsrest": {**LINEAR, "linear_technique": "1vsrest"},
    "linear-thresholding": {**LINEAR, "linear_technique": "thresholding"},
    "linear-cost_sensitive": {**LINEAR, "linear_technique": "cost_sensitive"},
    "linear-cost_sensitive_micro": {**LINEAR, "linear_technique": "cost_sensitive_micro"},
    "linear-binary_and_multiclass": {
        **LINEAR,
        "linear_technique": "binary_and_multiclass",
        "training_file": "train_one_label.txt",
        "test_file": "test_one_label.txt",
    },
    "linear-tree": {**LINEAR, **TREE},
    "linear-tree-ensemble": {**LINEAR, **TREE, "tree_ensemble_models": 3},
}


def write_data(folder: Path) -> None:
    """Documents whose words hint at their labels, and random word vectors; the same every time."""
    draw = random.Random(1)
    words = [f"word{number}x" for number in range(WORDS)]
    weights = [1 / (rank + 1) for rank in range(LABELS)]
    for name, size in (("train", 240), ("valid", 60), ("test", 60)):
        lines = []
        for _ in range(size):
            labels = sorted(set(draw.choices(range(LABELS), weights, k=draw.randint(1, 5))))
            text = [words[(label * 6 + draw.randrange(6)) % WORDS] for label in labels for _ in range(4)]
            text += draw.choices(words, k=draw.randint(5, 30))
            draw.shuffle(text)
            lines.append(f"{' '.join(f'label{label}' for label in labels)}\t{' '.join(text)}\n")
        (folder / f"{name}.txt").write_text("".join(lines))
        first = (line.split(" ", 1)[0].split("\t")[0] + "\t" + line.split("\t")[1] for line in lines)
        (folder / f"{name}_one_label.txt").write_text("".join(first))
    vectors = (f"{word} {' '.join(f'{draw.gauss(0, 1):.4f}' for _ in range(DIMENSIONS))}\n" for word in words)
    (folder / "vectors.txt").write_text("".join(vectors))
    write_language_model(folder / "bert", words)


def write_language_model(folder: Path, words: list[str]) -> None:
    """A BERT of a few thousand random weights that knows the made-up words."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(1)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 8, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(vocabulary), **sizes)).save_pretrained(folder)


def run(command: list[str], data: Path, where: Path, configuration: dict[str, Any]) -> dict[str, Any]:
    """Run one side in the data folder; its logs, predictions, printed test table and checkpoint tensors."""
    where.mkdir(parents=True)
    config = where / "config.yml"
    own = {"result_dir": str(where / "runs"), "predict_out_path": str(where / "predictions.txt")}
    config.write_text(yaml.safe_dump({**configuration, **own}))
    path = os.pathsep.join([str(data), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": path}
    done = subprocess.run(
        [*command, "--config", str(config)], cwd=data, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
    (folder,) = (where / "runs").iterdir()
    return {
        "logs": json.loads((folder / "logs.json").read_text()),
        "predictions": (where / "predictions.txt").read_text(),
        "printed": [line for line in done.stdout.splitlines() if line.startswith("|") and "." in line][-1:],
        "name": folder.name.rpartition("_")[0],
        "files": sorted(path.name for path in folder.iterdir()),
        "tensors": tensors(folder),
    }


def tensors(folder: Path) -> dict[str, Any]:
    """Every tensor of every checkpoint in a run folder."""
    import torch

    found = {}
    for path in sorted(folder.glob("*.ckpt")):
        state = torch.load(path, map_location="cpu", weights_only=False)["state_dict"]
        found |= {f"{path.name}:{name}": tensor for name, tensor in state.items()}
    return found


def compare(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, bool]:
    import torch

    splits = [split for split in ("val", "test") if split in theirs["logs"]]
    weights = theirs["tensors"].keys() == ours["tensors"].keys() and all(
        torch.equal(tensor, ours["tensors"][name]) for name, tensor in theirs["tensors"].items()
    )
    extra = {"result.json"}
    mine, yours = ours["logs"]["config"], theirs["logs"]["config"]
    return {
        "logs.json": all(theirs["logs"][split] == ours["logs"].get(split) for split in splits),
        "same keys in its config": mine.keys() == yours.keys(),
        "predictions.txt": theirs["predictions"] == ours["predictions"],
        "checkpoints": weights,
        "folder": theirs["name"] == ours["name"] and set(theirs["files"]) == set(ours["files"]) - extra,
    }


def numbers(side: dict[str, Any]) -> str:
    """The test metrics in full; AttentionXML's are only printed by LibMultiLabel, its validation ones are logged."""
    split = "test" if "test" in side["logs"] else "val"
    last = side["logs"][split][-1]
    chosen = [name for name in ("P@1", "nDCG@5", "NDCG@5", "Micro-F1", "Macro-F1") if name in last]
    return f"{split}: " + ", ".join(f"{name} {last[name]:.10f}" for name in chosen)


def main(checkout: Path, chosen: list[str]) -> None:
    rows, equal = [], True
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "scripts").mkdir()
        (folder / "data").mkdir()
        for script in SCRIPTS:
            shutil.copy(checkout / script, folder / "scripts" / script)
        write_data(folder / "data")
        (folder / "data" / "sitecustomize.py").write_text(START)
        for name in chosen or list(CONFIGURATIONS):
            sides = {}
            for side, command in (
                ("main.py", [sys.executable, str(folder / "scripts" / "main.py")]),
                ("plant_plugin", [sys.executable, "-c", OURS]),
            ):
                # One name for both, as the name of the configuration is part of the run folder's name.
                sides[side] = run(command, folder / "data", folder / side / name, CONFIGURATIONS[name])
            same = compare(sides["main.py"], sides["plant_plugin"])
            equal &= all(same.values())
            verdict = "; ".join(f"{what}: {'equal' if value else 'DIFFERENT'}" for what, value in same.items())
            rows.append(f"| {name} | {numbers(sides['main.py'])} | {numbers(sides['plant_plugin'])} | {verdict} |")
            print(rows[-1], flush=True)
    if not chosen:
        write_table(rows, checkout)
    sys.exit(0 if equal else 1)


def checked_out(checkout: Path) -> str:
    """The version that a checkout's setup.cfg names."""
    lines = (checkout / "setup.cfg").read_text().splitlines()
    return next(line.partition("=")[2].strip() for line in lines if line.startswith("version"))


def write_table(rows: list[str], checkout: Path) -> None:
    packages = ("libmultilabel", "torch", "lightning", "scikit-learn")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(
        "# The same numbers as LibMultiLabel's main.py\n\n"
        "Made by `python benchmarks/experiments/same_as_libmultilabel.py CHECKOUT` (see there): main.py of a checkout "
        f"of LibMultiLabel {checked_out(checkout)} and `libmultilabel` of this package, both on {versions}; the "
        "same configuration, made-up data and seed, on the CPU. `equal` "
        "is exact: every logged number of every epoch, the keys of the logged "
        "configuration, every line of the predictions, every tensor of the checkpoints (linear models have none), the "
        "run folder's name and files (ours has result.json besides).\n\n"
        "- Both sides train linear models in one thread. With one per core, LibMultiLabel's threads share the C "
        "library's random numbers, and main.py does not repeat its own decision values beyond three digits.\n"
        "- Both sides run with SciPy taking axis 2 of a column matrix for axis 0, as it once did. Without that, "
        "main.py stops at `thresholding` with recent SciPy; `libmultilabel` does not need it.\n"
        "- LibMultiLabel prints AttentionXML's test metrics but does not log them: its validation metrics (both "
        "levels), predictions and checkpoints are compared.\n"
        "- XMLCNN is missing: main.py refuses a seed for it.\n\n"
        "| configuration | main.py | plant_plugin | |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2:])
