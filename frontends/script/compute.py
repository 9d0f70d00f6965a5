"""Kernels as expressions of their elements, after TVM's te: ``compute((n, m), lambda i, j: sum(A[i, k] * B[k, j], axis=k))``.

    A, B = tir.placeholder((128, 64)), tir.placeholder((64, 32))
    k = tir.reduce_axis(64)
    C = tir.compute((128, 32), lambda i, j: tir.sum(A[i, k] * B[k, j], axis=k), name="C")
    kernel = tir.create_prim_func([A, B, C])

The kernel is the loops and blocks that one would write by hand, with the same schedules.
"""

import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from legato.core.errors import LegatoError
from legato.core.ir_helpers import present
from legato.core.mlir import bufferization, func, ir
from legato.dialects import Module, tir
from legato.dialects.relax import dims
from legato.dialects.tir.loops import REDUCE, SPATIAL, before_end, loop, make_block, make_buffer
from legato.dialects.tir.markers import NAMES, SIGNATURE
from legato.dialects.tir.state import WRITTEN, set_state
from legato.frontends.script.functions import module_of_kernel, text_of_kernel
from legato.frontends.script.kernel import arithmetic
from legato.frontends.script.kernel.buffers import DYNAMIC, Buffer
from legato.frontends.script.kernel.intrinsics import ScalarFunction, lowest
from legato.frontends.script.kernel.values import Scalar, as_index, constant
from legato.frontends.script.kernel.vocabulary import FUNCTIONS
from legato.frontends.script.language.functions import KERNEL, Function
from legato.frontends.script.language.types import DTYPES, dtype_name, memory_type, relax_element, sizes_of
from legato.frontends.script.language.words import NAMES_OF_SIZES


class Expr:
    """An expression of elements and axes. ``build`` makes IR of it when a kernel is built."""

    def __init__(self, build: Callable[["_Builder"], Any]):
        self.build = build


def _binary(op: str, swapped: bool = False) -> Callable[[Expr, Any], Expr]:
    def method(self: Expr, other: Any) -> Expr:
        a, b = (other, self) if swapped else (self, other)
        return Expr(lambda builder: arithmetic.binary(op, builder(a), builder(b)))

    return method


for _op, _name in (("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "truediv"), ("//", "floordiv"), ("%", "mod"), ("<<", "lshift"),
                   (">>", "rshift"), ("&", "and"), ("|", "or"), ("^", "xor")):
    setattr(Expr, f"__{_name}__", _binary(_op))
    setattr(Expr, f"__r{_name}__", _binary(_op, swapped=True))
for _op, _name in (("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge")):
    setattr(Expr, f"__{_name}__", _binary(_op))
Expr.__neg__ = lambda self: Expr(lambda builder: arithmetic.negate(builder(self)))
Expr.equal = _binary("==")
Expr.not_equal = _binary("!=")


class ReduceAxis(Expr):
    """An axis that a sum, a maximum or the like runs over: ``k = reduce_axis(64)``."""

    def __init__(self, extent: Any, name: str = "k"):
        super().__init__(lambda builder: builder.axes[self])
        self.extent = extent[1] if isinstance(extent, tuple) else extent
        self.name = name


@dataclass(eq=False)
class Reduction:
    """A reduction over axes, made by ``sum`` and the like: the whole body of a compute."""

    combiner: str
    body: Any
    axes: tuple[ReduceAxis, ...]


class Tensor:
    """A tensor of a computation: a placeholder, or the result of ``compute``. ``T[i, j]`` is an element."""

    def __init__(self, shape: Any, dtype: str, name: str, body: Any = None, axes: Sequence[str] = ()):
        self.shape, self.dtype, self.name = sizes_of(shape), dtype_name(dtype), name
        self.body, self.axes = body, tuple(axes)

    def __getitem__(self, indices: Any) -> Expr:
        indices = indices if isinstance(indices, tuple) else (indices,)
        return Expr(lambda builder: builder.buffers[self].load([builder(i) for i in indices]))


def placeholder(shape: Any, dtype: str = "float32", name: str = "A") -> Tensor:
    """An input."""
    return Tensor(shape, dtype, name)


def reduce_axis(extent: Any, name: str = "k") -> ReduceAxis:
    """An axis of ``extent`` values, from 0 on (``(0, extent)`` says the same)."""
    return ReduceAxis(extent, name)


def _reduction(combiner: str) -> Callable[..., Reduction]:
    def reduce(body: Any, axis: ReduceAxis | Sequence[ReduceAxis]) -> Reduction:
        return Reduction(combiner, body, tuple(axis) if isinstance(axis, (list, tuple)) else (axis,))

    reduce.__doc__ = f"The {'sum' if combiner == '+' else 'product' if combiner == '*' else combiner} of ``body`` over reduce axes."
    return reduce


sum, product, max_over, min_over = (_reduction(c) for c in ("+", "*", "max", "min"))


def apply(name: str, *arguments: Any) -> Expr:
    """A function of the script on expressions: ``apply("exp", A[i])``."""
    entry = FUNCTIONS.get(name)
    if not isinstance(entry, ScalarFunction):
        raise LegatoError(f"there is no function T.{name}")
    return Expr(lambda builder: entry.build(*(builder(a) for a in arguments)))


REDUCTIONS = {"sum": sum, "prod": product, "product": product, "max": max_over, "min": min_over}
_unnamed = itertools.count()


def call_word(word: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any] | None:
    """``T.<word>(...)`` called by Python outside of a script: a reduction, as ``T.max(A[i, k], axis=k)``, a function of elements, as
    ``T.max(A[i], 0.0)``, or a size symbol, ``T.var("n", "int64")``. None for anything else."""
    if word in NAMES_OF_SIZES:
        return (size_symbol(*arguments, **keywords),)
    axis = keywords.get("axis", arguments[1] if len(arguments) == 2 else None)
    if word in REDUCTIONS and arguments and _are_axes(axis):
        return (REDUCTIONS[word](arguments[0], axis),)
    if keywords or not isinstance(FUNCTIONS.get(word), ScalarFunction) or not any(isinstance(a, (Expr, dims.Dim)) for a in arguments):
        return None
    return (apply(word, *arguments),)


def _are_axes(axis: Any) -> bool:
    return isinstance(axis, ReduceAxis) or (isinstance(axis, (list, tuple)) and len(axis) > 0 and all(map(_are_axes, axis)))


def size_symbol(name: str = "int64", dtype: str = "int64") -> dims.Dim:
    """A size that is known when the kernel is called, for shapes and extents. Without a name it is one of its own."""
    name, dtype = (f"size_{next(_unnamed)}", name) if name in DTYPES else (name, dtype)
    if not isinstance(name, str):
        raise LegatoError(f"a size symbol has a name: T.var(\"n\", \"int64\"), not {name!r}")
    if not dtype_name(dtype).startswith(("int", "uint")):
        raise LegatoError(f"the size symbol '{name}' is an integer: T.var(\"{name}\", \"int64\"), not {dtype_name(dtype)}")
    return dims.symbol(dims.symbol_name(name))


def compute(shape: Any, function: Callable[..., Any], name: str = "compute", dtype: str | None = None) -> Tensor:
    """The tensor whose element at ``i, j, ...`` is ``function(i, j, ...)``: an expression, or a reduction of one.

    ``dtype``: of the elements (default: float32).
    """
    axes = list(inspect.signature(function).parameters)
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    if len(axes) != len(shape):
        raise LegatoError(f"compute '{name}': {len(shape)} sizes, and a function of {len(axes)} indices")
    variables = [Expr(lambda builder, n=n: builder.spatial[n]) for n in range(len(axes))]
    return Tensor(shape, dtype or "float32", name, function(*variables), axes)


def create_prim_func(tensors: Sequence[Tensor], name: str = "kernel") -> "Computed":
    """The kernel that computes the last tensors, those that ``compute`` gave, from the placeholders in front of them."""
    return Computed(list(tensors), name)


class Computed(Function):
    """A kernel made by ``create_prim_func``; it is used like one written as a function."""

    def __init__(self, tensors: list[Tensor], name: str):
        super().__init__(name, KERNEL)
        self.tensors = tensors
        outputs = [t for t in tensors if t.body is not None]
        if not outputs or tensors[len(tensors) - len(outputs):] != outputs:
            raise LegatoError(f"the kernel '{name}' takes placeholders, then what is computed from them")
        self.outputs = outputs

    def module(self, context: ir.Context | None = None) -> Module:
        """A new module with the kernel and a graph ``main`` that calls it."""
        return module_of_kernel(self, context)

    def text_for(self, types: Sequence[ir.Type]) -> str:
        """The kernel as MLIR text, for arguments of these types: what a rule's ``op.call_prim_func(kernel)`` takes."""
        return text_of_kernel(self, types)

    def build(self, module: ir.Module, name: str | None = None, symbols: ir.SymbolTable | None = None,
              sizes: Mapping[str, int] | None = None) -> func.FuncOp:
        """Adds the kernel to ``module`` as a prim_func. ``sizes``: the values of size symbols that are known."""
        shapes = {t: tuple(s if isinstance(s, int) else dims.substitute(s, sizes or {}) for s in t.shape) for t in self.order()}
        types = [dims.tensor_type(shapes[t], relax_element(t.dtype)) for t in self.tensors]
        count = len(self.tensors) - len(self.outputs)

        def body(ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
            builder = _Builder(shapes)
            for tensor, value in zip(self.tensors, [*ins, *outs]):
                made = bufferization.ToBufferOp(memref_type(shapes[tensor], tensor.dtype), value).result
                builder.buffers[tensor] = Buffer(made, tensor.dtype, tensor.name)
            builder.name_sizes(self.tensors)
            for tensor in self.order():
                if tensor.body is not None:
                    builder.tensor(tensor)
            return [bufferization.ToTensorOp(o.type, builder.buffers[t].value, restrict=True, writable=True).result
                    for t, o in zip(self.outputs, outs)]

        kernel = tir.prim_func(module, name or self.__name__, types[:count], types[count:], body, symbols=symbols)
        set_state(kernel, WRITTEN)
        kernel.attributes[SIGNATURE] = ir.TypeAttr.get(ir.FunctionType.get(types, types[count:]))
        kernel.attributes[NAMES] = ir.ArrayAttr.get([ir.StringAttr.get(t.name) for t in self.tensors])
        return kernel

    def order(self) -> list[Tensor]:
        """All tensors in an order in which they can be computed."""
        found: list[Tensor] = []

        def visit(tensor: Tensor) -> None:
            if tensor in found:
                return
            for other in reads_of(tensor):
                visit(other)
            found.append(tensor)

        for tensor in self.tensors:
            visit(tensor)
        return found


def reads_of(tensor: Tensor) -> list[Tensor]:
    """The tensors that a computed one reads, found in the closures of its expression."""
    found: dict[Tensor, None] = {}

    def visit(x: Any) -> None:
        if isinstance(x, Tensor):
            found[x] = None
        elif isinstance(x, Reduction):
            visit(x.body)
        elif isinstance(x, Expr):
            for cell in x.build.__closure__ or ():
                if cell.cell_contents is not x:
                    visit(cell.cell_contents)
            for default in x.build.__defaults__ or ():
                visit(default)
        elif isinstance(x, (tuple, list)):
            for one in x:
                visit(one)

    visit(tensor.body)
    return list(found)


def memref_type(shape: tuple[Any, ...], dtype: str) -> ir.MemRefType:
    """The memref type of a tensor of ``shape``; sizes that are no ints are dynamic."""
    return ir.MemRefType.get([s if isinstance(s, int) else DYNAMIC for s in shape], memory_type(dtype))


class _Builder:
    """Builds computed tensors as loops and blocks at the insertion point."""

    def __init__(self, shapes: dict[Tensor, tuple[Any, ...]]):
        self.shapes = shapes
        self.buffers: dict[Tensor, Buffer] = {}
        self.sizes: dict[str, ir.Value] = {}
        self.spatial: list[Scalar] = []
        self.axes: dict[ReduceAxis, Scalar] = {}

    def __call__(self, x: Any) -> Any:
        if isinstance(x, dims.Dim):
            return Scalar(self.extent(x), "index")
        return x.build(self) if isinstance(x, Expr) else x

    def name_sizes(self, tensors: list[Tensor]) -> None:
        """The values of the sizes that are symbols, from the buffers of parameters."""
        for tensor in tensors:
            for axis, size in enumerate(self.shapes[tensor]):
                if isinstance(size, dims.Dim) and size.is_symbol:
                    self.sizes.setdefault(str(size), as_index(self.buffers[tensor].size(axis)))

    def extent(self, size: Any) -> ir.Value:
        """A size as an SSA value of type index."""
        return as_index(size) if isinstance(size, int) else dims.materialize(dims.as_size(size), self.sizes)

    def tensor(self, tensor: Tensor) -> None:
        """Builds the loops that compute a tensor; allocates it unless it is a parameter."""
        shape = self.shapes[tensor]
        if tensor not in self.buffers:
            dynamic = [self.extent(s) for s in shape if not isinstance(s, int)]
            made = make_buffer(memref_type(shape, tensor.dtype), tensor.name, "global", dynamic)
            self.buffers[tensor] = Buffer(made, tensor.dtype, tensor.name)
        reduction = tensor.body if isinstance(tensor.body, Reduction) else None
        reduced = reduction.axes if reduction else ()
        names = [*tensor.axes, *(a.name for a in reduced)]
        extents = [*shape, *(dims.as_size(a.extent) for a in reduced)]
        self.nest(tensor, reduction, list(zip(names, extents)), [])

    def nest(self, tensor: Tensor, reduction: Reduction | None, left: list[tuple[str, Any]], variables: list[ir.Value]) -> None:
        """Builds the loops of ``left``, names and extents, and in them the block that computes an element."""
        if left:
            name, extent = left[0]
            with loop(as_index(0), self.extent(extent), name=name) as made:
                self.nest(tensor, reduction, left[1:], [*variables, made.variable])
            return
        rank = len(tensor.axes)
        reduced = reduction.axes if reduction else ()
        names = [f"v_{n}" for n in tensor.axes] + [f"v_{a.name}" for a in reduced]
        known = [s if isinstance(s, int) else None for s in (*self.shapes[tensor], *(dims.as_size(a.extent) for a in reduced))]
        block = make_block(tensor.name, names, [SPATIAL] * rank + [REDUCE] * len(reduced), known, variables, init=reduction is not None)
        buffer = self.buffers[tensor]
        if block.init_block is not None:
            with before_end(block.init_block):
                places = [Scalar(v, "index") for v in list(block.init_block.arguments)[:rank]]
                buffer.store(neutral(present(reduction).combiner, tensor.dtype), places)
        with before_end(block.block):
            arguments = [Scalar(v, "index") for v in block.block.arguments]
            self.spatial, self.axes = arguments[:rank], dict(zip(reduced, arguments[rank:]))
            if reduction is None:
                buffer.store(self(tensor.body), self.spatial)
            else:
                before = buffer.load(self.spatial)
                buffer.store(arithmetic.binary(reduction.combiner, before, self(reduction.body)), self.spatial)


def neutral(combiner: str, dtype: str) -> Any:
    """The neutral element of a combiner."""
    if combiner in ("max", "min"):
        return lowest(dtype, high=combiner == "min")
    return constant(0 if combiner == "+" else 1, dtype)
