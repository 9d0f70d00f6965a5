"""Graphs: what main launches and copies for one set of sizes, which a call submits at once.

A lane keeps the graphs of the sizes that were used last. The first call of a set of sizes makes its graph node by node; later ones change
the nodes whose pointers are others (nodes.py). Where the driver does not take a graph, its call launches kernel by kernel, which also says
what is wrong, if something is."""
from legato.codegen.entry.abi import calloc, free
from legato.codegen.entry.cuda.driver import cuGraphCreate, cuGraphDestroy, cuGraphExecDestroy, cuGraphInstantiate, cuGraphLaunch
from legato.codegen.entry.cuda.layouts import DRIVER, GRAPHS, CudaRun, Lane, LaunchGraph
from legato.codegen.entry.layouts import COUNTS
from legato.codegen.native.language import Pointer, Words, address, size_of


def graph_of(lane: Lane, symbols: Words) -> LaunchGraph:
    """The lane's graph for a call of these sizes, or an empty one, in the place of the one that was unused longest. Null if there can be
    none."""
    lane.calls += 1
    oldest = 0
    for g in range(GRAPHS):
        graph = LaunchGraph(lane.graphs[g])
        if graph:
            if is_for(graph, symbols):
                graph.used = lane.calls
                graph.at = 0
                return graph
        if used_in(lane, g) < used_in(lane, oldest):
            oldest = g
    if lane.graphs[oldest] != 0:
        drop_graph(lane, LaunchGraph(lane.graphs[oldest]))
    made = LaunchGraph(calloc(1, size_of(LaunchGraph) + 8 * COUNTS.symbols))
    if not made:
        return made
    if cuGraphCreate(DRIVER.cuGraphCreate, address(made.template), 0) != 0:
        free(made)
        return LaunchGraph(0)
    for s in range(COUNTS.symbols):
        made.symbols[s] = symbols[s]
    made.used = lane.calls
    lane.graphs[oldest] = int(made)
    return made


def is_for(graph: LaunchGraph, symbols: Words) -> bool:
    """Whether a graph is for these sizes."""
    for s in range(COUNTS.symbols):
        if graph.symbols[s] != symbols[s]:
            return False
    return True


def used_in(lane: Lane, place: int) -> int:
    """The lane's call that used the graph of a place last; 0 for an empty place."""
    return LaunchGraph(lane.graphs[place]).used if lane.graphs[place] != 0 else 0


def launch_graph(run: CudaRun) -> bool:
    """Submits the graph of a call, whose main has run. False if it cannot be used; then nothing has been submitted."""
    graph = run.graph
    if run.failed != 0 or graph.failed != 0 or graph.at != graph.count:
        return False
    if graph.count == 0:
        return True
    if not graph.ready:
        if cuGraphInstantiate(DRIVER.cuGraphInstantiateWithFlags, address(graph.ready), graph.template, 0) != 0:
            graph.ready = Pointer(0)
            return False
    return cuGraphLaunch(DRIVER.cuGraphLaunch, graph.ready, run.stream) == 0


def drop_graph(lane: Lane, graph: LaunchGraph) -> None:
    """Frees a graph of a lane. What it has submitted is still done."""
    for g in range(GRAPHS):
        if lane.graphs[g] == int(graph):
            lane.graphs[g] = 0
    if graph.ready:
        cuGraphExecDestroy(DRIVER.cuGraphExecDestroy, graph.ready)
    cuGraphDestroy(DRIVER.cuGraphDestroy, graph.template)
    for n in range(graph.count):
        free(Pointer(graph.nodes[n]))
    if graph.nodes:
        free(graph.nodes)
    free(graph)


def free_graphs(lane: Lane) -> None:
    """Frees all graphs of a lane."""
    for g in range(GRAPHS):
        if lane.graphs[g] != 0:
            drop_graph(lane, LaunchGraph(lane.graphs[g]))
