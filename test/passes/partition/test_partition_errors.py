"""Backends that make the wrong artifacts, or none, are errors of the compile."""
import partition_backends as pb
import pytest
from partition_models import network

import legato
from legato.artifacts import Blob, Lowered, PythonFunction, SharedObject
from legato.core.mlir import ir
from legato.dialects import relax


class Bad(legato.Backend):
    name = "bad"
    patterns = [("matmul", pb.MATMUL)]

    def __init__(self, *artifacts, requires=()):
        self.artifacts, self.requires = artifacts, requires

    def codegen(self, module, options):
        return self.artifacts


@pytest.mark.parametrize("backend, message", [
    (Bad(), r"made no code for @matmul_0 of its module @bad; it made code for: nothing"),
    (Bad(PythonFunction("a:b"), PythonFunction("c:d")), r"made code for @bad::@matmul_0 twice: PythonFunction and PythonFunction"),
    (Bad(PythonFunction("a:b", ("other",))), r"made code for @other, which its module @bad does not have; it has: @matmul_0"),
    (Bad("no artifact"), r"codegen returns artifacts"),
    (Bad(PythonFunction("no_such_package:f")), r"'no_such_package:f' cannot be imported: ModuleNotFoundError"),
    (Bad(PythonFunction("partition_backends:nothing")), r"'partition_backends:nothing' cannot be imported: AttributeError"),
    (Bad(SharedObject(b"no elf")), r"the shared object of the backend 'bad' does not give the function 'matmul_0'"),
    (Bad(PythonFunction("a:b"), requires=["no_such_package"]), r"the backend 'bad' needs no_such_package, which is not installed"),
    (Bad(Lowered(legato.Module.parse("module {}"))), r"gave IR without the function @matmul_0 of its module @bad"),
    ("bed", r"unknown backend 'bed'.*known: .*onnxruntime"),
    (42, r"a backend is a subclass of legato.Backend"),
])
def test_errors_at_build(backend, message):
    """B5: clashes, missing symbols and backends are errors of the compile, with what is there."""
    with pytest.raises(legato.LegatoError, match=message):
        legato.compile(network(), backends=[backend])


@pytest.mark.parametrize("backend, name", [("onednn", r"'onednn'"), (Bad, "Bad"), (Bad(), "bad")])
def test_a_backend_alone_is_no_list(backend, name):
    """A name would be a list of letters."""
    for use in (lambda: legato.compile(network(), backends=backend), lambda: legato.partition(network(), backend)):
        with pytest.raises(legato.LegatoError, match=rf"found one alone: write backends=\[{name}\]"):
            use()


def test_no_importable_name():
    with pytest.raises(legato.LegatoError, match="names no Python function"):
        Blob(b"", "package.name")


def test_clashes():
    with pytest.raises(legato.LegatoError, match="two backends are named 'conv'"):
        legato.compile(network(), backends=[pb.Conv(), pb.Conv()])
    module = network()
    with module.context, ir.Location.unknown(), ir.InsertionPoint.at_block_terminator(module.function().entry_block):
        relax.call_dps_packed("dense.matmul_0", [module.function().arguments[0]], module.function().arguments[0].type, symbol="other")
    with pytest.raises(legato.LegatoError, match=r"made the packed function 'dense\.matmul_0' for @matmul_0, and the module calls another"):
        legato.partition(module, [pb.Dense])
