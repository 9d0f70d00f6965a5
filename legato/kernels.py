"""Building blocks of kernel rules: structured loops on tensors, arithmetic by element type, and predicates.

``pointwise(k, out, [x, y], lambda e, x, y: e.add(x, y))`` is an elementwise kernel with broadcasting; ``reduce`` a reduction;
``compute`` a loop nest given by index expressions, like TVM's te.compute; ``named`` an op of linalg. The target schedules the kernels.
"""
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element, pointwise, read, stored
from legato.targets.builders.sizes import dims
from legato.targets.builders.structured import (
    accumulated,
    collapse,
    compute,
    copy,
    elementwise,
    empty,
    expand,
    extract,
    filled,
    generic,
    loop_index,
    multiply_add,
    named,
    padded,
    put,
    reduce,
    window,
)
from legato.targets.predicates import attribute, dtype, layout, rank, static_shape

__all__ = [
    "Element", "accumulated", "attribute", "collapse", "compute", "copy", "dims", "dtype", "element", "elementwise", "empty", "expand",
    "extract", "filled", "generic", "layout", "loop_index", "multiply_add", "named", "padded", "pointwise", "put", "rank", "read", "reduce",
    "static_shape", "stored", "window",
]


def __dir__() -> list[str]:
    return __all__
