"""The safetensors format: a JSON header with the offset of each tensor, then the bytes.

The safetensors package is not used because it copies: reading here gives offsets to map, and writing streams one tensor after the other.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np

from legato.core.errors import LegatoError

_CODES = {
    "F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32, "F64": np.float64, "BOOL": np.bool_,
    "I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64, "U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64,
    "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2, "F8_E8M0": ml_dtypes.float8_e8m0fnu,
    # the format has no name for these, or packs them; here each element is a byte, as in ml_dtypes
    **{name.upper(): getattr(ml_dtypes, name) for name in (
        "float8_e4m3fnuz", "float8_e5m2fnuz", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "int4", "int2", "uint4", "uint2")},
}  # fmt: skip
_CODE_OF = {np.dtype(scalar): code for code, scalar in _CODES.items()}


class TensorEntry(NamedTuple):
    """One tensor of a file: byte offset from the start of the file, dtype, shape."""

    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]


def check_dtype(name: str, dtype: np.dtype) -> None:
    """LegatoError if a tensor of that dtype cannot be stored."""
    if dtype not in _CODE_OF:
        raise LegatoError(f"weight '{name}' has the element type {dtype}, which is not one of: {', '.join(map(str, _CODE_OF))}")


def read_header(path: str | Path) -> dict[str, TensorEntry]:
    """The tensors of a file by name. LegatoError if it is not safetensors, is truncated, or its header contradicts its size."""
    size = os.path.getsize(path)
    header, length = _header(path, size)
    entries = {}
    for name, fields in header.items():
        if name == "__metadata__":
            continue
        try:
            begin, end = fields["data_offsets"]
            entry = TensorEntry(8 + length + begin, np.dtype(_CODES[fields["dtype"]]), tuple(fields["shape"]))
        except (KeyError, TypeError, ValueError) as error:
            raise LegatoError(f"{path}: cannot read the description of tensor '{name}': {fields}") from error
        needed = int(np.prod(entry.shape, dtype=np.int64)) * entry.dtype.itemsize
        if end - begin != needed:
            described = f"{fields['dtype']}{list(entry.shape)}"
            raise LegatoError(f"{path}: tensor '{name}' of {described} needs {needed} bytes, but has {end - begin}")
        if 8 + length + end > size:
            raise LegatoError(f"{path} is cut short: tensor '{name}' ends at byte {8 + length + end}, the file has {size}")
        entries[name] = entry
    return entries


def read_metadata(path: str | Path) -> dict[str, str]:
    """The metadata of a file, empty if it has none. LegatoError if it is not safetensors."""
    metadata = _header(path, os.path.getsize(path))[0].get("__metadata__")
    return metadata if isinstance(metadata, dict) else {}


def _header(path: str | Path, size: int) -> tuple[dict, int]:
    """The JSON at the start of a file of ``size`` bytes, and its length."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > size - 8:
            raise LegatoError(f"{path} is not a safetensors file, or is cut short: its header takes {length} bytes, the file has {size}")
        try:
            header = json.loads(file.read(length))
        except ValueError as error:
            raise LegatoError(f"{path} is not a safetensors file: its header is not JSON ({error})") from error
    if not isinstance(header, dict):
        raise LegatoError(f"{path} is not a safetensors file: its header is {type(header).__name__}, not an object")
    return header, length


def write(path: str | Path, tensors: Mapping[str, np.ndarray], keys: Iterable[str] | None = None,
          metadata: Mapping[str, str] | None = None) -> None:
    """Writes the tensors (``keys``: only these), one in memory at a time. ``metadata``: texts for the header.

    An existing file is replaced only once the new one is complete, so it may be memory-mapped meanwhile.
    """
    header: dict = {"__metadata__": dict(metadata)} if metadata else {}
    end, order = 0, sorted(tensors if keys is None else keys)
    for key in order:
        array = tensors[key]
        header[key] = {"dtype": _CODE_OF[array.dtype], "shape": list(array.shape), "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)  # align the data to 64 bytes
    temporary = Path(f"{path}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for key in order:
                file.write(np.asarray(tensors[key], order="C").view(np.uint8).data if tensors[key].ndim else tensors[key].tobytes())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
