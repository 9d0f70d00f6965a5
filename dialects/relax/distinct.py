"""The distinct elements of a tensor, built from other relax ops."""
import numpy as np

from legato.core import dtypes
from legato.core.errors import InferenceError
from legato.core.mlir import ir
from legato.dialects.relax import dims
from legato.dialects.relax.dialect import Relax
from legato.dialects.relax.ops.constant import constant


def distinct(x: ir.Value, equal_nan: bool = True) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    """For a vector: its distinct elements in ascending order, the index of the first occurrence of each, for each element of ``x`` the
    number of its distinct element, and the count of each. Their size is a new symbol (0 of no elements); indices are int64. NaN are behind
    all numbers; ``equal_nan``: they are one element, as in numpy, else each is one of its own, as in PyTorch.
    InferenceError if ``x`` is no vector."""
    ops = Relax.OPS
    sizes = dims.dims(x.type)
    if len(sizes) != 1:
        raise InferenceError(f"distinct elements are found of vectors, not of {x.type}")
    if sizes[0] == 0:
        nothing = constant(np.zeros(0, np.int64))
        return x, nothing, nothing, nothing
    n, zero = sizes[0], constant(np.int64(0))
    element = dtypes.numpy_dtype(x.type.element_type)
    number = ops["astype"].build(x, dtype="i8") if element == np.bool_ else x
    places = ops["topk"].build(number, k=n, axis=0, largest=False)
    ordered = ops["take"].build(number, places, axis=0)
    ones = ops["broadcast_to"].build(constant(np.int64(1)), shape=[n])
    index = ops["cumsum"].build(ones, axis=0, exclusive=True)
    before = ops["take"].build(ordered, ops["maximum"].build(ops["subtract"].build(index, constant(np.int64(1))), zero), axis=0)
    differs = ops["not_equal"].build(ordered, before)
    if equal_nan and dtypes.kind(element) == "float":
        differs = ops["logical_and"].build(differs, ops["logical_not"].build(ops["isnan"].build(before)))
    begins = ops["logical_or"].build(ops["equal"].build(index, zero), differs)
    starts = ops["nonzero"].build(begins)
    count = dims.dims(starts.type)[1]
    starts = ops["reshape"].build(starts, shape=[count])
    group = ops["subtract"].build(ops["cumsum"].build(ops["astype"].build(begins, dtype="i64"), axis=0), constant(np.int64(1)))
    none = ops["broadcast_to"].build(zero, shape=[count])
    return (ops["take"].build(x, ops["take"].build(places, starts, axis=0), axis=0), ops["take"].build(places, starts, axis=0),
            ops["scatter_elements"].build(group, places, group, axis=0),
            ops["scatter_elements"].build(none, group, ones, axis=0, reduction="add"))
