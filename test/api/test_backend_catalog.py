"""Backends are found by name: Legato's own, those of installed packages, those a call is given."""
import pytest

import legato
from legato.targets.backend_catalog import BackendCatalog

PACKAGE = """
import legato
from legato.analysis.patterns import is_op, wildcard

class Tpu(legato.Backend):
    name = "tpu_of_a_package"
    patterns = [("relu", is_op("relax.relu")(wildcard()))]

    def codegen(self, module, options):
        return []
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    def install(entry):
        info = tmp_path / "tpu_backend-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tpu-backend\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[legato.backends]\n{entry}\n")
        (tmp_path / "tpu_backend_module.py").write_text(PACKAGE)
        monkeypatch.syspath_prepend(tmp_path)

    return install


def test_an_installed_package_brings_a_backend(package):
    package("tpu_of_a_package = tpu_backend_module:Tpu")
    assert "tpu_of_a_package" in BackendCatalog().names()
    module = legato.Module.parse("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "relax.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32> }""")
    legato.partition(module, ["tpu_of_a_package"], codegen=False)
    assert 'relax.codegen = "tpu_of_a_package"' in str(module)


def test_an_entry_point_that_cannot_be_loaded_says_so(package):
    package("broken = tpu_backend_module:Nothing")
    with pytest.raises(legato.LegatoError, match="tpu_backend_module:Nothing cannot be loaded"):
        BackendCatalog().resolve("broken")


def test_a_backend_of_another_name_is_refused(package):
    package("other = tpu_backend_module:Tpu")
    with pytest.raises(legato.LegatoError, match="is a backend of another name, 'tpu_of_a_package'"):
        BackendCatalog().resolve("other")
