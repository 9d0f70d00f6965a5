"""Kernels as expressions of their elements, after TVM's te: ``compute((n, m), lambda i, j: sum(A[i, k] * B[k, j], axis=k))``.

    A, B = tir.placeholder((128, 64)), tir.placeholder((64, 32))
    k = tir.reduce_axis(64)
    C = tir.compute((128, 32), lambda i, j: tir.sum(A[i, k] * B[k, j], axis=k), name="C")
    kernel = tir.create_prim_func([A, B, C])

The kernel is the loops and blocks that one would write by hand, with the same schedules.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from legato.core.errors import LegatoError
from legato.core.ir_helpers import present
from legato.core.mlir import bufferization, func, ir
from legato.dialects import Module, make_context, tir
from legato.dialects.relax import dims
from legato.dialects.tir.loops import REDUCE, SPATIAL, before_end, loop, make_block, make_buffer
from legato.dialects.tir.markers import NAMES, SIGNATURE
from legato.dialects.tir.state import WRITTEN, set_state
from legato.frontends.script.compute_expressions import (
    Expr,
    ReduceAxis,
    Reduction,
    if_then_else,
    number,
    parts_of,
    refusal,
)
from legato.frontends.script.functions import module_of_kernel, text_of_kernel
from legato.frontends.script.kernel import arithmetic
from legato.frontends.script.kernel.buffers import DYNAMIC, Buffer
from legato.frontends.script.kernel.intrinsics import lowest
from legato.frontends.script.kernel.values import Scalar, as_index, constant, dtype_of, without_literals
from legato.frontends.script.language.functions import KERNEL, Function
from legato.frontends.script.language.types import dtype_name, memory_type, relax_element, sizes_of


class Tensor:
    """A tensor of a computation: a placeholder, or the result of ``compute``. ``T[i, j]`` is an element."""

    def __init__(self, shape: Any, dtype: str, name: str, body: Any = None, axes: Sequence[str] = ()):
        self.shape, self.dtype, self.name = sizes_of(shape), dtype_name(dtype), name
        self.body, self.axes = body, tuple(axes)

    def __getitem__(self, indices: Any) -> Expr:
        indices = indices if isinstance(indices, tuple) else (indices,)
        return Expr(lambda builder: builder.buffers[self].load([builder(i) for i in indices]))

    def __call__(self, *indices: Any) -> Expr:
        """``T(i, j)``, the same as ``T[i, j]``."""
        return self[indices]

    def __iter__(self) -> Any:
        raise TypeError(f"the elements of '{self.name}' are read by their indices: {self.name}[i]")


def placeholder(shape: Any, dtype: str = "float32", name: str = "A") -> Tensor:
    """An input."""
    return Tensor(shape, dtype, name)


def compute(shape: Any, function: Callable[..., Any], name: str = "compute", dtype: str | None = None) -> Tensor:
    """The tensor whose element at ``i, j, ...`` is ``function(i, j, ...)``: an expression, or a reduction of one.

    ``dtype``: of the elements (default: the expression's own). LegatoError, at the user's line, for what has no value in a kernel.
    """
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    axes = index_names(function, len(shape))
    if len(axes) != len(shape):
        raise LegatoError(f"compute '{name}': {len(shape)} sizes, and a function of {len(axes)} indices")
    body = function(*(spatial_axis(n) for n in range(len(axes))))
    if (reason := refusal(body)) is not None:
        raise LegatoError(f"compute '{name}': its function {reason}")
    found = trial_dtype(body, len(axes))
    return Tensor(shape, dtype or found, name, body, axes)


def index_names(function: Callable[..., Any], rank: int) -> list[str]:
    """The names of a function's indices; those after a ``*i`` are numbered."""
    names: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        many = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        names += [f"{parameter.name}{n}" for n in range(len(names), rank)] if many else [parameter.name]
    return names


def spatial_axis(number: int) -> Expr:
    """The index of an axis of the tensor that is computed."""
    return Expr(lambda builder: builder.spatial[number])


@functools.cache
def trial_context() -> ir.Context:
    """The context of trials."""
    return make_context()


def trial_dtype(body: Any, rank: int) -> str:
    """The element type of an expression, found by building it in a function that is dropped. ScriptError where it cannot be built."""
    found = everything_in(body)
    tensors, axes = [x for x in found if isinstance(x, Tensor)], [x for x in found if isinstance(x, ReduceAxis)]
    symbols = {s for x in found if isinstance(x, dims.Dim) for s in dims.symbols(x)}
    with trial_context(), ir.Location.unknown():
        module, index = ir.Module.create(), ir.IndexType.get()
        with ir.InsertionPoint(module.body):
            types = [memref_type(t.shape, t.dtype) for t in tensors] + [index] * (rank + len(axes) + len(symbols))
            block = func.FuncOp("trial", ir.FunctionType.get(types, [])).add_entry_block()
        given = iter(block.arguments)
        builder = _Builder({})
        builder.buffers = {t: Buffer(next(given), t.dtype, t.name) for t in tensors}
        builder.spatial = [Scalar(next(given), "index") for _ in range(rank)]
        builder.axes = {axis: Scalar(next(given), "index") for axis in axes}
        builder.sizes = {symbol: next(given) for symbol in symbols}
        with ir.InsertionPoint(block):
            value = builder(body.body if isinstance(body, Reduction) else body)
            if isinstance(body, Reduction) and body.where is not None:
                builder(body.where)
            dtype = without_literals(dtype_of(value))
    return "int32" if dtype == "index" else dtype


def everything_in(body: Any) -> list[Any]:
    """The expressions, tensors and sizes of an expression, without those that tensors are computed of."""
    found: dict[int, Any] = {}
    left = [body]
    while left:
        x = left.pop()
        if id(x) in found or not isinstance(x, (Expr, Tensor, dims.Dim, tuple, list)):
            continue
        found[id(x)] = x
        left += parts_of(x)
    return list(found.values())


def create_prim_func(tensors: Sequence[Tensor], name: str = "kernel") -> "Computed":
    """The kernel that computes the last tensors, those that ``compute`` gave, from the placeholders before them."""
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
    """The tensors that a computed one reads."""
    return [x for x in everything_in(tensor.body) if isinstance(x, Tensor)]


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
        return x.value(self) if isinstance(x, Expr) else number(x)

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
        reduced = reduction.axes if reduction is not None else ()
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
        reduced = reduction.axes if reduction is not None else ()
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
                counted = reduction.body
                if reduction.where is not None:
                    counted = if_then_else(reduction.where, reduction.body, neutral(reduction.combiner, tensor.dtype))
                buffer.store(arithmetic.binary(reduction.combiner, before, self(counted)), self.spatial)


def neutral(combiner: str, dtype: str) -> Any:
    """The neutral element of a combiner."""
    if combiner in ("max", "min"):
        return lowest(dtype, high=combiner == "min")
    return constant(0 if combiner == "+" else 1, dtype)
