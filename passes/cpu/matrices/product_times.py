"""The time that a product of f32 in parts of bf16 takes, and the sizes that it depends on."""
from legato.core.interfaces import CpuMachine
from legato.passes.cpu.matrices.packing import BYTES, STEP, PartsPacking
from legato.passes.cpu.matrices.products import SIDE

ROWS = 2 * SIDE         # of a tile: two matrices
MANY_ROWS = 8 * ROWS
OF_ROWS, OF_WEIGHT = 0.55, 0.5   # of the second cache, that parts of the rows at hand take, or of a weight that stays there

# nanoseconds of a Xeon with AMX, whose ratios matter
PRODUCT = 150           # of a step of a tile and a panel, whose parts are packed
FAR_PRODUCT = 170       # where they are made when the kernel runs
READ_NEAR = 150         # to read a step of a panel that is packed in parts
SPLIT_FAR = 210         # to split one that is packed in f32, beside the products of the one before
SPLIT_ROWS = 170        # of a step of a tile's rows
OF_OTHERS = 480         # more, of such a step that another thread wrote
SUMS = 200              # of a tile and a panel, to write and read their sums
SUMS_OF_OTHERS = 500    # more, of such sums that another thread wrote
IN_F32 = 0.01           # of a multiply-add, where numbers are not split
SURELY = 0.93           # of the time in f32, that a product takes at most that surely pays


def ends_in_half(rows: int) -> bool:
    """Whether the last tile of so many rows is half of one, a matrix that holds its rows. Not if it is one of many: then its loops would
    take longer to be compiled than they save."""
    return 0 < rows % ROWS <= SIDE and rows <= MANY_ROWS


def tiles_in(rows: int) -> float:
    """The tiles of so many rows."""
    return -(-rows // ROWS) - (0.5 if ends_in_half(rows) else 0)


def time_of(tiles: float, panels: int, chunks: int, packing: PartsPacking, steps: int | None = None) -> float:
    """Of some tiles by some panels, when parts of a chunk of the tiles are at hand at a time. ``steps``: of the depth; None: all."""
    steps = packing.steps if steps is None else steps
    if packing.at_run_time:
        of_step = tiles * FAR_PRODUCT + chunks * SPLIT_FAR
    else:
        of_step = tiles * PRODUCT + READ_NEAR
    return panels * (steps * of_step + tiles * SUMS) + tiles * steps * SPLIT_ROWS


def time_in_f32(rows: int, packing: PartsPacking, threads: int) -> float:
    """Of a thread, where numbers are not split."""
    return rows * packing.depth * packing.columns * IN_F32 / threads


def is_near(packing: PartsPacking, machine: CpuMachine) -> bool:
    """Whether a weight in parts stays in a core's second cache."""
    return packing.split_bytes <= machine.l2_bytes * OF_WEIGHT


def tiles_at_hand(packing: PartsPacking, machine: CpuMachine) -> int:
    """The tiles of rows whose parts stay in a core's second cache, for a block of the depth."""
    return max(1, int(machine.l2_bytes * OF_ROWS) // (ROWS * packing.in_block * STEP * packing.parts * BYTES))
