"""The sizes of blocks for attention computed as one kernel."""
from dataclasses import dataclass
from math import prod

from legato.analysis.structured import AttentionForm, StructuredKernel
from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.register_tiles import choose
from legato.targets.cpu.threads import PIECES, TYPICAL, WORTH_IT

VECTORS = 2        # of keys, or of columns of values, in a register tile; 1 for keys that fill no more
LARGEST_DEPTH = 256
MANY_ROWS = 64     # from here on, copies of keys and values cost less than what their order saves
FEW_ROWS = 8       # below, products read keys and values in a cache as fast as they could be copied
ONE_BY_ONE = 4     # up to here, rows read keys and values again faster than these are copied
FEW_OF_UNKNOWN = 8  # likewise rows of an unknown number, whose tiles fill less: the heads that share keys, at one token
FEW_KEYS = 64      # below, scores take as little time as copies of transposed keys
ROWS, COLUMNS = 32, 32     # of a tile of products of matrices: two by two registers
EXTRA_TILE = 1 / 32        # another kind of tile, relative to the whole: twice a product's, since each has a softmax, too
PAIR_BYTES = 6     # of a score and its exponential in bf16
PART_KEYS = 256    # of a block whose products are in parts of numbers
SURELY = 0.93      # of the time in f32, that these take at most

# nanoseconds of a Xeon with AMX, whose ratios matter
STEP_NS = 196      # of a tile by a tile along 32 elements of the depth, in three parts
SOFTMAX_NS = 540   # of a tile of scores, to make the parts of their exponentials, and of its share in copies
PRODUCT_NS = 0.0105     # of a multiply-add in f32
WEIGHT_NS = 0.3    # of a score in f32
FLOATS = (ir.F32Type, ir.F16Type, ir.BF16Type)


@dataclass(frozen=True)
class AttentionTiles:
    """The sizes of the blocks of an attention.

    ``rows`` by ``vectors`` of ``lanes``: a register tile; ``queries``, a multiple of rows: those for which keys and values are put into
    panels once; ``keys``, a multiple of a tile's columns: those whose scores are computed before they are used; ``copied``: which of
    "query", "key" and "value" are copied into the order in which they are read, the others being read in place; ``one_by_one``: so many
    rows or fewer are computed one by one, and read keys and values in place (0: not any); ``pairs``: whether other rows are computed by
    instructions on pairs of bf16, which have copies of their own, ``matrices``: on matrices of these, ``parts``: on as many parts of f32's
    numbers (0: of numbers rounded to bf16); ``registers``: the names of those
    that hold vectors; ``threads``: parts that run in parallel.
    """

    rows: int
    vectors: int
    lanes: int
    queries: int
    keys: int
    copied: tuple[str, ...]
    one_by_one: int
    pairs: bool
    matrices: bool
    parts: int
    registers: tuple[str, ...]
    threads: int


def choose_attention(kernel: StructuredKernel, machine: Machine) -> AttentionTiles | None:
    """The sizes of the blocks; None where the kernel computes no attention, or several kernels are as fast."""
    form = kernel.attention
    if form is None or form.out[-1] != "e":     # vectors of columns are stored: neighbours in the result must be columns
        return None
    rows, keys, depth, columns = (form.extent(term) for term in "mnde")
    if depth is None or columns is None or not (0 < depth <= LARGEST_DEPTH and 0 < columns <= LARGEST_DEPTH):
        return None
    if 0 in (rows, keys) or not all(isinstance(t, FLOATS) for t in _float_types(form)) or not _pays(form, machine):
        return None
    lanes = machine.lanes(32)
    vectors = 1 if keys is not None and keys <= lanes else VECTORS
    panel = vectors * lanes
    parts = machine.parts if _in_parts(form, machine) else 0
    pairs = parts > 0 or _in_pairs(form, machine)
    matrices = pairs and machine.has("amx-bf16")
    if pairs:
        vectors, panel = COLUMNS // lanes, COLUMNS
    if parts:
        tile = ROWS
    elif matrices:
        tile = ROWS if rows is None or rows > ROWS // 2 else ROWS // 2
    else:
        tile = choose(rows, panel, lanes, machine.registers, panel, extra_tile=EXTRA_TILE).rows[0]
    cached = machine.l2_bytes // (4 * 4 * (depth + columns))  # rows of two operands in a quarter of the L2 cache
    most_queries, most_keys = (cached, cached) if pairs else (_most_queries(form, machine, cached, tile), 2 * cached)
    most_keys = min(PART_KEYS if parts else machine.l1_bytes // ((PAIR_BYTES if pairs else 2 * 4) * tile), most_keys)
    queries, keys_at_once = _block(rows, most_queries, tile), _block(keys, most_keys, panel)
    few = (FEW_OF_UNKNOWN if rows is None else ONE_BY_ONE) if _one_by_one(form) else 0
    copied = tuple(name for name in _copied(form) if name == "query" and few) if pairs else _copied(form)
    return AttentionTiles(tile, vectors, lanes, queries, keys_at_once, copied, few, pairs, matrices, parts, machine.vector_registers,
                          _threads(form, machine))


def _in_pairs(form: AttentionForm, machine: Machine) -> bool:
    """Whether the products are those of pairs of bf16: of factors that are bf16, or may be rounded to it."""
    rows, keys, depth = (form.extent(term) for term in "mnd")
    if not machine.multiplies_pairs or (rows or FEW_ROWS) < FEW_ROWS or (keys or COLUMNS) < COLUMNS // 2 or (depth or 0) < FEW_ROWS:
        return False
    half = ir.F16Type.get()
    return form.in_bf16 or (machine.rounds_factors and half not in _float_types(form))


def _in_parts(form: AttentionForm, machine: Machine) -> bool:
    """Whether the products are those of numbers of f32 in parts of bf16, which has to take less time surely if it was not asked for. Of an
    unknown number of rows or keys there may be few, or some above whole tiles."""
    rows, keys, depth, columns = (form.extent(term) for term in "mnde")
    if not machine.parts or not all(isinstance(t, ir.F32Type) for t in _float_types(form)):
        return False
    if machine.always_parts:
        return (rows or ROWS) > ROWS // 2 and (keys or COLUMNS) > COLUMNS // 2
    if rows is None or keys is None:
        return False
    depth, columns = present(depth), present(columns)
    steps = -(-depth // COLUMNS) + -(-columns // COLUMNS)
    in_parts = -(-rows // ROWS) * -(-keys // COLUMNS) * (steps * STEP_NS + SOFTMAX_NS)
    return in_parts < SURELY * rows * keys * ((depth + columns) * PRODUCT_NS + WEIGHT_NS)


def _pays(form: AttentionForm, machine: Machine) -> bool:
    """Whether one kernel is faster than several: where the copies of keys and values serve several queries, and where a product would
    otherwise read keys and values from memory that it has to transpose."""
    rows, keys = form.extent("m"), form.extent("n")
    if rows is None:
        return not form.keys_are_columns
    if keys is not None and keys < (FEW_KEYS if form.keys_are_columns else machine.lanes(32)):
        return False
    return rows >= FEW_ROWS or _one_by_one(form) or (not form.keys_are_columns and _read_once(form) > machine.l2_bytes)


def _one_by_one(form: AttentionForm) -> bool:
    """Whether few rows are computed one by one: neighbours are elements of one key, and of one row of values."""
    rows = form.extent("m")
    in_order = not form.keys_are_columns and all(index[-1] == "e" for _, index in form.reads["value"])
    return in_order and (rows is None or rows <= ONE_BY_ONE)


def _read_once(form: AttentionForm) -> int:
    """The bytes of keys and values, of dynamic loops those of one step."""
    total = 4 * ((form.extent("d") or 1) + (form.extent("e") or 1))
    for term in ("n", *form.batch):
        total *= form.extent(term) or 1
    return total


def _copied(form: AttentionForm) -> tuple[str, ...]:
    """What is copied: what is computed from several elements or halves, keys that have to be transposed, and what many queries read."""
    rows = form.extent("m")
    if rows is not None and _one_by_one(form):
        return () if form.is_element("query") else ("query",)
    many = rows is None or rows >= MANY_ROWS
    copied = {"query": False, "key": many or not form.keys_are_columns, "value": many}
    return tuple(name for name, copy in copied.items() if copy or not form.is_element(name))


def _most_queries(form: AttentionForm, machine: Machine, cached: int, tile: int) -> int:
    """The queries of a block, for which keys and values are copied once: as many as the L2 cache holds with their sums, which stream
    through it, or fewer where threads would have too few blocks. ``cached``: those in a quarter of it."""
    rows, threads = form.extent("m"), _threads(form, machine)
    if rows is None:
        return cached
    heads = prod(form.extent(term) or 1 for term in form.batch)
    blocks = -(-PIECES[0] * threads // heads) if threads > 1 else 1
    return min(4 * cached, max(cached, -(-rows // (blocks * tile)) * tile))


def _block(extent: int | None, most: int, step: int) -> int:
    """The size of blocks, a multiple of ``step``: about equal, and no larger than ``most``."""
    most = most // step * step or step
    if extent is None:
        return most
    count = -(-extent // most)
    return -(-extent // (count * step)) * step


def _threads(form: AttentionForm, machine: Machine) -> int:
    work = 1
    for term in ("m", "n", "d", *form.batch):
        extent = form.extent(term)
        work *= TYPICAL if extent is None else extent
    return machine.threads if work >= WORTH_IT else 1


def _float_types(form: AttentionForm) -> list[ir.Type]:
    """The element types of the products and their operands, and of the result."""
    read = [tensor.type for name in ("query", "key", "value") for tensor, _ in form.reads[name]]
    made = [op.op.results[0].type for op in form.products]
    types = [*read, *made, form.kernel.ops[-1].operands[0].type, form.scores[0].type]
    return [t.element_type for t in types if isinstance(t, ir.RankedTensorType)]
