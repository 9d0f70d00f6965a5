"""The blocks of rows, queries and keys that stay in caches: as many as pay, and none that is much smaller than the others."""
from dataclasses import replace

import pytest
from attention_graphs import Graph
from harness import MATMUL

import legato
from legato.analysis.structured import StructuredKernel
from legato.core.mlir import ir
from legato.dialects import tir
from legato.targets.cpu.attention import AttentionTiles, choose_attention
from legato.targets.cpu.contraction import tiles_of
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.row_blocks import row_block

AVX2 = Machine("x86-64-v3", "", vector_bytes=32, registers=16, l2_bytes=512 << 10, l3_bytes=8 << 20)


@pytest.mark.parametrize("m, k, n, l3, expected", [
    (128, 384, 1536, AVX2.l3_bytes, None),              # 192 KB of rows stay in the cache
    (1500, 384, 1536, AVX2.l3_bytes, (0, 150, 0)),      # blocks that leave no rest
    (1501, 384, 1536, AVX2.l3_bytes, (0, 168, 157)),    # or a rest that is about as large: it reads the whole weight, too
    (1500, 512, 1024, AVX2.l3_bytes, (0, 126, 114)),
    (1500, 512, 1024, 2 << 20, None),                   # the weight would come from memory for each block
    (1500, 512, 1024, 0, None),                         # as it would without a last cache
    (197, 3072, 768, AVX2.l3_bytes, None),              # 9 MB of weights for each block of 42 rows take longer than the rows do
    ("?", 384, 64, AVX2.l3_bytes, (0, 144, None)),      # beside 96 KB of weights the results of a block stay in the cache, too
])
def test_blocks_of_rows(m, k, n, l3, expected):
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(MATMUL.format(m=m, k=k, n=n))
        form, machine = StructuredKernel(module.body.operations[0]).contraction, replace(AVX2, l3_bytes=l3)
        assert row_block(form, machine, tiles_of(form, machine)) == expected


def attention(heads: int, m: int | str, n: int | str, depth: int, threads: int = 1) -> AttentionTiles:
    """The sizes that AVX2 gets for one attention."""
    graph = Graph()
    graph.attention("y", heads, m, n, depth)
    module = legato.lower(legato.from_onnx(graph.model), "llvm{cpu=x86-64-v3}", last="fused")
    with module.context:
        found = (choose_attention(StructuredKernel(kernel), replace(AVX2, threads=threads)) for kernel in tir.schedulable(module.module))
        return next(tiles for tiles in found if tiles is not None)


def test_keys_and_values_are_copied_for_many_queries():
    """Queries and their sums stream through the L2 cache, of which a block of keys and values takes a half."""
    tiles = attention(6, 1500, 1500, 64)
    assert (tiles.queries, tiles.keys) == (750, 512)
    assert attention(12, 197, 197, 64).queries == 198
    assert attention(6, "m", "n", 64).queries == 252     # of an unknown number: the state of a block takes memory in any case


@pytest.mark.parametrize("heads, threads, queries", [(6, 2, 750), (1, 2, 252), (1, 8, 252), (4, 4, 378)])
def test_threads_have_blocks_of_queries(heads, threads, queries):
    """Four for each thread, unless these were smaller than what a quarter of the L2 cache holds."""
    assert attention(heads, 1500, 1500, 64, threads).queries == queries
