"""Models for a device that a runtime engine drives: the whole graph is its artifact; the host checks arguments and calls it."""
from collections.abc import Callable, Mapping
from typing import Protocol

from legato.analysis.data_sizes import symbols_of_type
from legato.codegen import vulkan
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects.artifacts import Artifact
from legato.dialects.module import Module
from legato.dialects.relax.markers import CODEGEN, CONSTANT_INPUTS, DONATED, INPUT_FORMS, OUTPUT_FORMS
from legato.dialects.relax.requirements import require, requirements
from legato.passes.partition.outline_external import OutlineExternal
from legato.passes.partition.run_codegen import RunCodegen
from legato.passes.pipeline.base import BackendName, PassContext
from legato.passes.pipeline.pipeline import PassPipeline
from legato.targets.backend import Backend

BLOBS: dict[str, Callable[[Module], Artifact]] = {"vulkan": vulkan.blob}   # by the engine of a target


class Lower(Protocol):
    """The pipeline of the device's target: from a stage (None: a graph) to another (None: the end)."""

    def __call__(self, module: Module, from_stage: str | None, last: str | None) -> Module: ...


class DeviceBackend(Backend):
    """The device as a backend that takes the whole graph."""

    requires = ("vulkan",)

    def __init__(self, engine: str, lower: Lower) -> None:
        self.name, self.engine, self.lower = engine, engine, lower

    def codegen(self, module: Module, options: Mapping[str, str]) -> Artifact:
        return BLOBS[self.engine](self.lower(module, "relax", None))


def offload(module: Module, engine: str, lower: Lower) -> Module:
    """The graph for the host, whose main calls the device's artifact. LegatoError for an engine that is not known, and for what the
    device cannot do."""
    if engine not in BLOBS:
        raise LegatoError(f"there is no engine '{engine}' that runs a target's code; there are: {', '.join(BLOBS)}")
    graph = lower(module, None, "relax")
    main = graph.function("main")
    kept = {name: main.attributes[name] for name in (INPUT_FORMS, OUTPUT_FORMS, DONATED, CONSTANT_INPUTS) if name in main.attributes}
    given = {name for type_ in main.type.inputs for name in symbols_of_type(type_)}
    required = [row for row in requirements(main) if row.known_by(given)]     # the device checks what depends on data
    if DONATED in kept:     # the device has memory of its own; the host copies results to that of arguments
        del main.attributes[DONATED]
    device = DeviceBackend(engine, lower)
    with graph.context, ir.Location.unknown():
        main.attributes[CODEGEN] = ir.StringAttr.get(engine)
        context = PassContext(resolve_backend=lambda name: device)
        PassPipeline([OutlineExternal(engine, returns=True), RunCodegen(BackendName(engine))]).run(graph, context)
        for name, value in kept.items():
            graph.function("main").attributes[name] = value
        require(graph.function("main"), required)
    return graph
