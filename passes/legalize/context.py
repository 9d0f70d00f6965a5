"""The context that a legalization rule gets for an op: its attributes, types and operands as Python values, and builders."""
from collections.abc import Sequence
from typing import Any

import numpy as np

from legato.core.errors import LegatoError
from legato.core.interfaces import MachineLike, ScriptKernel
from legato.core.ir_helpers import defining_op
from legato.core.mlir import arith, builtin, func, ir
from legato.dialects import relax, tir
from legato.dialects.relax import dims, origins
from legato.dialects.tir.markers import FLOPS_EACH, STATE, WRITES_ALL
from legato.dialects.tir.state import SCHEDULED

CONSTANT = "relax.constant"


def cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    """``value`` cast between relax's type and the plain one of the same tensor; the casts are removed when all types become plain."""
    return value if value.type == type_ else builtin.unrealized_conversion_cast([type_], [value])


class OpContext:
    """One op for a rewrite rule. ``attrs``: its attributes as Python values; ``input_types``, ``output_types``: its relax types."""

    def __init__(self, op: Any, operands: Sequence[ir.Value], function: func.FuncOp, driver: Any = None):
        self.op, self.name = op, op.operation.name
        self.attrs = relax.attributes_of(op)
        self.operands = list(operands)
        self.input_types = [v.type for v in operands]
        self.output_types = [r.type for r in op.operation.results]
        self._function, self._driver = function, driver
        self.kernel: str | None = None  # the kernel that computes the op, if there is one

    def index(self, dim: Any) -> ir.Value:
        """The run-time value of a dimension (int or symbolic), as an index."""
        if isinstance(dim, int):
            return arith.ConstantOp(ir.IndexType.get(), dim).result
        return dims.materialize(dim, self._driver.symbols_of(self._function))

    def array(self, value: ir.Value) -> np.ndarray | None:
        """The elements of an operand that is a constant, read-only; None for others."""
        op = defining_op(value)
        if op is None or op.name != CONSTANT:
            return None
        return self._driver.weights[op.attributes["weight"].value] if "weight" in op.attributes else op.opview.value

    def sizes(self, type_: ir.Type) -> list[ir.Value]:
        """The index values of a relax type's dynamic dimensions, in order."""
        return [self.index(d) for d, s in zip(dims.dims(type_), dynamic(type_)) if s]

    def plain(self, value: ir.Value) -> ir.Value:
        """``value`` with its plain type."""
        return cast(value, tir.plain_type(value.type))

    @property
    def machine(self) -> MachineLike | None:
        """The target's machine: the device, or None."""
        return self._driver.target.machine

    def call_prim_func(self, text: Any, operands: Sequence[ir.Value] | None = None) -> list[ir.Value]:
        """Calls a kernel written by hand: MLIR text of one prim_func, whose body is not changed, or a script's ``@T.prim_func``.

        ``operands``: by default the op's. Equal texts share one kernel. LegatoError unless the text is a prim_func of these operands and
        of the op's results.
        """
        operands = [self.plain(v) for v in (self.operands if operands is None else operands)]
        outputs = [tir.plain_type(t) for t in self.output_types]
        if not isinstance(text, str):
            if not isinstance(text, ScriptKernel):
                raise LegatoError(f"op.call_prim_func takes the MLIR text of a prim_func or a script's @T.prim_func, found {text!r}; a "
                                  "schedule is given to the rule: @legato.legalize(..., schedule=...)")
            text = text.text_for([*(v.type for v in operands), *outputs])
        kernel = self._driver.kernel_of_text(text, self.name)
        wanted = [*(v.type for v in operands), *outputs]
        if list(kernel.type.inputs) != wanted:
            raise LegatoError(f"the prim_func for {self.name} takes {', '.join(map(str, kernel.type.inputs))}; the operands and outputs "
                              f"are {', '.join(map(str, wanted))}")
        self.kernel = kernel.name.value
        return tir.call_tir(self.kernel, operands, outputs, [self.sizes(t) for t in self.output_types])

    def call_kernel(self, text: str, operands: Sequence[ir.Value], outputs: Sequence[ir.Type], sizes: Sequence[Sequence[ir.Value]],
                    ) -> list[ir.Value]:
        """Calls a kernel given as MLIR text, on fresh outputs of plain types; ``sizes``: of their dynamic dimensions. Equal texts
        share one kernel."""
        kernel = self._driver.kernel_of_text(text, self.name)
        return tir.call_tir(kernel.name.value, [self.plain(v) for v in operands], outputs, sizes)

    def call_built(self, body: tir.KernelBody, operands: Sequence[ir.Value], outputs: Sequence[ir.Type],
                   sizes: Sequence[Sequence[ir.Value]]) -> list[ir.Value]:
        """Calls a kernel that ``body(inputs, outputs)`` builds of tensors, as ``call_kernel`` does one given as text. Equal kernels are
        one."""
        operands = [self.plain(v) for v in operands]
        kernel = self._driver.kernel_of_body(body, self.name, [v.type for v in operands], outputs)
        results = tir.call_tir(kernel.name.value, operands, outputs, sizes)
        origins.mark(results[0].owner, self.op.operation)
        return results

    def call_packed(self, name: str, operands: Sequence[ir.Value] | None = None) -> list[ir.Value]:
        """Calls a packed function of the run time, which writes the op's outputs: ``name(operands..., outputs...)``."""
        if not isinstance(name, str):
            raise LegatoError(f"op.call_packed takes the name of a packed function, found {name!r}")
        operands = [self.plain(v) for v in (self.operands if operands is None else operands)]
        outputs = [tir.plain_type(t) for t in self.output_types]
        self.kernel = self._driver.packed(name, [v.type for v in operands], outputs)
        return tir.call_tir(self.kernel, operands, outputs, [self.sizes(t) for t in self.output_types])

    def moves_values(self, relative: float) -> None:
        """``KernelContext.moves_values``."""
        self._driver.moved = max(self._driver.moved, relative)


class KernelContext:
    """One op for a kernel rule, inside the prim_func."""

    def __init__(self, context: OpContext, scalars: dict[Any, ir.Value]):
        self.op, self.name, self.attrs = context.op, context.name, context.attrs
        self.input_types, self.output_types = context.input_types, context.output_types
        self._context, self._scalars = context, scalars

    @property
    def machine(self) -> MachineLike | None:
        """The target's machine: the device, or None."""
        return self._context.machine

    def is_scheduled(self, flops_each: int) -> None:
        """Says that the kernel is loops as they are to run: no pass fuses or schedules it. ``flops_each``: the arithmetic operations for
        each element of its output."""
        attributes = ir.InsertionPoint.current.block.owner.attributes
        attributes[STATE] = ir.StringAttr.get(SCHEDULED)
        attributes[FLOPS_EACH] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), flops_each)

    def writes_all(self) -> None:
        """Says that the kernel writes every element of its outputs, where that cannot be seen: it writes at computed places, or slices
        whose dynamic sizes add up. Outputs of other kernels whose coverage is not proven are filled with zeros first."""
        block = ir.InsertionPoint.current.block
        block.owner.attributes[WRITES_ALL] = ir.UnitAttr.get()

    def moves_values(self, relative: float) -> None:
        """Says that the kernel moves the values that it reads, of which the largest by this part of themselves: what ``--check-each-pass``
        allows the legalization."""
        self._context.moves_values(relative)

    def index(self, dim: Any) -> ir.Value:
        """The index value of a dimension in the attributes: a constant, or the prim_func's argument for it."""
        return arith.ConstantOp(ir.IndexType.get(), dim).result if isinstance(dim, int) else self._scalars[dim]


def dynamic(type_: ir.Type) -> list[bool]:
    """For each dimension whether it is dynamic."""
    return [type_.is_dynamic_dim(i) for i in range(type_.rank)]


def symbols_in(value: Any) -> list[Any]:
    """The symbolic dimensions in attribute values, without duplicates, in order."""
    found: dict[Any, None] = {}

    def visit(v: Any) -> None:
        if isinstance(v, dict):
            v = list(v.values())
        if isinstance(v, (list, tuple)):
            for item in v:
                visit(item)
        elif isinstance(v, dims.Dim):
            found[v] = None

    visit(value)
    return list(found)
