"""Bugs put into real passes: patches, and the state of a model before a pass."""
from functools import cache

from checked_models import columns, image, rows, square

import legato
from legato.core.ir_helpers import find
from legato.core.mlir import arith, ir
from legato.passes.pipeline import pipeline as running
from legato.passes.pipeline.base import PassContext
from legato.passes.pipeline.pipeline import PassPipeline
from legato.stages import stages_of
from legato.targets.catalog import Catalog

CPU = "llvm{cpu=x86-64-v3 winograd=false}"
MODELS = {"rows": rows, "image": image, "square": square, "columns": columns}


@cache
def before(model: str, pass_name: str, on: str = CPU) -> tuple[legato.Module, str]:
    """The module before the first run of a pass in the target's pipeline, and that pass as text."""
    module, target = MODELS[model](), Catalog().resolve(on)
    steps = [step for _, pipeline in stages_of(target) for step in pipeline.steps]
    number = next(n for n, step in enumerate(steps) if step.name == pass_name and "only-with-halves=true" not in str(step))
    prefix = PassPipeline([])
    prefix.steps = tuple(steps[:number])
    prefix.run(module, PassContext(Catalog().resolve))
    return module, str(steps[number])


def after(pass_class, change):
    """A patch: the pass runs, then ``change`` gets the module."""
    def patch(monkeypatch):
        original = pass_class.run

        def run(self, module, context):
            original(self, module, context)
            with module.context, ir.Location.unknown():
                change(module)

        monkeypatch.setattr(pass_class, "run", run)
    return patch


def after_upstream(name, change):
    """The same for an upstream pass."""
    def patch(monkeypatch):
        original = running.run_upstream

        def run(passes, module):
            original(passes, module)
            if any(name in one for one in passes):
                with module.context, ir.Location.unknown():
                    change(module)

        monkeypatch.setattr(running, "run_upstream", run)
    return patch


def entry(table, key, value):
    """A patch of a table that a rule reads."""
    return lambda monkeypatch: monkeypatch.setitem(table, key, value)


def wrapped(where, name, make):
    """A patch of a function: ``make`` gets the original."""
    return lambda monkeypatch: monkeypatch.setattr(where, name, make(getattr(where, name)))


def first(module, name, inside="", number=0):
    """The first op of a name, or a later one, in the functions whose name holds ``inside``."""
    return [op for f in module.functions() if inside in f.name.value for op in find(f.operation, name)][number]


def swap(name, inside="", numbers=(0, 1), number=0):
    """Swaps two operands of an op."""
    def change(module):
        op, (a, b) = first(module, name, inside, number), numbers
        op.operands[a], op.operands[b] = op.operands[b], op.operands[a]
    return change


def skip(name, inside="", operand=0, number=0):
    """Drops an op: its result is one of its operands."""
    def change(module):
        op = first(module, name, inside, number)
        op.results[0].replace_all_uses_with(op.operands[operand])
        op.erase()
    return change


def repeat_operand(name, inside=""):
    """Gives an op its first operand twice."""
    def change(module):
        op = first(module, name, inside)
        op.operands[1] = op.operands[0]
    return change


def erase(name, inside=""):
    return lambda module: first(module, name, inside).erase()


def set_attribute(name, attribute, text, inside=""):
    """Gives an op another attribute."""
    def change(module):
        first(module, name, inside).attributes[attribute] = ir.Attribute.parse(text)
    return change


def filled_with(value, inside):
    """Gives the first fill of a kernel another value."""
    def change(module):
        op = first(module, "linalg.fill", inside)
        with ir.InsertionPoint(op), op.location:
            op.operands[0] = arith.ConstantOp(op.operands[0].type, value).result
    return change


def shorter_loop(inside, number=0):
    """Makes a loop end a step early."""
    def change(module):
        op = first(module, "scf.for", inside, number)
        with ir.InsertionPoint(op), op.location:
            op.operands[1] = arith.subi(op.operands[1], op.operands[2])
    return change


def replaced(name, by, inside=""):
    """Replaces an op by one of another name, with the same operands and types."""
    def change(module):
        op = first(module, name, inside)
        made = ir.Operation.create(by, [r.type for r in op.results], list(op.operands), loc=op.location, ip=ir.InsertionPoint(op))
        op.results[0].replace_all_uses_with(made.results[0])
        op.erase()
    return change
