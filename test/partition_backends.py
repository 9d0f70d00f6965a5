"""Backends for tests: their code is the functions themselves, run by numpy semantics, from bytes that a saved model can carry."""
import io
from collections.abc import Callable
from typing import Any

import numpy as np
from interpret import interpret

import legato
from legato.artifacts import Blob, Closure, Lowered
from legato.core.mlir import func
from legato.dialects import relax
from legato.patterns import is_const, is_op, wildcard

CONV = is_op("relax.conv2d")(wildcard(), is_const()).named("conv")
CONV_RELU = CONV.optional(lambda x: is_op("relax.add")(x, is_const())).optional(lambda x: is_op("relax.relu")(x))
MATMUL = is_op("relax.matmul")(wildcard(), is_const())
BINARY = is_op("relax.add", "relax.multiply", "relax.subtract")(wildcard(), wildcard())
UNARY = is_op("relax.exp", "relax.tanh", "relax.relu", "relax.gelu")(wildcard())


def flat(module: legato.Module) -> legato.Module:
    """The module with its composites inlined into its public functions."""
    legato.Pipeline("relax-inline").run(module)
    return module


def serialize(module: legato.Module) -> bytes:
    """Text and weights as bytes; numpy's files have no bf16, so weights are bytes with a type and a shape."""
    file = io.BytesIO()
    weights = {key: module.weights[key] for key in module.used_weights()}
    types = {f"t.{key}": np.array(array.dtype.name) for key, array in weights.items()}
    np.savez(file, text=np.array(str(module)), **types,
             **{f"w.{key}": np.ascontiguousarray(array).reshape(-1).view(np.uint8) for key, array in weights.items()},
             **{f"s.{key}": np.array(array.shape, np.int64) for key, array in weights.items()})
    return file.getvalue()


def load(data: memoryview, name: str) -> Callable[..., None]:
    """The loader of such bytes."""
    with np.load(io.BytesIO(data)) as file:
        module = legato.Module.parse(str(file["text"]))
        for key in file.files:
            if key.startswith("w."):
                dtype = np.dtype(str(file[f"t.{key[2:]}"]))
                module.weights.add(key[2:], file[key].view(dtype).reshape(file[f"s.{key[2:]}"]))
    return runner(module, name)


def runner(module: legato.Module, name: str) -> Callable[..., None]:
    """One function of a module by numpy semantics, in destination-passing style."""
    results = [relax.TensorType.of(type_) for type_ in module.function(name).type.results]

    def run(*arrays: np.ndarray) -> None:
        given, outs = arrays[: len(arrays) - len(results)], arrays[len(arrays) - len(results):]
        sizes = [pair for type_, out in zip(results, outs, strict=True) for pair in zip(type_.dims, out.shape, strict=True)]
        known = {str(size): length for size, length in sizes if isinstance(size, relax.dims.Dim) and size.is_symbol}
        for out, value in zip(outs, interpret(module, given, name, known), strict=True):
            out[...] = value

    return run


class Interpreter(legato.Backend):
    """The base of the others. ``seen``: the modules that it was given."""

    def __init__(self) -> None:
        self.seen: list[legato.Module] = []

    def codegen(self, module, options) -> Any:
        self.seen.append(module.clone())
        return Blob(serialize(flat(module)), "partition_backends:load")


class Conv(Interpreter):
    name = "conv"
    patterns = [("conv2d", CONV_RELU)]


class Dense(Interpreter):
    name = "dense"
    patterns = [("matmul", MATMUL)]


class Pointwise(Interpreter):
    name = "pointwise"
    patterns = [("binary", BINARY), ("unary", UNARY)]


class Inline(legato.Backend):
    """Lowers to kernels inside its code generation."""

    name = "inline"
    patterns = [("matmul", MATMUL)]

    def codegen(self, module, options) -> Any:
        legato.Pipeline("relax-legalize{target=generic}").run(module, generic_context())
        return Lowered(module)


class InlineLater(Inline):
    """Lowers to kernels by its pipeline, before code generation."""

    pipeline = "relax-legalize{target=generic}"

    def codegen(self, module, options) -> Any:
        return Lowered(module)


class Closures(legato.Backend):
    name = "closures"
    patterns = [("conv2d", CONV_RELU)]

    def codegen(self, module, options) -> Any:
        module = flat(module)
        names = [f.name.value for f in module.functions() if isinstance(f, func.FuncOp)]
        return [Closure(runner(module, name), (name,)) for name in names]


def generic_context() -> legato.PassContext:
    from legato.targets.catalog import Catalog

    return legato.PassContext(resolve_target=Catalog().resolve)
