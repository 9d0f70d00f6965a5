"""Small graphs for the tests of graph passes: built, run before and after a pass, looked at."""
from collections.abc import Callable, Sequence

import numpy as np
from interpret import interpret, relative_error

from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.loading import make_context
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

_random = np.random.default_rng(0)
_module: list[Module] = []


def weights(*shape: int) -> ir.Value:
    """A constant of the graph that is being built, between -1.5 and 1.5 and not near 0; in the weight store where a real one would be."""
    values = _random.uniform(0.5, 1.5, shape).astype(np.float32)
    if len(shape) > 1:
        values *= _random.choice([-1, 1], shape)
    if values.nbytes <= 1024:
        return relax.constant(values)
    return relax.weight(_module[-1].weights.add("w", values), np.float32, shape)


def build(shapes: Sequence[Sequence], body: Callable[..., ir.Value]) -> Module:
    """A module with a main of f32 arguments of these shapes (ints or symbols), whose result is what `body` builds on them."""
    context = make_context()
    with context, ir.Location.unknown():
        module = Module(ir.Module.create())
        types = [relax.dims.tensor_type(shape, ir.F32Type.get()) for shape in shapes]
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", (types, []))
        _module.append(module)
        with ir.InsertionPoint(main.add_entry_block()):
            result = body(*main.arguments)
            func.ReturnOp([result])
        _module.pop()
        main.operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [result.type]))
    return module


def apply(module: Module, passes: Sequence[ModulePass]) -> None:
    with module.context, ir.Location.unknown():
        for one in passes:
            one.run(module, PassContext())
    assert module.operation.verify()


def check(module: Module, passes: Sequence[ModulePass], shapes: Sequence[Sequence[int]] | None = None, tolerance: float = 1e-5) -> Module:
    """Runs the passes; the module must still verify, and give the same for random arguments. `shapes` where the types leave sizes open."""
    shapes = shapes or [argument.type.shape for argument in module.function().arguments]
    inputs = [_random.standard_normal(shape).astype(np.float32) for shape in shapes]
    expected = interpret(module, inputs)
    apply(module, passes)
    for ours, theirs in zip(interpret(module, inputs), expected, strict=True):
        assert relative_error(ours, theirs) <= tolerance, str(module)
    return module


def names(module: Module) -> list[str]:
    """The ops of main in order, but for constants and the return: ``["conv2d", "add"]``."""
    ops = [op.operation.name for op in module.function().body.blocks[0].operations]
    return [name.split(".")[1] for name in ops if name not in ("relax.constant", "func.return")]
