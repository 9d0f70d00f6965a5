"""Targets in TVM's spelling are answered with ours, which resolve."""
import re

import pytest

import legato
from legato.targets.catalog import Catalog


@pytest.mark.parametrize(("text", "ours"), [
    ("llvm -mcpu=znver4", "llvm{cpu=znver4}"),
    ("llvm -mcpu znver4 -num-cores 4", "llvm{cpu=znver4 threads=4}"),
    ("llvm --num-cores=2", "llvm{threads=2}"),
    ("cuda", "nvvm"),
    ("cuda -arch=sm_90", "nvvm{chip=sm_90}"),
    ("nvptx -mcpu=sm_80", "nvvm{chip=sm_80}"),
    ("vulkan -from_device=0", "vulkan"),
    ('{"kind": "cuda", "arch": "sm_90a"}', "nvvm{chip=sm_90a}"),
    ('{"kind": "llvm", "mcpu": "znver4", "num-cores": 2}', "llvm{cpu=znver4 threads=2}"),
])
def test_ours(text, ours):
    with pytest.raises(legato.LegatoError, match=rf"TVM's spelling of a target: here it is {re.escape(ours)}(?: |$)"):
        Catalog().resolve(text)
    Catalog().resolve(ours)


def test_what_has_no_counterpart():
    with pytest.raises(legato.LegatoError, match=r"here it is llvm \(-mtriple, -opt-level: without a counterpart\)"):
        Catalog().resolve("llvm -mtriple=x86_64-linux-gnu -opt-level=3")
    with pytest.raises(legato.LegatoError, match=r"here it is nvvm{chip=sm_NN}"):
        Catalog().resolve("nvidia/geforce-rtx-3090")
    with pytest.raises(legato.LegatoError, match="'metal' is a target of TVM's, which Legato does not have"):
        Catalog().resolve("metal")


@pytest.mark.parametrize("text", ["llvm", "llvm{threads=2}", "vulkan", " llvm "])
def test_ours_stay(text):
    assert Catalog().resolve(text).name == text.strip().partition("{")[0]


def test_a_target_of_the_users_may_have_such_a_name():
    assert Catalog([legato.Target("cuda", parents=("nvvm",))]).resolve("cuda").name == "cuda"


def test_other_text_is_unknown():
    with pytest.raises(legato.LegatoError, match=r"unknown target 'lvm'; did you mean 'llvm'"):
        Catalog().resolve("lvm")
    with pytest.raises(legato.LegatoError, match=r"expected name or name{option=value"):
        Catalog().resolve("llvm and more")
