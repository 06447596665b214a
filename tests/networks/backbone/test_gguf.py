"""GGUF files as language models: converted once, the same states, and what is said where that cannot be."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest
import torch
from tiny_language_models import skip_without, write_gguf, write_language_model

from plant_plugin.errors import ConfigError, MissingExtraError, PlantError
from plant_plugin.networks.backbone import gguf
from plant_plugin.networks.backbone.gguf import language_model

skip_without("gguf", "accelerate")

WORDS = 280  # 256 bytes, 3 special tokens, the rest are merged
TEXT = "a patient with a fever, 63 years old; no cough"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama, ``texts.txt`` for its sub-words, and ``model.gguf``."""
    folder = tmp_path_factory.mktemp("llama")
    write_language_model("llama", folder, words=WORDS)
    (folder / "texts.txt").write_text("a patient with fever and cough\n" * 20)
    write_gguf(folder, [folder / "texts.txt"], folder / "model.gguf")
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "plant_plugin" / "language_models"


def states(folder: Path | str) -> torch.Tensor:
    from transformers import AutoModel

    text = torch.randint(3, WORDS, (3, 40), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        return AutoModel.from_pretrained(folder, dtype=torch.float32).eval()(input_ids=text).last_hidden_state


def test_the_states_are_those_of_the_model_that_was_written(source: Path) -> None:
    folder = gguf.language_model(str(source / "model.gguf"))
    torch.testing.assert_close(states(folder), states(source), rtol=1e-2, atol=5e-3)  # float16


def test_quantised_blocks_are_spread_out(source: Path, tmp_path: Path) -> None:
    from gguf import GGUFReader, dequantize
    from safetensors.torch import load_file

    path = write_gguf(source, [source / "texts.txt"], tmp_path / "q8.gguf", quantized=True)
    folder = Path(gguf.language_model(path))
    blocks = {tensor.name: tensor for tensor in GGUFReader(path).tensors}["blk.1.ffn_up.weight"]
    assert blocks.tensor_type.name == "Q8_0"
    found = load_file(folder / "model.safetensors")["layers.1.mlp.up_proj.weight"]
    expected = torch.from_numpy(dequantize(blocks.data, blocks.tensor_type))
    torch.testing.assert_close(found.float(), expected, rtol=1e-3, atol=1e-6)
    torch.testing.assert_close(states(folder), states(source), rtol=0.1, atol=0.1)


def test_the_tokenizer_comes_with_it(source: Path) -> None:
    from tokenizers import ByteLevelBPETokenizer

    from plant_plugin.data.subword_tokens import SubwordTokens

    own = ByteLevelBPETokenizer(str(source / "vocab.json"), str(source / "merges.txt"))
    tokens = SubwordTokens(str(source / "model.gguf"))
    assert tokens.encode([TEXT], 100).ids.tolist() == own.encode(TEXT).ids
    assert (tokens.size, tokens.pad_id) == (WORDS, 2)


def test_it_is_converted_once_for_each_content(source: Path, tmp_path: Path, cache: Path) -> None:
    first = tmp_path / "first.gguf"
    first.write_bytes((source / "model.gguf").read_bytes())
    folder = Path(gguf.language_model(str(first)))
    assert folder.parent == cache
    made = (folder / "model.safetensors").stat().st_mtime_ns
    first.rename(tmp_path / "moved.gguf")
    assert gguf.language_model(str(tmp_path / "moved.gguf")) == str(folder)
    assert (folder / "model.safetensors").stat().st_mtime_ns == made
    other = write_gguf(source, [source / "texts.txt"], first, quantized=True)
    assert gguf.language_model(other) != str(folder)


def test_of_several_at_once_one_converts(source: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    calls: list[Path] = []
    waiting = threading.Event()

    def convert(path: Path, folder: Path) -> None:
        calls.append(folder)
        waiting.wait(1)  # the others come meanwhile
        (folder / "config.json").write_text("{}")

    monkeypatch.setattr(gguf, "_convert", convert)
    threads = [threading.Thread(target=gguf.language_model, args=(str(source / "model.gguf"),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert [path.name for path in cache.glob("*/*")] == ["config.json"]


def test_what_cannot_be_read_is_named_with_its_cure(source: Path, tmp_path: Path, cache: Path) -> None:
    whole = (source / "model.gguf").read_bytes()
    path = tmp_path / "model.gguf"
    for content, word in ((b"", "not a GGUF file"), (b"PK\3\4" + whole, "not a GGUF file"),
                          (whole[:100], "cannot be read"), (whole[: len(whole) - 5000], "cannot be read"),
                          (whole.replace(b"llama", b"llamo"), "cannot be read")):  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=rf"model\.gguf: .*{word}(.|\n)*give a whole GGUF file"):
            gguf.language_model(str(path))
    with pytest.raises(ConfigError, match=r"none\.gguf: cannot be read \(No such file"):
        gguf.language_model(str(tmp_path / "none.gguf"))
    assert list(cache.iterdir()) == []


def test_weights_that_are_missing_are_not_drawn(source: Path, tmp_path: Path) -> None:
    path = write_gguf(source, [source / "texts.txt"], tmp_path / "part.gguf", lacks="1.mlp.down")
    with pytest.raises(ConfigError, match=r"lacks 1 of the model's weights \(layers\.1\.mlp\.down_proj\.weight"):
        gguf.language_model(path)


def test_weights_too_large_for_float16_are_refused(source: Path, tmp_path: Path) -> None:
    from transformers import AutoModel

    model = AutoModel.from_pretrained(source)
    model.layers[0].mlp.up_proj.weight.data[0, 0] = 1e6
    model.save_pretrained(tmp_path / "large")
    path = write_gguf(tmp_path / "large", [source / "texts.txt"], tmp_path / "large.gguf")
    with pytest.raises(ConfigError, match="too large for float16"):
        gguf.language_model(path)


@pytest.mark.parametrize("missing", ["gguf", "accelerate"])
def test_a_missing_package_comes_with_its_extra(source: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=r"(?s)model\.gguf: .*pip install 'plant-plugin\[llm\]'"):
        gguf.language_model(str(source / "model.gguf"))


def test_a_cache_that_cannot_be_written_is_named(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(PlantError, match=r"(?s)language_models: cannot be written.*XDG_CACHE_HOME"):
        gguf.language_model(str(source / "model.gguf"))


def test_presets_are_names_on_the_hub_unless_a_folder_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert language_model("mistral-7b") == "mistralai/Mistral-7B-Instruct-v0.3"
    assert language_model("some/model") == "some/model"
    (tmp_path / "mistral-7b").mkdir()
    assert language_model("mistral-7b") == "mistral-7b"
