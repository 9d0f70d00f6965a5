"""Damaged texts of pipelines, targets and schedules' options, run on a small model."""
import random
from dataclasses import fields
from functools import cache
from typing import Any

import legato
from legato.core.errors import LegatoError
from legato.dialects import Module
from legato.passes.pipeline.registry import PASSES, load
from legato.stages import pipeline_text
from mutation.bytes import mutated_bytes
from mutation.case import Finding, stranger
from mutation.ir_text import mutated_text
from mutation.stages import GRAPHS, TARGETS, Adds, passes
from mutation.valid_ir import quiet_context

VALUES = ("true", "false", "0", "1", "-1", "64", "99999999999999999999", "1.5", "llvm", "nowhere", "{a=b}", "", '"x"', "1,2,3",
          "[1 2]", "n=4")
OPTIONS = ("cpu", "threads", "chip", "features", "vector-bits", "parallel", "kind", "integer-contractions")


@cache
def sources() -> list[str]:
    """Texts of pipelines."""
    found = [pipeline_text(target) for target in TARGETS]
    found += [pipeline_text(TARGETS[0], only=stage) for stage in ("relax", "legalized", "fused", "scheduled", "bufferized")]
    found += [*passes(), "func.func(canonicalize,cse),symbol-dce", 'external<"npu">(canonicalize)',
              "builtin.module(canonicalize{top-down=1})"]
    found += [f"{name}{{{f.name.replace('_', '-')}=1}}" for name in PASSES for f in fields(load(name))]
    return found


class Pipelines:
    """The subject."""

    def text(self, seed: int) -> tuple[str, str]:
        """What kind of text it is, and the text."""
        chance = random.Random(seed)
        if chance.random() < 0.25:
            text = chance.choice((*TARGETS, "llvm", "nvvm", "vulkan", "llvm{threads=2}", "llvm{cpu=native}"))
            if chance.random() < 0.6:
                chosen = " ".join(f"{chance.choice(OPTIONS)}={chance.choice(VALUES)}" for _ in range(chance.choice((1, 2))))
                return "target", f"{text.partition('{')[0]}{{{chosen}}}"
            return "target", mutated_bytes(text.encode(), chance).decode("utf-8", "replace")
        text = chance.choice(sources())
        if chance.random() < 0.4:
            name = chance.choice(list(PASSES))
            names = [f.name.replace("_", "-") for f in fields(load(name))] or ["x"]
            text = f"{name}{{{' '.join(f'{chance.choice(names)}={chance.choice(VALUES)}' for _ in range(chance.choice((1, 2))))}}}"
        if chance.random() < 0.7:
            return "pipeline", mutated_text(text, chance)
        return "pipeline", mutated_bytes(text.encode(), chance).decode("utf-8", "replace")

    def content(self, seed: int) -> tuple[str, bytes]:
        kind, text = self.text(seed)
        return f"{kind}.txt", text.encode()

    def run(self, seed: int, mark: Any) -> Finding | None:
        kind, text = self.text(seed)
        chance = random.Random(seed + 1)
        module = Module.parse(GRAPHS[chance.choice(("layers", "convolution"))], context=quiet_context())
        try:
            if kind == "target":
                legato.lower(module, text, last=chance.choice((None, "legalized")))
            else:
                legato.Pipeline(text, backends=[Adds]).run(module)
        except LegatoError as error:
            return stranger(error)
        return None
