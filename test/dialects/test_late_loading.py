"""Dialects of MLIR that a context loads when something names them. In processes of their own: a dialect that is imported stays so."""
import subprocess
import sys

from legato.core.mlir import PROVIDER, ir
from legato.dialects.late_loading import EARLY
from legato.dialects.loading import make_context

NAMED = f"""
from legato.core.mlir import ir
from legato.core.upstream import run_on
from legato.dialects.loading import make_context
context = make_context()
number = ir.Attribute.parse("4 : index", context)

def names(dialect, name):
    assert not context.is_dialect_loaded(dialect)
    with context, ir.Location.unknown():
        named = name()
    assert context.is_dialect_loaded(dialect)
    return named

assert names("acc", lambda: ir.Operation.create("acc.terminator"))
assert context.is_registered_operation("acc.terminator")

def without_current_context():
    assert ir.Context.current is None
    return ir.Operation.create("shape.const_size", attributes={{"value": number}}, loc=ir.Location.unknown(context), infer_type=True)

assert not context.is_dialect_loaded("shape")
assert str(without_current_context().result.type) == "!shape.size"

def by_class():
    from {PROVIDER}.dialects import ml_program
    return ml_program.OutputOp([])

assert names("ml_program", by_class).operation.name == "ml_program.output"
assert make_context().is_dialect_loaded("ml_program") and not make_context().is_dialect_loaded("spirv")
names("smt", lambda: ir.Type.parse("!smt.bool"))
names("async", lambda: ir.Module.parse("func.func @f() {{ %0 = async.runtime.num_worker_threads : index return }}"))

def by_passes():
    module = ir.Module.parse("func.func @f(%a: f32) -> f32 {{ %0 = arith.addf %a, %a : f32 return %0 : f32 }}")
    run_on(module.operation, "convert-func-to-emitc,convert-arith-to-emitc")
    return module

module = names("emitc", by_passes)
assert "emitc.func" in str(module) and module.operation.verify()

def by_the_name_of_an_attribute():
    try:
        ir.Module.parse("func.func private @f() attributes {{spirv.entry_point_abi = 3}}")
    except ir.MLIRError as error:
        return str(error)

assert "'spirv.entry_point_abi' attribute must be an entry point ABI attribute" in names("spirv", by_the_name_of_an_attribute)
"""
IMPORTED_BEFORE = f"""
from {PROVIDER}.dialects import shape
from legato.core.mlir import ir
from legato.dialects.loading import make_context
with make_context(), ir.Location.unknown():
    assert str(shape.ConstSizeOp(4).result.type) == "!shape.size"
"""


def test_what_is_named_is_loaded():
    run(NAMED)


def test_contexts_begin_with_what_was_imported_before_legato():
    run(IMPORTED_BEFORE)


def test_an_op_of_no_dialect_is_made_as_before():
    with make_context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        assert ir.Operation.create("nowhere.op").verify()
        assert not context.is_dialect_loaded("nowhere")


def test_all_early_dialects_are_mlirs():
    context = make_context()
    assert [name for name in EARLY if not context.is_dialect_loaded(name)] == []


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
