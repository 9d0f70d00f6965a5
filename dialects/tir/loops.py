"""Ops of kernels written as loops: loops of TIR's kinds, blocks with named axes, buffers with scopes."""
# the fields of op classes are annotated with types that the bindings interpret at run time
# pyright: reportInvalidTypeForm=false

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from legato.core.mlir import ext, ir
from legato.dialects.tir.dialect import Tir
from legato.dialects.tir.verify import InvalidOp, verified

SERIAL, PARALLEL, VECTORIZED, UNROLLED, THREAD = "serial", "parallel", "vectorized", "unrolled", "thread"
KINDS = (SERIAL, PARALLEL, VECTORIZED, UNROLLED, THREAD)
THREADS = tuple(f"{level}Idx.{axis}" for level in ("block", "thread") for axis in "xyz")
SPATIAL, REDUCE, OPAQUE = "spatial", "reduce", "opaque"
AXIS_KINDS = (SPATIAL, REDUCE, OPAQUE)
SCOPE = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)    # the name of a memory, which options of passes write, too
DYNAMIC = ir.ShapedType.get_dynamic_size()


@verified
class YieldOp(Tir.Operation, name="yield", traits=[ir.IsTerminatorTrait]):
    """Ends the body of a ``tir.for`` and the regions of a ``tir.block``."""

    def check(self) -> None:
        """Raises InvalidOp unless the parent is a ``tir.for`` or a ``tir.block``."""
        if self.operation.parent.name not in ("tir.for", "tir.block"):
            raise InvalidOp(f"ends a body of tir.for or tir.block, not of {self.operation.parent.name}")


@verified
class ForOp(Tir.Operation, name="for"):
    """A loop from a lower to an upper bound by steps of 1.

    ``kind``: ``serial``, ``parallel`` (iterations in any order, on several cores), ``vectorized`` (the iterations are the lanes of
    vectors), ``unrolled``, or ``thread`` (each iteration is a thread of a device on the axis ``thread``: ``blockIdx.x`` ...
    ``threadIdx.z``). ``name``: the loop variable's name. The body has one argument, the loop variable.

    ```mlir
    "tir.for"(%lower, %upper) ({
    ^bb0(%i: index):
      "tir.yield"() : () -> ()
    }) {kind = "parallel", name = "i"} : (index, index) -> ()
    ```
    """

    lower: ext.Operand[ir.IndexType]
    upper: ext.Operand[ir.IndexType]
    body: ext.Region
    OPTIONAL = ("kind", "name", "thread", "annotations")

    def check(self) -> None:
        """Raises InvalidOp for unknown attributes or kinds, a thread axis that does not fit the kind, or a malformed body."""
        attributes = self.operation.attributes
        for name in attributes:
            if name not in self.OPTIONAL and "." not in name:
                raise InvalidOp(f"has no attribute '{name}'; it has: {', '.join(self.OPTIONAL)}")
        text(self.operation, "name", None)
        if self.kind not in KINDS:
            raise InvalidOp(f"knows the kinds {', '.join(KINDS)}, not '{self.kind}'")
        thread = self.thread
        if (self.kind == THREAD) != (thread is not None):
            raise InvalidOp("names a thread axis if, and only if, its kind is 'thread'")
        if thread is not None and thread not in THREADS:
            raise InvalidOp(f"knows the thread axes {', '.join(THREADS)}, not '{thread}'")
        _one_block(self.operation.regions[0], 1, "its body")

    @property
    def kind(self) -> str:
        """One of ``KINDS``."""
        return text(self.operation, "kind", SERIAL)

    @property
    def name(self) -> str:
        """The name of the loop variable."""
        return text(self.operation, "name", "i")

    @property
    def thread(self) -> str | None:
        """The thread axis of a loop of kind ``thread``, else None."""
        return text(self.operation, "thread", None)

    @property
    def variable(self) -> ir.Value:
        """The loop variable."""
        return self.block.arguments[0]

    @property
    def block(self) -> ir.Block:
        """The block of the body."""
        return self.operation.regions[0].blocks[0]

    @property
    def bounds(self) -> tuple[ir.Value, ir.Value]:
        """The lower and the upper bound."""
        operands = self.operation.operands
        return operands[0], operands[1]

    @property
    def extent(self) -> int | None:
        """The number of iterations, or None if it is not constant."""
        lower, upper = (constant_of(v) for v in self.bounds)
        return None if lower is None or upper is None else upper - lower


@verified
class BlockOp(Tir.Operation, name="block"):
    """A statement with axes of its own: what it computes for one value of each axis does not depend on the loops around it.

    ``name``; ``axes``: the axes' names; ``kinds``: ``spatial`` (different values write different elements), ``reduce`` (accumulated in
    any order) or ``opaque``; ``extents``: the number of values of each axis, where constant. The operands are the values of the axes,
    computed from the loop variables. It has two regions with the axes as arguments: ``init``, which may be empty and runs where all
    reduce axes are 0, before the second, the body. A predicate is an ``scf.if`` around the block. The regions of buffers that a block
    reads and writes are not declared; analyses derive them from the body.

    ```mlir
    "tir.block"(%i, %j, %k) ({
    ^bb0(%vi: index, %vj: index, %vk: index):
      memref.store %zero, %C[%vi, %vj] : memref<8x8xf32>
      "tir.yield"() : () -> ()
    }, {
    ^bb0(%vi: index, %vj: index, %vk: index):
      ...
      "tir.yield"() : () -> ()
    }) {name = "C", axes = ["vi", "vj", "vk"], kinds = ["spatial", "spatial", "reduce"],
        extents = array<i64: 8, 8, 8>} : (index, index, index) -> ()
    ```
    """

    values: Sequence[ext.Operand[ir.IndexType]]
    init: ext.Region
    body: ext.Region
    OPTIONAL = ("name", "axes", "kinds", "extents", "annotations")

    def check(self) -> None:
        """Raises InvalidOp for unknown attributes, attributes that do not fit the operands, or malformed regions."""
        operation = self.operation
        for name in operation.attributes:
            if name not in self.OPTIONAL and "." not in name:
                raise InvalidOp(f"has no attribute '{name}'; it has: {', '.join(self.OPTIONAL)}")
        count = len(operation.operands)
        for found, what in ((self.axes, "axes"), (self.kinds, "kinds of axes"), (self.extents, "extents")):
            if len(found) != count:
                raise InvalidOp(f"'{self.name}' has {len(found)} {what} for {count} values")
        if len(set(self.axes)) != count:
            raise InvalidOp(f"'{self.name}' has two axes of one name: {', '.join(self.axes)}")
        for axis, kind in zip(self.axes, self.kinds):
            if kind not in AXIS_KINDS:
                raise InvalidOp(f"'{self.name}': the axis {axis} is {', '.join(AXIS_KINDS)}, not '{kind}'")
        for number, (axis, value) in enumerate(zip(self.axes, operation.operands)):
            loop = loop_of(value)
            if loop is not None and value in list(operation.operands)[:number]:
                other = self.axes[list(operation.operands).index(value)]
                raise InvalidOp(f"'{self.name}' binds the axes {other} and {axis} both to the loop {loop.name}: no two axes can take one "
                              "loop's values, or not all their values would meet")
        _one_block(operation.regions[1], count, "its body")
        if len(operation.regions[0].blocks):
            _one_block(operation.regions[0], count, "its init")
            if REDUCE not in self.kinds:
                raise InvalidOp(f"'{self.name}' has an init, but no reduce axis")

    @property
    def name(self) -> str:
        """The block's name."""
        return text(self.operation, "name", "block")

    @property
    def axes(self) -> list[str]:
        """The names of the axes."""
        return _texts(self.operation, "axes")

    @property
    def kinds(self) -> list[str]:
        """The kind of each axis: one of ``AXIS_KINDS``."""
        return _texts(self.operation, "kinds")

    @property
    def extents(self) -> list[int | None]:
        """The number of values of each axis; None where it is not constant."""
        found = self.operation.attributes["extents"] if "extents" in self.operation.attributes else ()
        if not isinstance(found, ir.DenseI64ArrayAttr | tuple):
            raise InvalidOp(f"attribute 'extents' must be an array of i64, is {found}")
        return [None if e == DYNAMIC else e for e in found]

    @property
    def init_block(self) -> ir.Block | None:
        """The block of the init region, or None if there is no init."""
        blocks = self.operation.regions[0].blocks
        return blocks[0] if len(blocks) else None

    @property
    def block(self) -> ir.Block:
        """The block of the body."""
        return self.operation.regions[1].blocks[0]


BlockOp._ODS_OPERAND_SEGMENTS = None  # a single variadic group needs no segment sizes
BlockOp.values = property(lambda self: list(self.operation.operands))


@verified
class AllocBufferOp(Tir.Operation, name="alloc_buffer"):
    """A buffer that lives as long as the code that uses it.

    ``scope`` is its memory: ``global``, ``shared``, ``local``, or a device's own. Lowering allocates only the part that its users touch
    during its lifetime: a ``local`` buffer used inside a tile holds one tile. ``align``: an axis, a factor and an offset: a step along the
    axis is to be ``offset`` elements modulo ``factor``, for which lowering allocates more.

    ```mlir
    %b = "tir.alloc_buffer"() {name = "C_local", scope = "local"} : () -> memref<128x128xf32>
    ```
    """

    sizes: Sequence[ext.Operand[ir.IndexType]]
    buffer: ext.Result[Any]

    def check(self) -> None:
        """Raises InvalidOp unless the result is a memref with one operand per dynamic size, for attributes that are no
        strings, and for a scope that is no name."""
        for name in ("name", "scope", "dtype"):
            text(self.operation, name, None)
        if not SCOPE.fullmatch(self.scope):
            raise InvalidOp(no_scope(self.scope))
        type_ = self.operation.results[0].type
        if not isinstance(type_, ir.MemRefType):
            raise InvalidOp(f"makes a memref, not {type_}")
        dynamic = sum(size == DYNAMIC for size in type_.shape)
        if dynamic != len(self.operation.operands):
            raise InvalidOp(f"of {type_} needs {dynamic} sizes, has {len(self.operation.operands)}")

    @property
    def name(self) -> str:
        """The buffer's name."""
        return text(self.operation, "name", "buffer")

    @property
    def scope(self) -> str:
        """The memory it lies in; ``global`` by default."""
        return text(self.operation, "scope", "global")


AllocBufferOp._ODS_OPERAND_SEGMENTS = None


def no_scope(scope: str) -> str:
    """What is wrong with a text that names no memory."""
    return f"'{scope}' names no memory: a scope is 'global', 'shared', 'local' or a device's own, of letters, digits, '_', '.' and '-'"


def _one_block(region: ir.Region, arguments: int, what: str) -> None:
    blocks = list(region.blocks)
    if len(blocks) != 1 or [str(a.type) for a in blocks[0].arguments] != ["index"] * arguments:
        raise InvalidOp(f"{what} must be one block with {arguments} arguments of type index")
    operations = list(blocks[0].operations)
    if not operations or operations[-1].operation.name != "tir.yield":
        raise InvalidOp(f"{what} must end with tir.yield")


def text(op: ir.Operation, name: str, default: Any) -> Any:
    """The value of a string attribute, or ``default`` if the op does not have it. InvalidOp for an attribute of another kind."""
    if name not in op.attributes:
        return default
    found = op.attributes[name]
    if not isinstance(found, ir.StringAttr):
        raise InvalidOp(f"attribute '{name}' must be a string, is {found}")
    return found.value


def _texts(op: ir.Operation, name: str) -> list[str]:
    found = op.attributes[name] if name in op.attributes else []
    if not isinstance(found, ir.ArrayAttr | list) or not all(isinstance(one, ir.StringAttr) for one in found):
        raise InvalidOp(f"attribute '{name}' must be an array of strings, is {found}")
    return [one.value for one in found]


def constant_of(value: ir.Value) -> int | None:
    """The value of an integer constant, of a boolean 0 or 1; None for anything else."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    number = owner.attributes["value"]
    return int(number.value) if isinstance(number, (ir.IntegerAttr, ir.BoolAttr)) else None


def loop_of(value: ir.Value) -> ForOp | None:
    """The ``tir.for`` whose loop variable ``value`` is, or None."""
    owner = value.owner
    if not isinstance(owner, ir.Block) or owner.owner.operation.name != "tir.for":
        return None
    return owner.owner.operation.opview


def make_for(lower: ir.Value, upper: ir.Value, kind: str = SERIAL, name: str = "i", thread: str | None = None) -> ForOp:
    """A ``tir.for`` at the insertion point; its body holds only the terminator."""
    attributes = {"kind": ir.StringAttr.get(kind), "name": ir.StringAttr.get(name)}
    if thread is not None:
        attributes["thread"] = ir.StringAttr.get(thread)
    loop = ir.Operation.create("tir.for", [], [lower, upper], attributes, regions=1)
    body = loop.regions[0].blocks.append(ir.IndexType.get())
    with ir.InsertionPoint(body):
        make_yield()
    return loop.opview


def make_yield() -> None:
    """A ``tir.yield`` at the insertion point."""
    ir.Operation.create("tir.yield")


def make_block(name: str, axes: Sequence[str], kinds: Sequence[str], extents: Sequence[int | None], values: Sequence[ir.Value],
               init: bool = False) -> BlockOp:
    """A ``tir.block`` at the insertion point; its regions hold only their terminators. ``extents``: None where not constant."""
    strings = {"axes": axes, "kinds": kinds}
    attributes: dict[str, ir.Attribute] = {n: ir.ArrayAttr.get([ir.StringAttr.get(s) for s in v]) for n, v in strings.items()}
    attributes["name"] = ir.StringAttr.get(name)
    attributes["extents"] = ir.DenseI64ArrayAttr.get([DYNAMIC if e is None else e for e in extents])
    block = ir.Operation.create("tir.block", [], list(values), attributes, regions=2)
    for region in block.regions if init else [block.regions[1]]:
        with ir.InsertionPoint(region.blocks.append(*[ir.IndexType.get()] * len(axes))):
            make_yield()
    return block.opview


def make_buffer(type_: ir.MemRefType, name: str, scope: str = "global", sizes: Sequence[ir.Value] = ()) -> ir.Value:
    """A ``tir.alloc_buffer`` at the insertion point. ``sizes``: the dynamic sizes."""
    attributes = {"name": ir.StringAttr.get(name), "scope": ir.StringAttr.get(scope)}
    return ir.Operation.create("tir.alloc_buffer", [type_], list(sizes), attributes).results[0]


def before_end(block: ir.Block) -> ir.InsertionPoint:
    """The insertion point before a block's terminator."""
    return ir.InsertionPoint.at_block_terminator(block)


@contextmanager
def loop(lower: ir.Value, upper: ir.Value, kind: str = SERIAL, name: str = "i", thread: str | None = None) -> Iterator[ForOp]:
    """A ``tir.for`` at the insertion point; ops built in the ``with`` block become its body."""
    made = make_for(lower, upper, kind, name, thread)
    with before_end(made.block):
        yield made
