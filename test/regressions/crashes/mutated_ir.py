"""IR of all stages of some models and targets, small mutations of it, and what a pass makes of the result.

``python mutated_ir.py CASES SEED`` is a process that runs cases and prints one line for each that ends in an internal error; before
each case it prints its number, so that the process around it knows which one ended in a signal.
"""
from __future__ import annotations

import random
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import legato
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects import Module, make_context
from legato.dialects.module import walk
from legato.passes.pipeline.registry import PASSES, load
from legato.patterns import is_op, wildcard
from legato.script import T

GRAPHS = {
    "layers": """
func.func @main(%x: tensor<?x8xf32, #relax.dims<["n", 8]>> {relax.name = "x"})
    -> (tensor<?x4xf32, #relax.dims<["n", 4]>> {relax.name = "y"}) {
  %w = "relax.constant"() {value = dense<0.5> : tensor<8x4xf32>} : () -> tensor<8x4xf32>
  %b = "relax.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<8x4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %1 = "relax.add"(%0, %b) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %2 = "relax.softmax"(%1) {axis = 1 : i64} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %2 : tensor<?x4xf32, #relax.dims<["n", 4]>>
}""",
    "convolution": """
func.func @main(%x: tensor<1x3x6x6xf32> {relax.name = "x"}) -> tensor<1x4x4x4xf32> {
  %w = "relax.constant"() {value = dense<0.25> : tensor<4x3x3x3xf32>} : () -> tensor<4x3x3x3xf32>
  %0 = "relax.conv2d"(%x, %w) : (tensor<1x3x6x6xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  %1 = "relax.relu"(%0) : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %1 : tensor<1x4x4x4xf32>
}""",
    "branches": """
func.func @main(%c: tensor<i1>, %x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xi64>) {
  %byte = builtin.unrealized_conversion_cast %c : tensor<i1> to tensor<i8>
  %element = tensor.extract %byte[] : tensor<i8>
  %zero = arith.constant 0 : i8
  %flag = arith.cmpi ne, %element, %zero : i8
  %0 = scf.if %flag -> (tensor<4xf16>) {
    %1 = "relax.exp"(%x) : (tensor<4xf16>) -> tensor<4xf16>
    scf.yield %1 : tensor<4xf16>
  } else {
    scf.yield %x : tensor<4xf16>
  }
  %2 = "relax.astype"(%0) {dtype = i64} : (tensor<4xf16>) -> tensor<4xi64>
  return %0, %2 : tensor<4xf16>, tensor<4xi64>
}""",
    "calls": """
func.func private @host(tensor<4xf32>) -> tensor<4xf32> attributes {relax.packed = "my.function"}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.erf"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @host(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}""",
}
TARGETS = ("llvm{cpu=x86-64-v3}", "llvm{cpu=x86-64-v4 threads=2}", "nvvm")


@T.prim_func
def rows(A: T.Buffer(("n", 8), "float32"), B: T.Buffer(("n",), "float32")):
    for i in T.parallel(A.shape[0]):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + T.exp(A[vi, vj])


@T.prim_func
def kept_as_loops(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((8,), "float32", scope="shared")
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        S[tx] = A[tx]
    for i in T.serial(8):
        B[i] = T.call_extern("float32", "sinf", S[7 - i])
        C[i] = T.if_then_else(A[i] > 0.0, S[i], B[i])


class Adds(legato.Backend):
    """A backend for additions and matrix products, whose code is never generated."""

    name = "adds"
    patterns = [("add", is_op("relax.add")(wildcard(), wildcard())), ("matmul", is_op("relax.matmul")(wildcard(), wildcard()))]


def sources(context: ir.Context) -> Iterator[tuple[str, Module]]:
    """The models, by name, in one context."""
    for name, text in GRAPHS.items():
        yield name, Module.parse(text, context=context)
    for kernel in (rows, kept_as_loops):
        yield kernel.__name__, Module.parse(str(kernel.module()), context=context)


def stages(context: ir.Context) -> dict[str, str]:
    """The IR of every stage as generic text, by model, target and stage."""
    found = {}
    for name, module in sources(context):
        found[name] = generic(module)
        for target in TARGETS:
            for stage in ("relax", "legalized", "fused", "scheduled", "bufferized", "outlined", "llvm", "nvvm"):
                if stage == "llvm" and target == TARGETS[1]:
                    continue  # as TARGETS[0]
                try:
                    found[f"{name} {target} {stage}"] = generic(legato.lower(module, target, last=stage))
                except LegatoError:
                    continue  # the target has no such stage, or the model cannot reach it
        parted = module.clone()
        legato.Pipeline(",".join(["relax-fuse-by-pattern{backend=adds}", "relax-merge-composites"]), backends=[Adds]).run(parted)
        found[f"{name} composites"] = generic(parted)
        legato.Pipeline("relax-outline-external").run(parted)
        found[f"{name} external"] = generic(parted)
    return found


def generic(module: Module) -> str:
    return module.module.operation.get_asm(print_generic_op_form=True)


def passes() -> list[str]:
    """Every registered pass, once for each target that its option may name."""
    found = []
    for name in PASSES:
        options = {f.name for f in fields(load(name))}
        if "target" in options:
            found += [f"{name}{{target={target}}}" for target in TARGETS]
        else:
            found.append(f"{name}{{backend=adds}}" if "backend" in options else name)
    return found


# --- mutations ---

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
        ir.Module.parse(text, context)
    except ir.MLIRError:
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


# --- running ---

@dataclass(frozen=True)
class Case:
    """A pass for IR that is, with a chance, mutated."""

    stage: str
    pass_: str
    seed: int | None

    def __str__(self) -> str:
        return f"{self.pass_} on {self.stage}, {'as it is' if self.seed is None else f'seed {self.seed}'}"


def cases(count: int, seed: int, names: list[str]) -> list[Case]:
    """``count`` cases; every third one without mutation."""
    chance, every = random.Random(seed), passes()
    return [Case(chance.choice(names), chance.choice(every), None if n % 3 == 0 else chance.randrange(1 << 30)) for n in range(count)]


def outcome(case: Case, texts: dict[str, str], context: ir.Context) -> str | None:
    """The traceback of an error that is none of ours; None for a pass that runs or refuses."""
    text = texts[case.stage]
    try:
        if case.seed is not None:
            text = mutated(text, random.Random(case.seed), context)
        module = Module.parse(text, context=context)
        legato.Pipeline(case.pass_, backends=[Adds]).run(module)
    except (LegatoError, ir.MLIRError, OSError):
        return None
    except Exception:
        return traceback.format_exc()
    return None


def main(count: int, seed: int, begin: int = 0) -> None:
    """Runs cases from number ``begin`` on."""
    texts = stages(make_context())
    context = make_context()
    say: Any = lambda *words: print(*words, flush=True)  # noqa: E731
    context.attach_diagnostic_handler(lambda diagnostic: True)
    for number, case in enumerate(cases(count, seed, sorted(texts))):
        if number < begin:
            continue
        if number % 200 == 0:
            context = make_context()
            context.attach_diagnostic_handler(lambda diagnostic: True)
        say("CASE", number, case)
        if (error := outcome(case, texts, context)) is not None:
            say("ERROR", number, case, repr(error))
    say("END")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
