"""The walk of IR: what a callback raises."""
import pytest

from legato.core.ir_helpers import find, walk
from legato.core.mlir import ir
from legato.dialects import make_context


@pytest.fixture
def module():
    with make_context(), ir.Location.unknown():
        yield ir.Module.parse("func.func @f() { return }")


def test_an_interrupt_stays_an_interrupt(module):
    def visit(op):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        walk(module, visit)


def test_an_error_that_speaks_of_interrupts_is_none(module):
    def visit(op):
        raise ValueError("a KeyboardInterrupt is not this")

    with pytest.raises(RuntimeError, match="ValueError: a KeyboardInterrupt"):
        walk(module, visit)


def test_orders_and_skipped_regions(module):
    names = []

    def visit(op):
        names.append(op.name)
        return ir.WalkResult.SKIP if op.name == "func.func" else ir.WalkResult.ADVANCE

    walk(module, visit, ir.WalkOrder.PRE_ORDER)
    assert names == ["builtin.module", "func.func"]
    assert [op.name for op in find(module.operation, "func.return", "func.func", inner_first=True)] == ["func.return", "func.func"]
