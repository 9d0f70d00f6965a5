"""Weights inside the text of IR, as an attribute of the module, so that the text alone can be piped or mailed."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from legato.core import dtypes
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.core.weights import WeightStore
from legato.dialects.relax.markers import INLINE_WEIGHTS

if TYPE_CHECKING:
    from legato.dialects.module import Module


@contextmanager
def inlined_weights(module: Module) -> Iterator[None]:
    """Context in which the module has its weights as an attribute. MLIR frees attributes with the context: for small models."""
    with module.context, ir.Location.unknown():
        values = {key: dtypes.dense_attribute(module.weights[key]) for key in module.weights}
        if values:
            module.operation.attributes[INLINE_WEIGHTS] = ir.DictAttr.get(values)
    try:
        yield
    finally:
        if values:
            del module.operation.attributes[INLINE_WEIGHTS]


def take_inline_weights(operation: ir.Operation, weights: WeightStore | None) -> WeightStore | None:
    """Removes the attribute of a module. Returns the weights in it, added to a copy of ``weights``; ``weights`` if there is none.
    LegatoError for a key that ``weights`` has already, and for an attribute that holds no arrays."""
    if INLINE_WEIGHTS not in operation.attributes:
        return weights
    store = weights.copy() if weights is not None else WeightStore()
    attribute = operation.attributes[INLINE_WEIGHTS]
    if not isinstance(attribute, ir.DictAttr):
        raise LegatoError(f"{INLINE_WEIGHTS} must be a dictionary of dense arrays by key, is {attribute}")
    for named in attribute:
        if not isinstance(named.attr, ir.DenseElementsAttr):
            elided = ": it was left out when the IR was printed" if "__elided__" in str(named.attr) else ""
            raise LegatoError(f"{INLINE_WEIGHTS}: the weight '{named.name}' must be a dense array, is {named.attr}{elided}")
        try:
            store.adopt(named.name, dtypes.array_of(named.attr))
        except LegatoError as error:
            raise LegatoError(f"{INLINE_WEIGHTS}: the weight '{named.name}': {error}") from error
    del operation.attributes[INLINE_WEIGHTS]
    return store
