"""Register tiles, and the parts that threads get: what is chosen has to cover everything, and to fit."""
import pytest
from harness import MATMUL

from legato.analysis.structured import StructuredKernel
from legato.core.mlir import ir
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.register_tiles import choose, fits, steps
from legato.targets.cpu.threads import parallel_part


@pytest.mark.parametrize("fills", [False, True])
@pytest.mark.parametrize("lanes, registers", [(16, 32), (8, 16), (4, 16), (8, 32)])
def test_tiles_cover_everything_and_fit(lanes, registers, fills):
    for rows in (*range(1, 65), 149, None):
        for columns in (*range(1, 70), 125, 255, 1000, 4096, None):
            tiles = choose(rows, columns, lanes, registers, fills=fills)
            for width in tiles.columns:
                vectors = -(-width // lanes)
                assert vectors & (vectors - 1) == 0 or (fills and rows == 1)
                assert width & (width - 1) == 0 or (fills and width == tiles.columns[-1])
                assert fits(tiles.rows[0], vectors, registers)
            left = columns
            for width in tiles.columns:
                left = None if left is None else left % width
            assert left == 0 if columns is not None else tiles.columns[-1] == 1
            if rows is None:
                assert tiles.rows[-1] == 1
            else:
                assert rows % tiles.rows[0] == (tiles.rows[1] if len(tiles.rows) > 1 else 0)


def test_tiles_of_common_layers():
    assert choose(384, 512, 16, 32).rows == (12,) and choose(384, 512, 16, 32).columns == (32,)
    assert choose(56, 64, 16, 32).rows == (14,)
    assert choose(384, 512, 8, 16) == choose(384, 512, 8, 16, width=16)
    assert choose(384, 512, 8, 16).rows == (6,)
    assert choose(196, 256, 16, 32, most=8).rows[0] <= 8
    assert choose(1500, 384, 16, 32, far_lines=1 / 16).columns == (64,)  # rows from beyond the L2 cache are read half as often


def test_the_last_columns_are_one_tile():
    assert choose(258, 13, 16, 32, fills=True).columns == (13,) and choose(258, 13, 16, 32).columns == (8, 4, 1)
    assert choose(258, 24, 16, 32, fills=True).columns == (24,)
    assert choose(258, 45, 16, 32, fills=True).columns == (32, 13)
    assert choose(258, 88, 8, 16, fills=True).columns == (16, 8)
    assert choose(258, 29, 16, 32, 29, fills=True).columns == (29,)
    assert choose(1, 1000, 16, 32, 128, fills=True).columns == (128, 104)       # read in one go, where two rows take (128, 64, 32, 8)
    assert choose(2, 1000, 16, 32, 128, fills=True).columns == (128, 64, 32, 8)


def test_columns_of_unknown_number_end_in_a_vector_and_less():
    assert choose(196, None, 16, 32).columns[-5:] == (16, 8, 4, 2, 1) and choose(196, None, 8, 16).columns[-4:] == (8, 4, 2, 1)
    assert choose(196, None, 16, 32, width=16).columns == (16, 8, 4, 2, 1)


def test_a_step_is_as_long_as_its_bottleneck():
    assert steps(14, 2) < 1.05 * 28 + 1  # multiply-adds
    assert steps(1, 1) == steps(4, 1)  # latency
    assert steps(28, 1) > 28 + 1  # loads


@pytest.mark.parametrize("m, n, k, threads, expected", [
    (128, 512, 512, 1, None),
    (8, 8, 8, 4, None),  # not worth it
    (8, 1024, 1024, 2, (1, 128)),  # the larger operand is cut
    (1024, 64, 64, 2, (0, 128)),
    (1024, 96, 64, 4, (0, 128)),
    (9, 96, 4096, 2, (1, 32)),  # three blocks for two threads
    ("?", 512, 512, 2, (1, 64)),
    (1, 512, 512, 2, (1, 256)),  # reading the second factor takes as long as four rows
    (2, 512, 512, 2, (1, 256)),
    (2, 512, 256, 2, None),
    (8, 256, 256, 2, None),
    (79, 1322, 2370, 2, (1, 32)),  # 41 tiles; 10 columns are left
    (53, 330, 512, 2, (1, 160)),
    (53, 70, 512, 2, (1, 32)),
    (53, 45, 1024, 2, (0, 26)),  # and a row
    (785, 608, 152, 2, (0, 392)),  # 19 tiles of columns are no two equal parts
    (7, 96, 4096, 2, (1, 32)),  # a row that is left takes as long as four
    (1571, 456, 152, 3, (0, 523)),
    (64, 50257, 768, 2, (1, 25120)),  # parts of few rows would each read the weight from memory
    (128, 50257, 768, 2, (0, 64)),  # those of more read it while they multiply, which four times as many would not
])
def test_parts_of_threads(m, n, k, threads, expected):
    machine = Machine("x86-64-v4", "", vector_bytes=64, registers=32, threads=threads, l2_bytes=1 << 20)
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(MATMUL.format(m=m, n=n, k=k))
        form = StructuredKernel(module.body.operations[0]).contraction
        assert parallel_part(form, (8, 32), machine) == dict([expected] if expected else [])


@pytest.mark.parametrize("m, n, expected", [(2, 512, {1: 256}), (2, 480, {}), (4, 512, {})])
def test_threads_that_are_awake_share_what_takes_half_as_long_to_read(m, n, expected):
    machine = Machine("x86-64-v4", "", vector_bytes=64, registers=32, threads=2, l2_bytes=1 << 20, awake=True)
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(MATMUL.format(m=m, n=n, k=256))
        assert parallel_part(StructuredKernel(module.body.operations[0]).contraction, (8, 32), machine) == expected
