from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from made_up_tokenizer import make_tokenizer

from plant_plugin.config.options import RelevanceOptions
from plant_plugin.data.subword_tokens import SubwordTokens
from plant_plugin.data.token_arrays import WHOLE_DOCUMENT
from plant_plugin.errors import ConfigError
from plant_plugin.relevance.mutual_information import compute_relevance


def test_subwords(local_model: Path) -> None:
    tokens = SubwordTokens(local_model)
    arrays = tokens.encode(["the cat the dog", "", "fish"], max_length=5)
    assert arrays.ids.tolist() == [2, 4, 5, 4, 3, 2, 3, 2, 1, 3]
    assert arrays.lengths.tolist() == [5, 2, 3]
    assert (arrays.unknown_only, arrays.truncated) == (2, 1)
    assert tokens.encode(["the cat the", "the cat the dog"], WHOLE_DOCUMENT).truncated == 0
    assert (tokens.size, tokens.pad_id, tokens.token(5)) == (8, 0, "cat")
    assert tokens.special_ids == (0, 1, 2, 3)
    plain = SubwordTokens(local_model, add_special_tokens=False)
    assert plain.encode(["the cat the dog", ""], 3).ids.tolist() == [4, 5, 4]
    assert plain.hash() != tokens.hash()
    assert tokens.hash() == SubwordTokens(local_model).hash()  # also after encoding


def test_a_tokenizer_that_leaves_ids_out_has_room_for_the_highest(tmp_path: Path) -> None:
    """Compiled loops count by id: one above the size wrote elsewhere in memory, and the process ended."""
    folder = make_tokenizer(tmp_path / "m", pad_token="[PAD]", unk_token="[UNK]")
    definition = json.loads((folder / "tokenizer.json").read_text())
    definition["model"]["vocab"]["dog"] = 50_000_000
    (folder / "tokenizer.json").write_text(json.dumps(definition))
    tokens = SubwordTokens(folder)
    assert tokens.size == 50_000_001
    arrays = tokens.encode(["dog cat", "cat", "dog"], 9)
    labels = sp.csr_array(np.array([[1], [0], [1]], np.float32))
    relevance = compute_relevance(arrays, labels, tokens.size, tokens.special_ids, RelevanceOptions()).matrix
    assert 50_000_000 in relevance.indices


def test_tokenizer_without_padding_token_uses_end_of_text(tmp_path: Path) -> None:
    tokens = SubwordTokens(make_tokenizer(tmp_path / "m", unk_token="[UNK]", eos_token="[SEP]", cls_token="[CLS]"))
    assert tokens.pad_id == 3
    assert tokens.special_ids == (1, 2, 3)
    assert tokens.encode(["cat"], 9).lengths.tolist() == [3]


def test_tokenizer_without_padding_and_end(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="neither a padding nor an end-of-text"):
        SubwordTokens(make_tokenizer(tmp_path / "m", unk_token="[UNK]"))


def test_lm_weight_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no tokenizer could be loaded") as caught:
        SubwordTokens(tmp_path, local_only=True)
    assert f"lm_weight: {tmp_path}" in str(caught.value)


def test_places_of_subwords_in_the_text(local_model: Path) -> None:
    assert SubwordTokens(local_model).spans("the cat", 9) == [(0, 0), (0, 3), (4, 7), (0, 0)]
