"""Legato's Vulkan runtime beside the package ``wgpu``, on the same kernels: ``python -m bench.gpu.beside_wgpu [MODEL.onnx...]``.

It needs ``pip install wgpu``, on a Vulkan driver. Three models are run by both: one of many small launches that wait for each other, a
product, and a copy of 64 MiB. Of each MODEL, and of these, it says how many kernels wgpu takes, and why it refuses the others: wgpu
parses SPIR-V, checks it, and writes its own. Times are medians in milliseconds, of calls that take turns.
"""
from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

import legato
from bench.timing import in_turns
from legato.codegen.spirv import binaries
from legato.codegen.vulkan import blob
from legato.runtime.vulkan.commands import record
from legato.runtime.vulkan.device import the_device
from legato.runtime.vulkan.model import VulkanModel
from legato.runtime.vulkan.plan import Run
from legato.runtime.vulkan.planned import PlannedLaunch

LAUNCHES, SIDE, COPIED = 100, 512, 64 << 20


def chain(launches: int, size: int = 32) -> ModelProto:
    """Small products, each of the one before."""
    weight = (np.eye(size) + np.ones((size, size)) / size).astype(np.float32) / 2
    nodes = [helper.make_node("MatMul", [f"x{i}" if i else "x", "w"], [f"x{i + 1}" if i + 1 < launches else "y"]) for i in range(launches)]
    return of_nodes(nodes, [size, size], w=weight)


def product(side: int) -> ModelProto:
    """A product of square matrices."""
    return of_nodes([helper.make_node("MatMul", ["x", "w"], ["y"])], [side, side], w=np.ones((side, side), np.float32) / side)


def of_nodes(nodes: Sequence[Any], shape: Sequence[int], **weights: np.ndarray) -> ModelProto:
    """A model whose input x and result y have a shape."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy")
    graph = helper.make_graph(nodes, "model", [x], [y], [numpy_helper.from_array(array, name) for name, array in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


class PlainRun:
    """A model by Legato's runtime, with the steps of a run on its buffers. ``code``: of its kernels."""

    def __init__(self, model: ModelProto, x: np.ndarray) -> None:
        lowered = legato.lower(legato.from_onnx(model), "vulkan", last="spirv")
        with lowered.context:
            made = blob(lowered)
        self.code = binaries(lowered)
        self.model = VulkanModel(made.data, made.weights)
        self.x, self.y = x, np.empty_like(x)
        self.model(self.x, self.y)
        (self.recorded,) = self.model.recorded.values()
        run = Run(self.recorded.constants)
        run.program(self.model.described["main"], self.recorded.values)
        self.steps = [step for step in run.taken()[0] if isinstance(step, PlannedLaunch)]

    def submit(self) -> None:
        """Runs what was recorded."""
        assert self.recorded.first is not None
        self.model.device.submit(self.recorded.first.commands, self.recorded.first.done)

    def record(self) -> None:
        """Records the commands of a run."""
        record(self.model.device, self.model, self.recorded.buffers, self.steps, None)

    def pipelines(self) -> None:
        """Makes the kernels anew."""
        for step in {step.kernel: step for step in self.steps}.values():
            self.model.device.kernel(step.kernel, self.code[step.kernel], len(step.parts) + 1, (), len(step.numbers))


class WgpuRun:
    """The same kernels on the same data by wgpu, with bind groups that are kept; its command buffers are for one submission."""

    def __init__(self, device: Any, plain: PlainRun) -> None:
        import wgpu  # pyright: ignore[reportMissingImports]

        self.device, self.plain, usage = device, plain, wgpu.BufferUsage
        kind = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        self.buffers = [device.create_buffer_with_data(data=bytes(one.data), usage=kind) for one in plain.recorded.buffers]
        self.layouts = {step.kernel: self.layout(len(step.parts) + 1) for step in plain.steps}
        self.kernels = self.pipelines()
        self.groups = [self.group(step, kind) for step in plain.steps]

    def layout(self, count: int) -> Any:
        """That of the buffers of a kernel."""
        return self.device.create_bind_group_layout(entries=[
            {"binding": i, "visibility": "COMPUTE", "buffer": {"type": "storage"}} for i in range(count)])

    def pipelines(self) -> dict[str, Any]:
        """The kernels."""
        return {name: pipeline(self.device, name, code, self.device.create_pipeline_layout(bind_group_layouts=[self.layouts[name]]))
                for name, code in self.plain.code.items()}

    def group(self, step: PlannedLaunch, kind: int) -> Any:
        """The buffers of a launch: of each its part, and last the numbers."""
        numbers = np.array(step.numbers or [0], "<i4")
        bound = [(self.buffers[part.buffer], part.start, self.buffers[part.buffer].size - part.start) for part in step.parts]
        bound.append((self.device.create_buffer_with_data(data=numbers, usage=kind), 0, numbers.nbytes))
        return self.device.create_bind_group(layout=self.layouts[step.kernel], entries=[
            {"binding": i, "resource": {"buffer": buffer, "offset": start, "size": size}} for i, (buffer, start, size) in enumerate(bound)])

    def record(self) -> Any:
        """The commands of a run."""
        encoder = self.device.create_command_encoder()
        work = encoder.begin_compute_pass()
        for step, group in zip(self.plain.steps, self.groups):
            work.set_pipeline(self.kernels[step.kernel])
            work.set_bind_group(0, group)
            work.dispatch_workgroups(*step.grid)
        work.end()
        return encoder.finish()

    def submit(self) -> None:
        """Records and runs."""
        self.device.queue.submit([self.record()])
        self.device._poll_wait()

    def result(self) -> np.ndarray:
        """What a run has computed."""
        at = self.plain.recorded.buffers.index(self.plain.recorded.outputs[0])
        return np.frombuffer(self.device.queue.read_buffer(self.buffers[at]), np.float32)[:self.plain.y.size].reshape(self.plain.y.shape)


def pipeline(device: Any, name: str, code: bytes, layout: Any = "auto") -> Any:
    """A kernel of SPIR-V by wgpu."""
    return device.create_compute_pipeline(layout=layout, compute={"module": device.create_shader_module(code=code), "entry_point": name})


def wgpu_device() -> Any:
    """The first Vulkan device that wgpu finds, with all that it has for kernels."""
    import wgpu  # pyright: ignore[reportMissingImports]

    adapter = next(one for one in wgpu.gpu.enumerate_adapters_sync() if one.info["backend_type"] == "Vulkan")
    wanted = [one for one in adapter.features if one.startswith(("shader-", "subgroup"))]
    return adapter.request_device_sync(required_features=wanted, required_limits=dict(adapter.limits))


def refusals(device: Any, code: dict[str, bytes]) -> Counter[str]:
    """Why wgpu refuses kernels, and how many for each reason."""
    found: Counter[str] = Counter()
    for name, binary in code.items():
        try:
            pipeline(device, name, binary)
        except Exception as error:      # of any kind: what it says is the result
            found[str(error).strip().splitlines()[-1].strip(" =")] += 1
    return found


def once(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def row(what: str, wgpu_seconds: float, plain_seconds: float) -> None:
    """Prints a line of the table."""
    print(f"{what:58} {1e3 * wgpu_seconds:10.3f} {1e3 * plain_seconds:10.3f}", flush=True)


def transfers(device: Any, plain: PlainRun) -> list[Callable[[], object]]:
    """Writing 64 MiB to a buffer by both, until the device has them, and reading them."""
    import wgpu  # pyright: ignore[reportMissingImports]

    data, out = np.ones(COPIED, np.uint8), np.empty(COPIED, np.uint8)
    theirs = device.create_buffer(size=COPIED, usage=wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST)
    kept = plain.model.device.buffer(COPIED, "a copy")
    own = np.frombuffer(kept.data, np.uint8, COPIED)

    def upload() -> None:
        device.queue.write_buffer(theirs, 0, data)
        device.queue.submit([])
        device._poll_wait()

    def download() -> None:
        out[...] = np.frombuffer(device.queue.read_buffer(theirs), np.uint8)

    def own_download() -> None:
        out[...] = np.frombuffer(kept.data, np.uint8, COPIED)

    return [upload, lambda: own.__setitem__(..., data), download, own_download]


def main() -> int:
    """Prints the table, and what is refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="ONNX files whose kernels wgpu is given")
    options = parser.parse_args()
    devices: list[Any] = []
    started = once(lambda: devices.append(wgpu_device()))
    own_start = once(the_device)
    random, device = np.random.default_rng(0), devices[0]
    plain = {"chain": PlainRun(chain(LAUNCHES), random.standard_normal((32, 32), np.float32)),
             "product": PlainRun(product(SIDE), random.standard_normal((SIDE, SIDE), np.float32))}
    others = {name: WgpuRun(device, run) for name, run in plain.items()}
    for name, other in others.items():
        other.submit()
        assert np.allclose(other.result(), plain[name].y, rtol=1e-4, atol=1e-5), name
    print(f"{plain['chain'].model.device.name}\n{'milliseconds':58} {'wgpu':>10} {'Legato':>10}")
    row("start: the package, a device", started, own_start)
    row("a pipeline, of a tiled product",
        *(statistics.median(once(run["product"].pipelines) for _ in range(5)) for run in (others, plain)))
    row(f"recording {LAUNCHES} launches, each run and once", *in_turns([others["chain"].record, plain["chain"].record]))
    row(f"a run of {LAUNCHES} launches that wait for each other", *in_turns([others["chain"].submit, plain["chain"].submit]))
    row(f"a product of {SIDE} x {SIDE} x {SIDE}", *in_turns([others["product"].submit, plain["product"].submit]))
    up, own_up, down, own_down = in_turns(transfers(device, plain["chain"]), rounds=10)
    row("64 MiB to the device", up, own_up)
    row("64 MiB from the device", down, own_down)
    for path in options.models:
        code = binaries(legato.lower(legato.from_onnx(path), "vulkan", last="spirv"))
        why = refusals(device, code)
        print(f"{path.stem}: wgpu takes {len(code) - why.total()} of {len(code)} kernels", *(f"  {n}: {text}" for text, n in why.items()),
              sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        sys.exit(main())
