"""`make test-wheel` tests the installed package, `make test` the checkout."""
import os
from importlib.metadata import files, metadata
from pathlib import Path

import legato

IS_WHEEL = "LEGATO_TEST_WHEEL" in os.environ


def test_what_is_tested():
    assert ("site-packages" in Path(legato.__file__).parts) == IS_WHEEL


def test_types_and_license_are_in_the_package():
    assert (Path(legato.__file__).parent / "py.typed").is_file()
    about = metadata("legato")
    assert about["License-Expression"] == "Apache-2.0 WITH LLVM-exception" and about["Version"] == legato.__version__
    licenses = [file for file in files("legato") or () if file.name == "LICENSE"]
    assert licenses and "LLVM Exceptions to the Apache 2.0 License" in licenses[0].read_text()
