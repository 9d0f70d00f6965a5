"""IR that is valid, changed, and still valid: every pass runs on it, or refuses it."""
from __future__ import annotations

import random
import re
from typing import Any

import legato
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects import Module, make_context
from legato.dialects.module import walk
from legato.dialects.parsing import parsable
from mutation.case import Finding, stranger
from mutation.stages import Adds, passes, stages


class ValidIr:
    """The subject: passes on IR of another stage, which is changed in two of three cases."""

    def case(self, seed: int) -> tuple[str, str, str]:
        """A pass, the stage and the text that it runs on."""
        chance = random.Random(seed)
        stage, pass_ = chance.choice(sorted(stages())), chance.choice(passes())
        text = stages()[stage]
        return pass_, stage, mutated(text, chance, quiet_context()) if chance.random() < 2 / 3 else text

    def content(self, seed: int) -> tuple[str, bytes]:
        pass_, _, text = self.case(seed)
        return "case.mlir", f"// {pass_}\n{text}".encode()

    def run(self, seed: int, mark: Any) -> Finding | None:
        pass_, _, text = self.case(seed)
        try:
            module = Module.parse(text, context=quiet_context())
            legato.Pipeline(pass_, backends=[Adds]).run(module)
        except (LegatoError, ir.MLIRError) as error:
            return stranger(error)
        return None


def quiet_context() -> ir.Context:
    """A new context, whose diagnostics are not printed."""
    context = make_context()
    context.attach_diagnostic_handler(lambda diagnostic: True)
    return context


def mutated(text: str, chance: random.Random, context: ir.Context) -> str:
    """The text of a module with one to three small changes, each of which leaves valid IR; the text itself where none was found."""
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        for _ in range(6):
            new = chance.choice([changed_text, changed_text, changed_ir, changed_ir, changed_ir])(text, chance, context)
            if new is not None and new != text and is_valid(new, context):
                text = new
                break
    return text


def is_valid(text: str, context: ir.Context) -> bool:
    """Whether a text parses, which verifies it."""
    try:
        ir.Module.parse(parsable(text), context)
    except (LegatoError, ir.MLIRError):
        return False
    return True


def changed_text(text: str, chance: random.Random, context: ir.Context) -> str | None:
    """A size, an element type or a symbol becomes another, at one place or at all."""
    pattern, others = chance.choice([
        (r"(?<=[<x])\d+(?=x)", ["1", "0", "2", "7", "?"]),
        (r"(?<=[x<])(?:f32|f16|i64|i8|i1)(?=[>,])", ["f64", "bf16", "i32", "index", "i1"]),
        (r"(?<=@)\w+", ["main", "other"]), (r'"n"', ['"m"', '"n * 2"', "3"]), (r"(?<== )\d+(?= : )", ["0", "-1", "3", "100000"]),
        (r"(?<=: )(?:f32|index|i64)(?=[,)\s])", ["f64", "i32", "index"]), (r"(?<=dense<)[^<>]+(?=>)", ["0", "1.0"]),
        (r"#map\d*", ["#map", "#map1", "#map2"]),
    ])
    places = list(re.finditer(pattern, text))
    if not places:
        return None
    place = chance.choice(places)
    new = chance.choice([o for o in others if o != place[0]])
    if chance.random() < 0.5:
        return re.sub(rf"{pattern}", lambda m: new if m[0] == place[0] else m[0], text)
    return text[: place.start()] + new + text[place.end():]


def changed_ir(text: str, chance: random.Random, context: ir.Context) -> str | None:
    """An attribute, an op, a function or an operand is dropped or replaced."""
    try:
        module = ir.Module.parse(text, context)
    except ir.MLIRError:
        return None
    with context, ir.Location.unknown():
        ops = list(walk(module.operation))[1:]
        for _ in range(8):
            if not ops:
                return None
            op = chance.choice(ops)
            if chance.choice([drop_attribute, replace_attribute, drop_op, drop_function, replace_operand])(module, op, chance):
                break
    return module.operation.get_asm(print_generic_op_form=True, assume_verified=True)


def drop_attribute(module: ir.Module, op: ir.Operation, chance: random.Random) -> bool:
    names = [name for name in op.attributes if name not in ("operandSegmentSizes", "sym_name", "function_type")]
    if op.name == "func.func" and "arg_attrs" in op.attributes and chance.random() < 0.5:
        given = [ir.DictAttr(a) for a in op.attributes["arg_attrs"]]
        number = chance.randrange(len(given)) if given else 0
        if given and len(given[number]):
            gone = chance.choice([a.name for a in given[number]])
            given[number] = ir.DictAttr.get({a.name: a.attr for a in given[number] if a.name != gone})
            op.attributes["arg_attrs"] = ir.ArrayAttr.get(given)
            return True
    if names:
        del op.attributes[chance.choice(names)]
    return bool(names)


def replace_attribute(module: ir.Module, op: ir.Operation, chance: random.Random) -> bool:
    names = [name for name in op.attributes if name not in ("operandSegmentSizes", "function_type", "arg_attrs", "res_attrs")]
    if not names:
        return False
    i64 = ir.IntegerType.get_signless(64)
    op.attributes[chance.choice(names)] = chance.choice([
        ir.StringAttr.get("other"), ir.IntegerAttr.get(i64, -1), ir.UnitAttr.get(), ir.ArrayAttr.get([]),
        ir.DenseI64ArrayAttr.get([0, 5]), ir.FlatSymbolRefAttr.get("main"), ir.FlatSymbolRefAttr.get("nowhere"), ir.DictAttr.get({}),
        ir.TypeAttr.get(i64)])
    return True


def drop_op(module: ir.Module, op: ir.Operation, chance: random.Random) -> bool:
    block = op.block
    if op.name in ("func.func", "builtin.module") or op == block.operations[len(block.operations) - 1].operation:
        return False
    for result in op.results:
        same = [v for v in op.operands if v.type == result.type]
        if list(result.uses) and not same:
            return False
        if same:
            result.replace_all_uses_with(same[0])
    op.erase()
    return True


def drop_function(module: ir.Module, op: ir.Operation, chance: random.Random) -> bool:
    if op.name not in ("func.func", "llvm.func", "builtin.module", "gpu.module", "gpu.func", "transform.named_sequence"):
        return False
    op.erase()
    return True


def replace_operand(module: ir.Module, op: ir.Operation, chance: random.Random) -> bool:
    if not len(op.operands):
        return False
    number = chance.randrange(len(op.operands))
    old = op.operands[number]
    block = op.block
    values = [*block.arguments]
    for other in block.operations:
        if other.operation == op:
            break
        values += other.operation.results
    values = [v for v in values if v.type == old.type and v != old]
    if values:
        op.operands[number] = chance.choice(values)
    return bool(values)
