"""A user's file: a dialect and some passes, for --load."""
from dataclasses import dataclass
from typing import Literal

from legato import ModulePass, PassContext
from legato.core.diagnostics import PassFailed
from legato.core.mlir import ext, ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import TargetText, option


class Toy(ext.Dialect, name="toy"):
    pass


class NopOp(Toy.Operation, name="nop"):
    pass


@dataclass(frozen=True)
class Mark(ModulePass):
    """Mark every function with an attribute.

    It is a toy for tests.
    """

    name = "toy-mark"
    text: str = option("seen", "what to mark them with")
    count: int = 1
    twice: bool = False
    sizes: tuple[int, ...] = ()
    layout: Literal["NHWC", "NCHW"] = "NHWC"
    target: TargetText | None = None

    def run(self, module: Module, context: PassContext) -> None:
        words = [self.text] * (2 if self.twice else self.count) + [str(size) for size in self.sizes]
        for function in module.functions():
            function.attributes["toy.mark"] = ir.StringAttr.get(" ".join(words))


@dataclass(frozen=True)
class Reject(ModulePass):
    """Refuse every op of one name; or break, in other ways."""

    name = "toy-reject"
    op: str = "arith.addi"
    how: Literal["fail", "crash", "invalid"] = "fail"

    def run(self, module: Module, context: PassContext) -> None:
        for function in module.functions():
            for op in function.body.blocks[0].operations:
                if op.operation.name != self.op:
                    continue
                if self.how == "crash":
                    raise KeyError("a bug")
                if self.how == "fail":
                    raise PassFailed("this op is not welcome", op)
                op.operation.attributes["value"] = ir.StringAttr.get("no number")
