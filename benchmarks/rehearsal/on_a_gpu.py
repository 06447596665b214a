"""What a batch of packaged configurations of MIMIC-III takes on this machine's GPU, at true size.

    python benchmarks/rehearsal/on_a_gpu.py FOLDER                               # all of NETWORKS; FOLDER takes 20 GB
    python benchmarks/rehearsal/on_a_gpu.py FOLDER --configurations plant_mimic3 laat_mimic3 --batches 24

Texts are made up: some hundred notes as long as MIMIC's, random words of its vocabulary's size, its number of codes.
Language models have the true size and random weights. Of each stage some batches are trained; seconds are those
between two batches, with reading, gradients and steps, without validation. The records lie in ``FOLDER/records``;
``benchmarks/tables/gpu.json`` keeps them and ``benchmarks/tables/gpu.md`` shows them.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

TABLES = Path(__file__).resolve().parents[1] / "tables"
KEPT, PAGE = TABLES / "gpu.json", TABLES / "gpu.md"
NETWORKS = {  # configuration -> the language model that it needs
    "plant_mimic3": None, "laat_mimic3": None, "multi_res_cnn_mimic3": None, "planted_bigru_lwan_mimic3": None,
    "plm_icd_mimic3": "roberta", "plm_ca_mimic3": "roberta", "planted_plm_icd_mimic3": "roberta",
    "planted_plm_ca_mimic3": "roberta", "plant_llm_mimic3": "mistral", "plant_paper_mimic3": "mistral",
}  # fmt: skip
DOCUMENTS, CODES, WORDS, EACH = 47_723, 8_929, 52_000, 15.9  # of MIMIC-III's training split
MADE_UP = {"train": 400, "valid": 24, "test": 24}  # documents
LENGTH = (7.2, 0.45)  # mean and deviation of the logarithm of a note's words: 1,485 on average
DIMENSIONS = 100  # of word vectors


def texts(folder: Path) -> None:
    """The splits and word vectors, where configurations look for them."""
    random, words = np.random.default_rng(0), np.array([f"w{number}" for number in range(WORDS)])
    falling = {size: 1 / np.arange(1, size + 1) for size in (WORDS, CODES)}
    falling = {size: weights / weights.sum() for size, weights in falling.items()}
    folder.mkdir(parents=True)
    for split, documents in MADE_UP.items():
        with open(folder / f"{split}.txt", "w", encoding="utf-8") as stream:
            for document in range(documents):
                codes = set(random.choice(CODES, round(EACH), p=falling[CODES]).tolist())
                if split == "train":  # every code has a document
                    codes |= set(range(document, CODES, documents))
                length = int(np.clip(random.lognormal(*LENGTH), 100, 10_000))
                text = " ".join(words[random.choice(WORDS, length, p=falling[WORDS])])
                stream.write(f"{' '.join(f'c{code}' for code in sorted(codes))}\t{text}\n")
    with open(folder / "embeddings.txt", "w", encoding="utf-8") as stream:
        for word in words:
            stream.write(f"{word} {' '.join(f'{number:.2f}' for number in random.standard_normal(DIMENSIONS))}\n")
    (folder / "embeddings.txt.vocab").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")


def language_model(kind: str, folder: Path, text: Path) -> None:
    """Random weights of RoBERTa's or Mistral's size, and a tokenizer of the made-up words."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import AutoModel, MistralConfig, PreTrainedTokenizerFast, RobertaConfig

    config = RobertaConfig() if kind == "roberta" else MistralConfig()
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Whitespace(), decoders.BPEDecoder()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(vocab_size=2000, special_tokens=special, show_progress=False)
    tokenizer.train([str(text)], trainer)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<pad>", eos_token="</s>", bos_token="<s>"
    ).save_pretrained(folder)
    with torch.device("cuda"):
        AutoModel.from_config(config, dtype=torch.bfloat16).save_pretrained(folder)


@contextlib.contextmanager
def alone(lock: str | None) -> Iterator[None]:
    """Hold a lock: other processes may prepare meanwhile, and do not train."""
    if lock is None:
        yield
        return
    with open(lock, "a", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def measured(name: str, batches: int, lock: str | None) -> dict[str, Any]:
    """Seconds a batch and memory on the GPU of each stage of a configuration, in the folder one stands in."""
    import torch

    from plant_plugin.config import load_config
    from plant_plugin.training.run import run
    from plant_plugin.training.stage import StageModule

    batches += 1  # the last one's begin is the end of the one before
    changes: dict[str, Any] = {
        "planted_scores.model": "none", "stage1.epochs": 1, "stage2.epochs": 1, "limit_train_batches": batches,
        "limit_val_batches": 2, "limit_test_batches": 2, "silent": True, "result_dir": f"runs/{name}",
        "cache_dir": f"cache/{name}",
    }  # fmt: skip
    if kind := NETWORKS[name]:
        changes["network_config.lm_weight"] = f"models/{kind}"
    config = load_config(f"{name}.yml", changes)
    begun: dict[str, list[float]] = {}
    step = StageModule.training_step

    with contextlib.ExitStack() as training:

        def timed(self: StageModule, *arguments: Any) -> Any:
            if not begun:
                training.enter_context(alone(lock))
            torch.cuda.synchronize()
            begun.setdefault(self.stage, []).append(time.perf_counter())
            return step(self, *arguments)

        StageModule.training_step = timed  # type: ignore[method-assign]
        result = run(config)
    seconds = {}
    for stage, moments in begun.items():
        every = config.accumulate
        kept = moments[every:]  # what is compiled is compiled in the first step; then whole steps
        whole = (len(kept) - 1) // every * every
        seconds[stage] = (kept[whole] - kept[0]) / whole
    return {
        "batch_size": config.batch_size, "seconds": seconds, "device": result["device"],
        "gpu_memory_mb": {stage: result["gpu_memory_mb"][stage] for stage in begun}, "versions": result["versions"],
    }  # fmt: skip


def page(records: dict[str, Any]) -> str:
    """The table of all records."""
    first = next(iter(records.values()))
    rows = [
        "| configuration | batch | stage | s a batch | an epoch | GPU memory, GiB |",
        "|---|--:|---|--:|--:|--:|",
    ]
    for name, record in records.items():
        for stage, seconds in record["seconds"].items():
            epoch = seconds * DOCUMENTS / record["batch_size"]
            shown = f"{epoch / 3600:.1f} h" if epoch >= 5400 else f"{epoch / 60:.1f} min"
            memory = record["gpu_memory_mb"][stage] / 1024
            times = ["–", "–"] if record.get("shared") else [f"{seconds:.3f}", shown]
            cells = [f"`{name}.yml`", str(record["batch_size"]), stage[-1], *times, f"{memory:.1f}"]
            rows.append(f"| {' | '.join(cells)} |")
    head = f"""# MIMIC-III on a GPU

Written by `python benchmarks/rehearsal/on_a_gpu.py`. {first["device"]}, torch {first["versions"]["torch"]}. Texts are
made up, as long as MIMIC's notes and with as many codes; language models are as large as the true ones and random.
Nothing here tells how good a model is, nor what reading, relevance and planted scores take, a processor's work.

An epoch: {DOCUMENTS:,} documents in batches of so many, without validation. Memory is the most that tensors held.
Only stages of networks that this package trains are here. –: other programs trained on the GPU meanwhile.
"""
    return "\n".join([head, *rows, ""])


def _has_gpu() -> bool:
    import torch  # slow to import, and not needed for the page

    return torch.cuda.is_available()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--configurations", nargs="+", choices=NETWORKS, default=[*NETWORKS])
    parser.add_argument("--batches", type=int, default=24, help="of each stage")
    parser.add_argument("--lock", help="a file: of several processes one trains, the others prepare")
    parser.add_argument("--shared", action="store_true", help="others use the GPU meanwhile: seconds are not shown")
    parser.add_argument("--page", action="store_true", help="only write the page, of what the folder has records of")
    options = parser.parse_args()
    if not options.page and options.batches < 8:
        parser.error("--batches is below 8: of the first step nothing is counted")
    if not options.page and not _has_gpu():
        parser.error("no GPU is seen here; --page writes the table of records that are there")
    records = options.folder.resolve() / "records"
    records.mkdir(parents=True, exist_ok=True)
    os.chdir(options.folder)
    for name in () if options.page else options.configurations:
        with open("making", "a", encoding="utf-8") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            if not Path("data").is_dir():
                texts(Path("data/MIMIC"))
            if (kind := NETWORKS[name]) and not Path("models", kind).is_dir():
                language_model(kind, Path("models", kind), Path("data/MIMIC/train.txt"))
        record = {**measured(name, options.batches, options.lock), "shared": options.shared}
        Path("records", f"{name}.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
        print(name, json.dumps({key: record[key] for key in ("seconds", "gpu_memory_mb")}), flush=True)
    if not options.lock:
        kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
        found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in Path("records").glob("*.json")}
        kept = {name: one for name in NETWORKS if (one := found.get(name, kept.get(name)))}
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
