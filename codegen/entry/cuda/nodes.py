"""Nodes of a graph: launches and copies, one after the other. A later call of the same sizes compares what it wants with what is there, and
changes the nodes whose pointers or numbers are others. A failure makes the graph unusable, and is no error of the call: graphs.py."""
from typing import Annotated

from legato.codegen.entry.abi import malloc, memcpy
from legato.codegen.entry.cuda.driver import (
    cuGraphAddKernelNode,
    cuGraphAddMemcpyNode,
    cuGraphExecKernelNodeSetParams,
    cuGraphExecMemcpyNodeSetParams,
)
from legato.codegen.entry.cuda.layouts import DRIVER, CudaRun, GraphNode, LaunchGraph
from legato.codegen.native.language import Inline, Int32, Pointer, Struct, Words, address, extern, size_of, stack

SIZES = 8               # of a launch: grid, block, dynamic shared memory, how many of the last parameters are tensor maps
COPY = -1               # in the place of a kernel's number
OTHER = -1              # a graph's failure: the call wants something else than the graph has
OUT_OF_MEMORY = -2      # likewise: of the host
FIRST_ROOM = 64         # of nodes
OF_DEVICE = 2           # CU_MEMORYTYPE_DEVICE


class KernelParameters(Struct):
    """CUDA_KERNEL_NODE_PARAMS_v2. ``kernel``, ``context``: not looked at where there is a function."""

    function: Pointer
    grid_x: Int32
    grid_y: Int32
    grid_z: Int32
    block_x: Int32
    block_y: Int32
    block_z: Int32
    shared: Int32
    parameters: Words
    extra: Pointer
    kernel: Pointer
    context: Pointer


class CopySide(Struct):
    """One half of CUDA_MEMCPY3D_v2."""

    x: int
    y: int
    z: int
    lod: int
    kind: int
    host: Pointer
    device: int
    array: Pointer
    reserved: Pointer
    pitch: int
    height: int


class CopyParameters(Struct):
    """CUDA_MEMCPY3D_v2: ``sides`` are the source and the destination, then come the copy's sizes."""

    sides: Annotated[CopySide, Inline(2)]
    width: int
    height: int
    depth: int


def add_launch(run: CudaRun, kernel: int, sizes: Words, places: Words, count: int) -> None:
    """A launch of a kernel. ``sizes``: ``SIZES`` words, then ``count`` parameters; ``places``: their addresses.

    Of a tensor map the words have the address in main's frame only. What is in the map follows from the address of its buffer, which is
    another parameter, and from the graph's sizes.
    """
    graph = run.graph
    node = next_node(graph, kernel, sizes, SIZES + count)
    if not node:
        return
    to = stack(KernelParameters)
    to.function = Pointer(run.device.functions[kernel])
    to.grid_x = sizes[0]
    to.grid_y = sizes[1]
    to.grid_z = sizes[2]
    to.block_x = sizes[3]
    to.block_y = sizes[4]
    to.block_z = sizes[5]
    to.shared = sizes[6]
    to.parameters = places
    to.extra = Pointer(0)
    to.kernel = Pointer(0)
    to.context = Pointer(0)
    if graph.ready:
        graph.failed = cuGraphExecKernelNodeSetParams(DRIVER.cuGraphExecKernelNodeSetParams_v2, graph.ready, node.handle, to)
    else:
        graph.failed = cuGraphAddKernelNode(DRIVER.cuGraphAddKernelNode_v2, address(node.handle), graph.template, handle_before(graph),
                                            1 if graph.at > 1 else 0, to)


def add_copy(run: CudaRun, to: int, source: int, size: int) -> None:
    """A copy on the device."""
    graph = run.graph
    words = stack(Words, 3)
    words[0] = to
    words[1] = source
    words[2] = size
    node = next_node(graph, COPY, words, 3)
    if not node:
        return
    copy = stack(CopyParameters)
    for i in range(size_of(CopyParameters) // 8):
        Words(copy)[i] = 0
    copy.sides[0].kind = OF_DEVICE
    copy.sides[0].device = source
    copy.sides[1].kind = OF_DEVICE
    copy.sides[1].device = to
    copy.width = size
    copy.height = 1
    copy.depth = 1
    context = run.device.context
    if graph.ready:
        graph.failed = cuGraphExecMemcpyNodeSetParams(DRIVER.cuGraphExecMemcpyNodeSetParams, graph.ready, node.handle, copy, context)
    else:
        graph.failed = cuGraphAddMemcpyNode(DRIVER.cuGraphAddMemcpyNode, address(node.handle), graph.template, handle_before(graph),
                                            1 if graph.at > 1 else 0, copy, context)


def next_node(graph: LaunchGraph, kernel: int, words: Words, count: int) -> GraphNode:
    """The node for what the call wants next, if it has to be made or changed; it then has the words. Else null."""
    if graph.failed != 0:
        return GraphNode(0)
    at = graph.at
    graph.at = at + 1
    node = GraphNode(0)
    if graph.ready:
        if at < graph.count:
            node = GraphNode(graph.nodes[at])
        if not node or node.kernel != kernel or node.count != count:
            graph.failed = OTHER
            return GraphNode(0)
        if memcmp(node.words, words, 8 * count) == 0:
            return GraphNode(0)
    else:
        node = new_node(graph, kernel, count)
    if node:
        memcpy(node.words, words, 8 * count)
    return node


def new_node(graph: LaunchGraph, kernel: int, count: int) -> GraphNode:
    """Another node at the end. Null if out of memory, which makes the graph unusable."""
    if graph.count == graph.room:
        room = 2 * graph.room if graph.room > 0 else FIRST_ROOM
        nodes = Words(realloc(graph.nodes, 8 * room))
        if not nodes:
            graph.failed = OUT_OF_MEMORY
            return GraphNode(0)
        graph.nodes = nodes
        graph.room = room
    node = GraphNode(malloc(size_of(GraphNode) + 8 * count))
    if not node:
        graph.failed = OUT_OF_MEMORY
        return node
    node.handle = Pointer(0)
    node.kernel = kernel
    node.count = count
    graph.nodes[graph.count] = int(node)
    graph.count += 1
    return node


def handle_before(graph: LaunchGraph) -> Words:
    """The address of the handle of the node that the last one comes after; null for the first one."""
    return address(GraphNode(graph.nodes[graph.at - 2]).handle) if graph.at > 1 else Words(0)


@extern()
def realloc(memory: Pointer, size: int) -> Pointer: ...
@extern()
def memcmp(first: Pointer, second: Pointer, size: int) -> Int32: ...
