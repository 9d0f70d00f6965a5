"""Passes in the modules of one backend: those that it declares, and those that the user says."""
from dataclasses import dataclass

import numpy as np
import partition_backends as pb
import pytest
from graphs import build
from partition_models import network, random, same

import legato
from legato.core.mlir import ir
from legato.dialects import relax
from legato.passes.pipeline.scope import external_modules


class Nhwc(pb.Interpreter):
    """Wants NHWC and OHWI: its declared pipeline sees to it, in its modules only."""

    name = "nhwc"
    patterns = [("conv2d", pb.CONV)]
    pipeline = "relax-inline,relax-convert-layout{data-layout=NHWC kernel-layout=OHWI},relax-fold-constants,relax-canonicalize"


def two_convolutions():
    def body(x):
        x = relax.relu(relax.conv2d(x, relax.weight("conv", np.float32, (16, 3, 3, 3))))
        return relax.tanh(relax.conv2d(x, relax.constant(random(4, 16, 1, 1)), groups=1, strides=[2, 2]))

    module = build([(1, 3, 8, 8)], body)
    module.weights.add("conv", random(16, 3, 3, 3))
    return module


def test_a_declared_pipeline_runs_before_code_generation():
    """S5, S3: without being asked; the host's convolutions keep their layout; results equal."""
    backend, module = Nhwc(), two_convolutions()
    backend.patterns = [("conv2d", pb.CONV.has_attr(strides=[2, 2]))]
    legato.partition(module, [backend])
    (seen,) = backend.seen
    assert 'kernel_layout = "OHWI"' in str(seen) and seen.constants()[0].operation.results[0].type.shape == [4, 1, 1, 16]
    host = str(module.function())
    assert "relax.conv2d" in host and "OHWI" not in host and "NHWC" not in host
    same(legato.compile(module), two_convolutions(), random(1, 3, 8, 8))


def test_the_same_by_hand_between_partition_and_codegen():
    """S2, S3: a pipeline in one backend's modules, then the code generation."""
    plain = pb.Conv()
    module = legato.partition(two_convolutions(), [plain], codegen=False)
    inside = "relax-inline,relax-convert-layout{data-layout=NHWC kernel-layout=OHWI},relax-fold-constants"
    legato.Pipeline(f'external<"conv">({inside})').run(module)
    legato.partition(module, [plain])
    assert 'kernel_layout = "OHWI"' in str(plain.seen[0])
    same(legato.compile(module), two_convolutions(), random(1, 3, 8, 8))


def test_a_pipeline_that_changes_what_the_host_calls():
    class Careless(pb.Conv):
        pipeline = ["relax-inline", Rename()]

    with pytest.raises(legato.LegatoError, match=r"pipeline of the backend 'conv' has changed the type of, or removed, @part_0"):
        legato.partition(two_convolutions(), [Careless()])


class Rename(legato.ModulePass):
    """Renames every function."""

    name = "test-rename"

    def __str__(self):
        return self.name

    def run(self, module, context):
        for function in module.functions():
            function.operation.attributes["sym_name"] = ir.StringAttr.get("other_" + function.name.value)


def test_a_users_pass_chooses_functions_by_backend():
    """S6."""
    @dataclass(frozen=True)
    class Mark(legato.ModulePass):
        name = "test-mark"
        sees_external = True

        def run(self, module, context):
            for external in external_modules(module.module, "conv"):
                external.attributes["test.marked"] = ir.UnitAttr.get()

    module = legato.partition(network(), [pb.Conv, pb.Dense], codegen=False)
    legato.Pipeline("test-mark", extra_passes=[Mark]).run(module)
    assert [("test.marked" in m.attributes) for m in external_modules(module.module)] == [True, False]
