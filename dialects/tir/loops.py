"""Ops of kernels that are written as loops: loops of TIR's kinds, blocks with named axes, buffers with scopes."""
# fields of ops are annotated by what the bindings make of them
# pyright: reportInvalidTypeForm=false

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from legato.core.mlir import arith, ext, ir
from legato.dialects.tir.dialect import Tir
from legato.dialects.tir.verify import Problem, verified

SERIAL, PARALLEL, VECTORIZED, UNROLLED, THREAD = "serial", "parallel", "vectorized", "unrolled", "thread"
KINDS = (SERIAL, PARALLEL, VECTORIZED, UNROLLED, THREAD)
THREADS = tuple(f"{level}Idx.{axis}" for level in ("block", "thread") for axis in "xyz")
SPATIAL, REDUCE, OPAQUE = "spatial", "reduce", "opaque"
AXIS_KINDS = (SPATIAL, REDUCE, OPAQUE)
DYNAMIC = ir.ShapedType.get_dynamic_size()


@verified
class YieldOp(Tir.Operation, name="yield", traits=[ir.IsTerminatorTrait]):
    """Ends the body of a ``tir.for`` and the regions of a ``tir.block``."""

    def check(self) -> None:
        if self.operation.parent.name not in ("tir.for", "tir.block"):
            raise Problem(f"ends a body of tir.for or tir.block, not of {self.operation.parent.name}")


@verified
class ForOp(Tir.Operation, name="for"):
    """A loop from a lower to an upper bound by steps of 1, of a kind.

    ``kind``: ``serial``, ``parallel`` (iterations in any order, on several cores), ``vectorized`` (the steps are the lanes of vectors),
    ``unrolled``, or ``thread`` (each step is a thread of a device; ``thread`` says which: ``blockIdx.x`` ... ``threadIdx.z``).
    ``name``: what the loop variable is called. The body has one argument, the loop variable.

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
        attributes = self.operation.attributes
        for name in attributes:
            if name not in self.OPTIONAL and "." not in name:
                raise Problem(f"has no attribute '{name}'; it has: {', '.join(self.OPTIONAL)}")
        if self.kind not in KINDS:
            raise Problem(f"knows the kinds {', '.join(KINDS)}, not '{self.kind}'")
        thread = self.thread
        if (self.kind == THREAD) != (thread is not None):
            raise Problem("names a thread axis if, and only if, its kind is 'thread'")
        if thread is not None and thread not in THREADS:
            raise Problem(f"knows the thread axes {', '.join(THREADS)}, not '{thread}'")
        _one_block(self.operation.regions[0], 1, "its body")

    @property
    def kind(self) -> str:
        return text(self.operation, "kind", SERIAL)

    @property
    def name(self) -> str:
        return text(self.operation, "name", "i")

    @property
    def thread(self) -> str | None:
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
        operands = self.operation.operands
        return operands[0], operands[1]

    @property
    def extent(self) -> int | None:
        """The number of steps, where it is known."""
        lower, upper = (constant_of(v) for v in self.bounds)
        return None if lower is None or upper is None else upper - lower


@verified
class BlockOp(Tir.Operation, name="block"):
    """A statement with axes of its own: what it does for one value of each axis does not depend on the loops around it.

    ``name``; ``axes``: the axes' names; ``kinds``: ``spatial`` (different values write different places), ``reduce`` (they are added up, in
    any order) or ``opaque``; ``extents``: how many values an axis takes, where known. The operands are the values that the axes take,
    computed from the loop variables. Two regions with the axes as arguments: the first, ``init``, which may be empty, is run where all
    reduce axes are 0, before the second, the body. A predicate is an ``scf.if`` around the block. The parts of buffers that a block reads
    and writes are not written down: they are seen in its body.

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
        operation = self.operation
        for name in operation.attributes:
            if name not in self.OPTIONAL and "." not in name:
                raise Problem(f"has no attribute '{name}'; it has: {', '.join(self.OPTIONAL)}")
        count = len(operation.operands)
        for attribute, what in (("axes", "axes"), ("kinds", "kinds of axes"), ("extents", "extents")):
            found = len(operation.attributes[attribute]) if attribute in operation.attributes else 0
            if found != count:
                raise Problem(f"'{self.name}' has {found} {what} for {count} values")
        if len(set(self.axes)) != count:
            raise Problem(f"'{self.name}' has two axes of one name: {', '.join(self.axes)}")
        for axis, kind in zip(self.axes, self.kinds):
            if kind not in AXIS_KINDS:
                raise Problem(f"'{self.name}': the axis {axis} is {', '.join(AXIS_KINDS)}, not '{kind}'")
        for number, (axis, value) in enumerate(zip(self.axes, operation.operands)):
            loop = loop_of(value)
            if loop is not None and value in list(operation.operands)[:number]:
                other = self.axes[list(operation.operands).index(value)]
                raise Problem(f"'{self.name}' binds the axes {other} and {axis} both to the loop {loop.name}: no two axes can take one "
                              "loop's values, or not all their values would meet")
        _one_block(operation.regions[1], count, "its body")
        if len(operation.regions[0].blocks):
            _one_block(operation.regions[0], count, "its init")
            if REDUCE not in self.kinds:
                raise Problem(f"'{self.name}' has an init, but no reduce axis")

    @property
    def name(self) -> str:
        return text(self.operation, "name", "block")

    @property
    def axes(self) -> list[str]:
        return _texts(self.operation, "axes")

    @property
    def kinds(self) -> list[str]:
        return _texts(self.operation, "kinds")

    @property
    def extents(self) -> list[int | None]:
        found = self.operation.attributes["extents"] if "extents" in self.operation.attributes else ()
        return [None if e == DYNAMIC else e for e in found]

    @property
    def init_block(self) -> ir.Block | None:
        blocks = self.operation.regions[0].blocks
        return blocks[0] if len(blocks) else None

    @property
    def block(self) -> ir.Block:
        """The block of the body."""
        return self.operation.regions[1].blocks[0]


BlockOp._ODS_OPERAND_SEGMENTS = None  # one variadic group needs no attribute with its size
BlockOp.values = property(lambda self: list(self.operation.operands))


@verified
class AllocBufferOp(Tir.Operation, name="alloc_buffer"):
    """A buffer that lives as long as the code that uses it.

    ``scope`` says where it lies: ``global``, ``shared``, ``local``, or a device's own. It is made as large as what its users touch while it
    lives: a ``local`` buffer inside a tile holds the tile.

    ```mlir
    %b = "tir.alloc_buffer"() {name = "C_local", scope = "local"} : () -> memref<128x128xf32>
    ```
    """

    sizes: Sequence[ext.Operand[ir.IndexType]]
    buffer: ext.Result[Any]

    def check(self) -> None:
        type_ = self.operation.results[0].type
        if not isinstance(type_, ir.MemRefType):
            raise Problem(f"makes a memref, not {type_}")
        dynamic = sum(size == DYNAMIC for size in type_.shape)
        if dynamic != len(self.operation.operands):
            raise Problem(f"of {type_} needs {dynamic} sizes, has {len(self.operation.operands)}")

    @property
    def name(self) -> str:
        return text(self.operation, "name", "buffer")

    @property
    def scope(self) -> str:
        return text(self.operation, "scope", "global")


AllocBufferOp._ODS_OPERAND_SEGMENTS = None


def _one_block(region: ir.Region, arguments: int, what: str) -> None:
    blocks = list(region.blocks)
    if len(blocks) != 1 or [str(a.type) for a in blocks[0].arguments] != ["index"] * arguments:
        raise Problem(f"{what} must be one block with {arguments} arguments of type index")
    operations = list(blocks[0].operations)
    if not operations or operations[-1].operation.name != "tir.yield":
        raise Problem(f"{what} must end with tir.yield")


def text(op: ir.Operation, name: str, default: Any) -> Any:
    """A string attribute's value."""
    return op.attributes[name].value if name in op.attributes else default


def _texts(op: ir.Operation, name: str) -> list[str]:
    return [a.value for a in op.attributes[name]] if name in op.attributes else []


def constant_of(value: ir.Value) -> int | None:
    """The value of an integer constant; None for anything else."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant" or not isinstance(owner.attributes["value"], ir.IntegerAttr):
        return None
    return owner.attributes["value"].value


def loop_of(value: ir.Value) -> ForOp | None:
    """The loop whose variable a value is."""
    owner = value.owner
    if not isinstance(owner, ir.Block) or owner.owner.operation.name != "tir.for":
        return None
    return owner.owner.operation.opview


def index(value: int) -> ir.Value:
    """An index constant at the insertion point."""
    return arith.ConstantOp(ir.IndexType.get(), value).result


def make_for(lower: ir.Value, upper: ir.Value, kind: str = SERIAL, name: str = "i", thread: str | None = None) -> ForOp:
    """A loop at the insertion point; its body holds only the terminator."""
    attributes = {"kind": ir.StringAttr.get(kind), "name": ir.StringAttr.get(name)}
    if thread is not None:
        attributes["thread"] = ir.StringAttr.get(thread)
    loop = ir.Operation.create("tir.for", [], [lower, upper], attributes, regions=1)
    body = loop.regions[0].blocks.append(ir.IndexType.get())
    with ir.InsertionPoint(body):
        make_yield()
    return loop.opview


def make_yield() -> None:
    ir.Operation.create("tir.yield")


def make_block(name: str, axes: Sequence[str], kinds: Sequence[str], extents: Sequence[int | None], values: Sequence[ir.Value],
               init: bool = False) -> BlockOp:
    """A block at the insertion point; its regions hold only their terminators."""
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
    """A buffer at the insertion point."""
    attributes = {"name": ir.StringAttr.get(name), "scope": ir.StringAttr.get(scope)}
    return ir.Operation.create("tir.alloc_buffer", [type_], list(sizes), attributes).results[0]


def before_end(block: ir.Block) -> ir.InsertionPoint:
    """The insertion point in front of a block's terminator."""
    return ir.InsertionPoint.at_block_terminator(block)


@contextmanager
def loop(lower: ir.Value, upper: ir.Value, kind: str = SERIAL, name: str = "i", thread: str | None = None) -> Iterator[ForOp]:
    """A loop at the insertion point; what is built inside is its body."""
    made = make_for(lower, upper, kind, name, thread)
    with before_end(made.block):
        yield made
