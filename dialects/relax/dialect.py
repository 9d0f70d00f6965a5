"""The relax dialect and the encoding that names symbolic dimensions."""

from legato.core.emitted_once import emitted_once
from legato.core.mlir import ext, ir


class Relax(ext.Dialect, name="relax"):
    """Graphs of tensor ops with symbolic shapes."""

    @classmethod
    def _emit_module(cls) -> ir.Module:
        return emitted_once(cls, super()._emit_module)


class DimsAttr(Relax.Attribute, name="dims"):
    """``#relax.dims<["n", "n * 4", 768, "?"]>``: each dimension an integer, an expression of symbols, or ``"?"`` for one without a name.

    It is the encoding of tensor types, and the attribute of ops that take a shape.
    """

    dims: ir.ArrayAttr
