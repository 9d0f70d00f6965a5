"""Converts text to the three token arrays of the model."""
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from legato.examples.minilm.weights import model_directory

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def load_tokenizer(directory: Path | None = None) -> Tokenizer:
    """The model's WordPiece tokenizer, without the fixed padding in its file: ``encode`` pads to the longest text instead."""
    tokenizer = Tokenizer.from_file(str((directory or model_directory()) / "tokenizer.json"))
    tokenizer.no_padding()
    return tokenizer


def encode(tokenizer: Tokenizer, texts: Sequence[str], length: int | None = None) -> dict[str, np.ndarray]:
    """``texts`` as int64 arrays [batch, seq] by input name, padded at the end to ``length`` tokens, or to the longest text.

    A text longer than that, or than the 128 tokens of the model's training, is truncated.
    """
    tokenizer.enable_padding(length=length)
    if length is not None:
        tokenizer.enable_truncation(max_length=length)
    encodings = tokenizer.encode_batch(list(texts))
    arrays = ([e.ids for e in encodings], [e.attention_mask for e in encodings], [e.type_ids for e in encodings])
    return {name: np.array(rows, np.int64) for name, rows in zip(INPUTS, arrays)}
