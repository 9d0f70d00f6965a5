"""IR text with damaged tokens: parsed, and what still parses is run through passes, or compiled and compared with numpy."""
import random
import re
import warnings
from typing import Any

import numpy as np
from interpret import interpret

import legato
from legato.comparison import random_inputs, relative_error
from legato.core.errors import InferenceError, LegatoError
from legato.core.mlir import ir
from legato.dialects import Module
from mutation.bytes import mutated_bytes
from mutation.case import Finding, stranger
from mutation.stages import TARGETS, Adds, passes, stages
from mutation.valid_ir import quiet_context

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[@%^#!][\w.$]+|[\w.$]+|->|\s+|.', re.DOTALL)
NUMBERS = ("0", "1", "-1", "2", "7", "?", "4294967296", "9223372036854775807", "1.5", "0x7FC00000", "-0.0", "1e400")
TYPES = ("f32", "f16", "bf16", "f64", "i1", "i8", "i32", "i64", "index", "ui8", "si4", "i128", "i0", "none", "f8E4M3FN", "complex<f32>",
         "vector<4xf32>", "tensor<*xf32>", "memref<?xf32>", "()", "!llvm.ptr", "tuple<>", "token")


class IrText:
    """The subject."""

    def text(self, seed: int) -> tuple[str, str]:
        """The name of a stage, and its damaged text: generic, or in the dialects' own forms."""
        chance = random.Random(seed)
        stage = chance.choice(sorted(stages()))
        text = stages()[stage]
        if chance.random() < 0.5:
            text = str(ir.Module.parse(text, quiet_context()))
        if chance.random() < 0.15:
            return stage, mutated_bytes(text.encode(), chance).decode("utf-8", "replace")
        return stage, mutated_text(text, chance)

    def content(self, seed: int) -> tuple[str, bytes]:
        return "case.mlir", self.text(seed)[1].encode()

    def run(self, seed: int, mark: Any) -> Finding | None:
        stage, text = self.text(seed)
        chance = random.Random(seed + 1)
        try:
            module = Module.parse(text, context=quiet_context())
            if " " not in stage and chance.random() < 0.5:
                return compared(module, seed)
            if chance.random() < 0.5:
                legato.Pipeline(chance.choice(passes()), backends=[Adds]).run(module)
            else:
                target, last = (stage.split(" ")[1], stage.split(" ")[-1]) if stage.count(" ") > 1 else (TARGETS[0], None)
                legato.lower(module, target, from_stage=last if last != "imported" else None)
        except (LegatoError, ir.MLIRError) as error:
            return stranger(error)
        return None


def mutated_text(text: str, chance: random.Random) -> str:
    """The text with one to three changes of its tokens or lines."""
    tokens = TOKEN.findall(text)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        places = [n for n, token in enumerate(tokens) if not token.isspace()]
        place, other = chance.choice(places), chance.choice(places)
        match chance.choice(("drop", "double", "swap", "copy", "number", "type", "like", "like", "lines", "cut")):
            case "drop":
                tokens[place] = ""
            case "double":
                tokens.insert(place, tokens[place] + " ")
            case "swap":
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case "copy":
                tokens[place] = tokens[other]
            case "number":
                _set(tokens, [n for n in places if tokens[n][0].isdigit()], chance, NUMBERS)
            case "type":
                _set(tokens, [n for n in places if re.fullmatch(r"(x?[fi]\d+|index|none)", tokens[n])], chance, TYPES)
            case "like":
                kind = tokens[place][0] if tokens[place][0] in '"@%^#!' else None
                same = [t for t in tokens if t and (t[0] == kind if kind else t[0] not in '"@%^#! \n')]
                tokens[place] = chance.choice(same)
            case "lines":
                lines = "".join(tokens).split("\n")
                line = chance.randrange(len(lines))
                if chance.random() < 0.5:
                    lines.insert(chance.randrange(len(lines)), lines[line])
                else:
                    del lines[line]
                tokens = TOKEN.findall("\n".join(lines)) or [" "]
            case "cut":
                if chance.random() < 0.1:
                    del tokens[place + 1:]
        tokens = [token for token in tokens if token]
        if all(token.isspace() for token in tokens):
            break
    return "".join(tokens)


def _set(tokens: list[str], places: list[int], chance: random.Random, values: tuple[str, ...]) -> None:
    if places:
        tokens[chance.choice(places)] = chance.choice(values)


def compared(module: Module, seed: int) -> Finding | None:
    """A wrong result of a graph that compiles and that numpy can compute."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        exe = legato.compile(module, cache=False)
        if any(np.prod([d if isinstance(d, int) else 8 for d in spec.shape], dtype=np.float64) > 1 << 20 for spec in exe.inputs):
            return None
        if any(isinstance(d, int) and d < 0 for spec in exe.inputs for d in spec.shape):
            return None
        inputs = random_inputs(exe.inputs, {}, seed & 0xFFFF)
        try:
            ours = exe(**inputs)
        except (LegatoError, ValueError, TypeError, MemoryError):
            return None
        try:
            wanted = interpret(module, [inputs[spec.name] for spec in exe.inputs])
        except (LegatoError, InferenceError, AssertionError, AttributeError, KeyError, NotImplementedError):
            return None   # calls and branches, which the interpreter of graphs does not know
    for a, b in zip(ours if isinstance(ours, tuple) else (ours,), wanted, strict=True):
        if a.dtype.kind == "f" and relative_error(a.astype(np.float64), b.astype(np.float64)) > 1e-2:
            return Finding("wrong result", f"{a.reshape(-1)[:4].tolist()} is not {b.reshape(-1)[:4].tolist()}")
    return None
