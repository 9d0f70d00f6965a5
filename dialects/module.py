"""A program: an MLIR module and its weights."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np

from legato.core import dtypes
from legato.core.diagnostics import unparsable
from legato.core.errors import LegatoError
from legato.core.given import path_of
from legato.core.locations import describe, origin
from legato.core.mlir import func, ir
from legato.core.notebook import bytes_text, counted, html_folded, html_table
from legato.core.weights import WeightStore
from legato.core.weights_beside import load_beside, where_looked, write_ir
from legato.dialects.inline_weights import take_inline_weights
from legato.dialects.late_loading import load_mentioned
from legato.dialects.loading import make_context
from legato.dialects.parsing import parsable
from legato.dialects.relax.markers import ARTIFACTS, DEFAULT, WEIGHT
from legato.dialects.relax.ops.constant import Constant
from legato.dialects.tir.markers import PRIM_FUNC

BYTECODE = b"ML\xefR"   # the first bytes of MLIR's bytecode


class Module:
    """An ``ir.Module`` and its ``WeightStore``. ``str()`` is the MLIR text.

    ``closures``: Python functions of this process by the names that ``Closure`` artifacts use; they are not part of the text.
    """

    printer: ClassVar[Callable[["Module"], str]] = str  # what ``show`` prints; the script language, once imported, sets its own

    def __init__(self, module: ir.Module, weights: WeightStore | None = None) -> None:
        self.module = module
        self.weights = WeightStore() if weights is None else weights
        self.closures: dict[str, Callable] = {}

    @property
    def context(self) -> ir.Context:
        """The MLIR context of the module."""
        return self.module.context

    @property
    def operation(self) -> ir.Operation:
        """The ``builtin.module`` operation."""
        return self.module.operation

    @property
    def body(self) -> ir.Block:
        """The block with the module's functions."""
        return self.module.body

    def __str__(self) -> str:
        return str(self.module)

    def __repr__(self) -> str:
        functions = self.functions()
        kernels = sum(PRIM_FUNC in f.attributes for f in functions)
        parts = [", ".join(f"@{f.name.value}" for f in functions if PRIM_FUNC not in f.attributes) or "no graph function",
                 counted(kernels, "kernel"), f"{counted(len(self.weights), 'weight')} ({bytes_text(self.weights.nbytes)})"]
        return f"<legato.Module: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        rows = [(f"@{f.name.value}", "kernel" if PRIM_FUNC in f.attributes else "graph", str(f.type),
                 sum(1 for _ in walk(f.operation)) - 1) for f in self.functions()]
        return html_table(("function", "kind", "type", "ops"), rows, repr(self)) + html_folded("MLIR", str(self))

    def show(self) -> None:
        """Prints the module: as a script if ``legato.script`` is imported and can express it, else as MLIR text."""
        print(Module.printer(self))

    def clone(self) -> "Module":
        """A copy in the same context. The arrays of the weights are shared; adding and dropping weights is not."""
        with self.context, self.module.operation.location:
            copy = ir.Module.create()
        for name in self.module.operation.attributes:
            copy.operation.attributes[name] = self.module.operation.attributes[name]
        for op in self.module.body.operations:
            copy.body.append(op.operation.clone(ip=False))
        result = Module(copy, self.weights.copy())
        result.closures = dict(self.closures)
        return result

    @staticmethod
    def parse(text: str | bytes, weights: WeightStore | None = None, context: ir.Context | None = None) -> "Module":
        """Parses and verifies MLIR text or bytecode in a context that has our dialects (None: a new one). Those that Python modules of the
        process define are loaded if the text mentions them. LegatoError if it is invalid."""
        return Module._parsed(text, weights, context, "-")

    @staticmethod
    def _parsed(text: str | bytes, weights: WeightStore | None, context: ir.Context | None, name: str) -> "Module":
        """``parse`` of a text that errors call ``name``."""
        text = parsable(text)
        chosen = context or make_context()
        load_mentioned(chosen, text)
        with chosen, ir.Location.unknown():
            try:
                parsed = ir.Module.parse(text)
                module = Module(parsed, take_inline_weights(parsed.operation, weights))
            except ir.MLIRError as error:
                raise unparsable(error, name) from error
            except RuntimeError as error:   # the bindings fail to make a message of bytes that are no text
                raise LegatoError("it is no valid MLIR, at a place with bytes that are no UTF-8") from error
            _check_dims(module.module.operation)
            return module

    @staticmethod
    def load(path: str | Path, context: ir.Context | None = None) -> "Module":
        """Reads MLIR text or bytecode, and the weights in the file beside it (``x.mlir.safetensors`` for ``x.mlir``).

        LegatoError if the file cannot be read, the text is invalid, or a weight is missing or of another type.
        """
        path = path_of(path, "what a module is loaded from")
        try:
            text = path.read_bytes()
        except OSError as error:
            raise LegatoError(f"cannot read {path}: {error.strerror}") from error
        module = Module._parsed(text, load_beside(path), context, str(path))
        module.check_weights(where_looked(path))
        return module

    def save(self, path: str | Path) -> list[Path]:
        """Writes the text with locations, and the weights beside it (``x.mlir.safetensors`` for ``x.mlir``) if there are any. Returns the
        files. LegatoError if a file of that name is there that this method did not write."""
        path = path_of(path, "what a module is saved as")
        return write_ir(path, self.module.operation.get_asm(enable_debug_info=True) + "\n", self.weights)

    def array(self, constant: ir.Value | ir.OpView | ir.Operation) -> np.ndarray:
        """The array of a ``relax.constant``, given as the op or as its result, from the op or from ``weights``. LegatoError for another
        value."""
        op = constant.owner if isinstance(constant, ir.Value) else constant
        if isinstance(op, ir.Block) or op.operation.name != Constant.OPERATION_NAME:
            what = origin(constant) if isinstance(constant, ir.Value) else describe(constant)
            raise LegatoError(f"{what} is no relax.constant: its elements are not known")
        found = op.operation.opview
        return self.weights[found.weight] if found.weight is not None else found.value

    def constants(self) -> list[Constant]:
        """All ``relax.constant`` ops, external modules included, in order."""
        return [op.opview for op in walk(self.module.operation) if op.name == Constant.OPERATION_NAME]

    def functions(self) -> list[func.FuncOp]:
        """The functions of the host, external modules left out, in order. They keep the module in memory; other ops do not."""
        found: list[func.FuncOp] = [op for op in self.module.body.operations if isinstance(op, func.FuncOp)]
        for function in found:
            function.__dict__["module"] = self.module
        return found

    def function(self, name: str = "main") -> func.FuncOp:
        """The function of that name. LegatoError, listing those there are, if there is none."""
        for function in self.functions():
            if function.name.value == name:
                return function
        names = ", ".join(f"@{f.name.value}" for f in self.functions())
        raise LegatoError(f"no function @{name} in the module, which has: {names or 'none'}")

    def used_weights(self) -> set[str]:
        """The keys of the weights that constants, function arguments (``relax.weight``, ``relax.default``) and artifacts use."""
        return weights_under(self.module.operation)

    def drop_unused_weights(self) -> list[str]:
        """Drops the weights that nothing in the module uses, and returns their keys."""
        used = self.used_weights()
        unused = [key for key in self.weights if key not in used]
        for key in unused:
            self.weights.drop(key)
        return unused

    def check_weights(self, where: str = "in the weight store") -> None:
        """LegatoError if a constant's weight is missing, or has another shape or element type. ``where`` completes the message."""
        for constant in self.constants():
            key, declared = constant.weight, constant.operation.results[0].type
            if key is None:
                continue
            if key not in self.weights:
                raise LegatoError(f"{describe(constant)}: the weight '{key}' is missing {where}")
            dtype, shape = self.weights.type_of(key)
            if dtype != dtypes.numpy_dtype(declared.element_type) or shape != tuple(declared.shape):
                found = f"{list(shape)} {dtypes.spelling(dtype)}"
                raise LegatoError(f"{describe(constant)}: the weight '{key}' is {found}, but the constant is {declared}")
        for function in self.functions():
            for attributes in function.attributes["arg_attrs"] if "arg_attrs" in function.attributes else ():
                if DEFAULT in attributes and attributes[DEFAULT].value not in self.weights:
                    raise LegatoError(f"@{function.name.value}: the weight '{attributes[DEFAULT].value}', the default of an argument, is "
                                      f"missing {where}")


def weights_under(operation: ir.Operation) -> set[str]:
    """The weight keys used by constants, function arguments (``relax.weight``) and artifacts (``relax.artifacts``) in an op's tree."""
    keys = set()
    for op in walk(operation):
        if op.name == "builtin.module" and ARTIFACTS in op.attributes:
            keys |= {entry["data"].value for entry in op.attributes[ARTIFACTS] if "data" in entry}
            keys |= {one.attr.value for entry in op.attributes[ARTIFACTS] if "weights" in entry for one in entry["weights"]}
        if op.name == Constant.OPERATION_NAME and "weight" in op.attributes:
            keys.add(op.attributes["weight"].value)
        for attributes in op.attributes["arg_attrs"] if op.name == "func.func" and "arg_attrs" in op.attributes else ():
            keys |= {attributes[mark].value for mark in (WEIGHT, DEFAULT) if mark in attributes}
    return keys


def walk(operation: ir.Operation):
    """All operations in the tree of ``operation``, itself included, in pre-order."""
    yield operation
    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                yield from walk(op.operation)


def _check_dims(root: ir.Operation) -> None:
    """LegatoError for the size of an axis that a tensor or memref does not have: undefined in upstream, whose tiling crashes on it."""
    for op in walk(root):
        if op.name not in ("tensor.dim", "memref.dim"):
            continue
        type_, owner = op.operands[0].type, op.operands[1].owner
        if isinstance(owner, ir.Block) or owner.name != "arith.constant" or not isinstance(type_, ir.ShapedType) or not type_.has_rank:
            continue
        number = ir.IntegerAttr(owner.attributes["value"]).value
        if not 0 <= number < type_.rank:
            raise LegatoError(f"{op.name} of {type_}: the axis is {number}, expected one from 0 to {type_.rank - 1}")
