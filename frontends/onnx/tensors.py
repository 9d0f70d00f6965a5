"""ONNX tensors as constants, stored in the model or in files beside it."""
import math
import os
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx import SparseTensorProto, TensorProto, numpy_helper

from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import MADE_ELEMENTS, ConstantValue, FileConstant

_DTYPES = {
    code: np.dtype(scalar)
    for code, scalar in (
        (TensorProto.FLOAT, np.float32),
        (TensorProto.DOUBLE, np.float64),
        (TensorProto.FLOAT16, np.float16),
        (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
        (TensorProto.BOOL, np.bool_),
        (TensorProto.INT8, np.int8),
        (TensorProto.INT16, np.int16),
        (TensorProto.INT32, np.int32),
        (TensorProto.INT64, np.int64),
        (TensorProto.UINT8, np.uint8),
        (TensorProto.UINT16, np.uint16),
        (TensorProto.UINT32, np.uint32),
        (TensorProto.UINT64, np.uint64),
        (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
        (TensorProto.FLOAT8E4M3FNUZ, ml_dtypes.float8_e4m3fnuz),
        (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2),
        (TensorProto.FLOAT8E5M2FNUZ, ml_dtypes.float8_e5m2fnuz),
        (TensorProto.FLOAT8E8M0, ml_dtypes.float8_e8m0fnu),
    )
}
# several elements to a byte in files
_PACKED = {
    getattr(TensorProto, name): np.dtype(scalar)
    for name, scalar in (
        ("INT4", ml_dtypes.int4),
        ("UINT4", ml_dtypes.uint4),
        ("INT2", ml_dtypes.int2),
        ("UINT2", ml_dtypes.uint2),
        ("FLOAT4E2M1", ml_dtypes.float4_e2m1fn),
        ("FLOAT6E2M3", ml_dtypes.float6_e2m3fn),
        ("FLOAT6E3M2", ml_dtypes.float6_e3m2fn),
    )
    if name in TensorProto.DataType.keys()  # newer than the oldest onnx that is supported
}
FIXED_SIZES = dict(_DTYPES)    # the types whose elements are whole bytes
_DTYPES |= _PACKED
_CODES = {dtype: code for code, dtype in _DTYPES.items()}


def dtype_of(code: int) -> np.dtype:
    """The numpy dtype of an ONNX element type. Refused if it is not supported, Malformed if there is no such type."""
    if code in _DTYPES:
        return _DTYPES[code]
    if code == TensorProto.UNDEFINED:
        raise Malformed("it has no element type")
    if code not in TensorProto.DataType.values():
        raise Malformed(f"its element type {code} does not exist")
    raise Refused(f"element type {TensorProto.DataType.Name(code).lower()} is not supported")


def code_of(dtype: np.dtype) -> int:
    """The ONNX element type of a numpy dtype."""
    return _CODES[np.dtype(dtype)]


def constant(tensor: TensorProto, name: str, file: Path | None) -> ConstantValue:
    """The tensor as a constant. External data is not read yet; its files lie beside the model's ``file`` (None: unknown)."""
    dtype, shape = dtype_of(tensor.data_type), tuple(tensor.dims)
    if any(size < 0 for size in shape):
        raise Malformed(f"its shape {list(shape)} has a negative size")
    if tensor.HasField("segment"):
        raise Refused("it is stored in segments")
    if tensor.data_type in _PACKED:
        return ConstantValue(name, _unpacked(tensor, name, dtype, shape, file))
    if tensor.data_location == TensorProto.EXTERNAL:
        return _external(tensor, name, dtype, shape, file)
    count = math.prod(shape)
    if tensor.HasField("raw_data"):
        data = tensor.raw_data
        if len(data) != count * dtype.itemsize:
            raise Malformed(f"it has {len(data)} bytes of data, but {list(shape)} of {dtype} takes {count * dtype.itemsize}")
        stored = dtype if dtype.itemsize == 1 else dtype.newbyteorder("<")
        return ConstantValue(name, np.frombuffer(data, stored).astype(dtype, copy=False).reshape(shape))
    if dtype == np.bool_:     # numpy_helper looks at 8 bits of each number
        values = np.array(tensor.int32_data, np.int32) != 0
        if values.size != count:
            raise Malformed(f"it has {values.size} elements, but its shape {list(shape)} has {count}")
        return ConstantValue(name, values.reshape(shape))
    stored = len(getattr(tensor, onnx.helper.tensor_dtype_to_field(tensor.data_type)))
    if stored != count:
        raise Malformed(f"it has {stored} elements, but its shape {list(shape)} has {count}")
    return ConstantValue(name, numpy_helper.to_array(tensor))


def sparse_constant(sparse: SparseTensorProto, name: str, file: Path | None) -> ConstantValue:
    """The sparse tensor as a dense constant."""
    shape = tuple(sparse.dims)
    values, indices = constant(sparse.values, name, file).array, constant(sparse.indices, name, file).array
    if any(size < 0 for size in shape):
        raise Malformed(f"its shape {list(shape)} has a negative size")
    if math.prod(shape) > MADE_ELEMENTS:
        raise Refused(f"it is sparse, and dense it would have {math.prod(shape)} elements: up to {MADE_ELEMENTS} are supported")
    if indices.dtype != np.int64 or values.ndim != 1 or indices.shape not in ((values.size,), (values.size, len(shape))):
        raise Malformed(f"it is sparse, of {values.dtype}{list(values.shape)} at the indices {indices.dtype}{list(indices.shape)}: "
                        f"expected a vector of values, and as many places of int64, numbers or rows of {len(shape)}")
    rows = indices if indices.ndim == 2 else indices[:, None]
    if ((rows < 0) | (rows >= (np.array(shape, np.int64) if indices.ndim == 2 else math.prod(shape)))).any():
        raise Malformed(f"it is sparse, and has an index outside of its shape {list(shape)}")
    dense = np.zeros(shape, values.dtype)
    if indices.ndim == 2:
        dense[tuple(indices.T)] = values
    else:
        dense.reshape(-1)[indices] = values
    return ConstantValue(name, dense)


def _unpacked(tensor: TensorProto, name: str, dtype: np.dtype, shape: tuple[int, ...], file: Path | None) -> np.ndarray:
    """Elements of fewer than 8 bits, one after the other from the lowest bits on."""
    bits = (ml_dtypes.iinfo if "int" in dtype.name else ml_dtypes.finfo)(dtype).bits
    count, size = math.prod(shape), -(-math.prod(shape) * bits // 8)
    if tensor.data_location == TensorProto.EXTERNAL:
        data = _external(tensor, name, np.dtype(np.uint8), (size,), file).array
    elif tensor.HasField("raw_data"):
        data = np.frombuffer(tensor.raw_data, np.uint8)
    else:
        data = np.array(tensor.int32_data, np.int32).astype(np.uint8)
        if bits == 6 and data.size == count:  # one element in each number
            return (data & 63).view(dtype).reshape(shape)
    if data.size != size:
        raise Malformed(f"it has {data.size} bytes of data, but {list(shape)} of {dtype} takes {size}")
    if bits == 6:
        places = np.unpackbits(data, bitorder="little")[: count * bits].reshape(count, bits)
        return np.packbits(places, axis=1, bitorder="little").view(dtype).reshape(shape)
    codes = (data[:, None] >> np.arange(0, 8, bits, dtype=np.uint8)).reshape(-1)[:count] & np.uint8((1 << bits) - 1)
    return codes.view(dtype).reshape(shape)


def _external(tensor: TensorProto, name: str, dtype: np.dtype, shape: tuple[int, ...], file: Path | None) -> ConstantValue:
    entries: dict[str, str] = {}
    for entry in tensor.external_data:
        if entries.setdefault(entry.key, entry.value) != entry.value:
            raise Malformed(f"its external data has two values for '{entry.key}': '{entries[entry.key]}' and '{entry.value}'")
    location = entries.get("location", "")
    if not location:
        raise Malformed("its data is external, but no location says where")
    if "\0" in location:
        raise Malformed(f"its external data lies in {location!r}, which no file can be called")
    if file is None:
        raise Malformed(f"its data lies in the file '{location}', but the model came without a folder: give from_onnx its path")
    if os.path.isabs(location) or Path(os.path.normpath(location)).parts[:1] == ("..",):
        raise Malformed(f"its data lies in '{location}', outside the model's folder")
    path = _inside(file, location)
    try:
        offset, length = (int(entries.get(key, 0)) for key in ("offset", "length"))     # a length of 0 is that of the tensor
    except ValueError:
        given = next(f"the {key} '{entries[key]}'" for key in ("offset", "length") if not entries.get(key, "0").isdecimal())
        raise Malformed(f"{given} of its external data is no number") from None
    if not path.is_file():
        raise Malformed(f"its data lies in {path}, which is {'no file' if path.exists() else 'not there'}")
    wanted, available = math.prod(shape) * dtype.itemsize, os.path.getsize(path)
    if length not in (0, wanted):
        raise Malformed(f"its external data has {length} bytes, but {list(shape)} of {dtype} takes {wanted}")
    if offset < 0 or offset + wanted > available:
        raise Malformed(f"its data would be bytes {offset} to {offset + wanted} of {path}, which has {available}")
    return FileConstant(name, path, offset, dtype, shape)


def _inside(model: Path, location: str) -> Path:
    """The real path of external data. It lies under the folder of the model's file, or under that of the file which this is a link to, as
    in a download cache that links both to one folder. Malformed for a link to another place."""
    path = (model.parent / location).resolve()
    if not any(path.is_relative_to(folder) for folder in (model.parent.resolve(), model.resolve().parent)):
        raise Malformed(f"its data lies in '{location}', a link to {path}, outside the model's folder")
    return path
