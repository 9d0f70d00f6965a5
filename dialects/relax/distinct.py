"""The distinct elements of a tensor, built from other relax ops."""
import numpy as np

from legato.core import dtypes
from legato.core.errors import InferenceError
from legato.core.mlir import ir
from legato.dialects.relax import dims
from legato.dialects.relax.dialect import Relax
from legato.dialects.relax.ops.constant import constant


def distinct(x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    """For a vector of static size: its distinct elements in ascending order, the index of the first occurrence of each, for each
    element of ``x`` the number of its distinct element, and the count of each. Their size is a new symbol; indices are int64.
    InferenceError if the size is 0 or not constant."""
    ops = Relax.OPS
    sizes = dims.dims(x.type)
    if len(sizes) != 1 or not isinstance(sizes[0], int) or sizes[0] == 0:
        raise InferenceError(f"distinct elements are found of vectors of known size, 1 or more, not of {x.type}")
    n = sizes[0]
    element = dtypes.numpy_dtype(x.type.element_type)
    number = ops["astype"].build(x, dtype="i8") if element == np.bool_ else x
    places = ops["topk"].build(number, k=n, axis=0, largest=False)
    ordered = ops["take"].build(number, places, axis=0)
    begins = constant(np.ones(1, bool))
    if n > 1:
        behind = ops["strided_slice"].build(ordered, begin=[1], end=[n])
        before = ops["strided_slice"].build(ordered, begin=[0], end=[n - 1])
        begins = ops["concat"].build([begins, ops["not_equal"].build(behind, before)], axis=0)
    starts = ops["nonzero"].build(begins)
    count = dims.dims(starts.type)[1]
    starts = ops["reshape"].build(starts, shape=[count])
    group = ops["subtract"].build(ops["cumsum"].build(ops["astype"].build(begins, dtype="i64"), axis=0), constant(np.int64(1)))
    ends = ops["concat"].build([ops["strided_slice"].build(starts, begin=[1], end=[count]), constant(np.array([n]))], axis=0)
    return (ops["take"].build(x, ops["take"].build(places, starts, axis=0), axis=0), ops["take"].build(places, starts, axis=0),
            ops["scatter_elements"].build(group, places, group, axis=0), ops["subtract"].build(ends, starts))
