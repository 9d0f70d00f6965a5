"""Searches through ops: machine code finds what visits in Python find."""
import subprocess
import sys
from collections import Counter

import pytest

from legato.codegen import search as native
from legato.codegen.search import NativeSearch
from legato.core import search
from legato.core.errors import LegatoError
from legato.core.ir_helpers import everything, find
from legato.core.mlir import ir
from legato.core.search import PythonSearch

TEXT = """
module {
  func.func @f(%x: f32, %b: i1) -> f32 {
    %one = arith.constant 1.0 : f32
    %pair:2 = scf.if %b -> (f32, i32) {
      %inner = scf.if %b -> f32 {
        %sum = arith.addf %x, %one : f32
        scf.yield %sum : f32
      } else {
        scf.yield %x : f32
      }
      %number = arith.constant 2 : i32
      scf.yield %inner, %number : f32, i32
    } else {
      %number = arith.constant 3 : i32
      scf.yield %one, %number : f32, i32
    }
    cf.br ^end
  ^behind:
    %lost = arith.mulf %x, %x : f32
    cf.br ^end
  ^end:
    return %pair#0 : f32
  }
  func.func private @g(tensor<?xf16>)
}
"""


@pytest.fixture(scope="module")
def machine_code() -> NativeSearch:
    return NativeSearch()


@pytest.fixture
def module():
    with ir.Context():
        yield ir.Module.parse(TEXT)


def test_ops_of_names_are_found_in_both_orders(machine_code, module):
    root = module.operation
    names = Counter(op.name for op in everything(root))
    assert names["arith.mulf"] == 1        # in a block that nothing reaches
    for wanted in ([], *([name] for name in names), list(names), ["scf.if", "arith.constant", "no.such"]):
        for order in ir.WalkOrder:
            found = machine_code.ops(root, wanted, order)
            assert found == PythonSearch().ops(root, wanted, order)
            assert len(found) == sum(names[name] for name in wanted)
            assert all(type(op) is ir.Operation for op in found)


def test_kinds_types_and_numbers_of_ops(machine_code, module):
    root = module.operation
    assert machine_code.kinds(root) == PythonSearch().kinds(root)
    assert [op.name for op in machine_code.kinds(root)][:3] == ["arith.constant", "arith.addf", "scf.yield"]
    assert set(machine_code.result_types(root)) == set(PythonSearch().result_types(root))
    assert {str(type_) for type_ in machine_code.result_types(root)} == {"f32", "i32"}
    assert machine_code.count(root) == PythonSearch().count(root) == len(everything(root))
    assert [op.name for op in machine_code.unused(root)] == ["arith.mulf"]      # not functions, which have no results
    assert machine_code.unused(root) == PythonSearch().unused(root)
    assert all(type(type_) is type(same) for type_, same in zip(machine_code.result_types(root), PythonSearch().result_types(root)))


def test_ops_of_types_are_found(machine_code, module):
    root = module.operation
    integer, number, other = (ir.Type.parse(text, root.context) for text in ("i32", "f32", "f64"))
    for types in ([integer], [number], [integer, number], [other], []):
        found = machine_code.of_types(root, types)
        assert found == PythonSearch().of_types(root, types)
        assert sum(op.name == "arith.constant" for op in found) == sum({"i32": 2, "f32": 1}.get(str(one), 0) for one in types)
        assert Counter(op.name for op in found)["scf.if"] == 2 and found[-1].name == "builtin.module"
    assert "arith.mulf" in [op.name for op in machine_code.of_types(root, [number])]
    assert "scf.yield" in [op.name for op in machine_code.of_types(root, [integer])]       # an operand


def test_the_first_op_that_gives_a_type_is_found_in_its_block_only(machine_code, module):
    body, = (op.regions[0].blocks[0] for op in find(module, "func.func") if len(op.regions[0].blocks))
    outer = find(module, "scf.if")[0]
    branch = outer.regions[0].blocks[0]
    integer, number, other = (ir.Type.parse(text, module.context) for text in ("i32", "f32", "f64"))
    for searched in (machine_code, PythonSearch()):
        assert searched.first_giving(body, [number]) == find(module, "arith.constant")[0]
        assert searched.first_giving(body, [integer]) == outer       # its second result, not what is in its branches
        assert searched.first_giving(body, [other, integer]) == outer
        assert searched.first_giving(branch, [integer]) == find(outer, "arith.constant")[0]
        assert searched.first_giving(branch, [number, integer]) == find(outer, "scf.if")[1]
        assert searched.first_giving(body, [other]) is None and searched.first_giving(body, []) is None


def test_more_is_found_than_there_is_room_for(machine_code, monkeypatch, module):
    monkeypatch.setattr(native, "ROOM", 2)
    root = module.operation
    assert machine_code.ops(root, ["arith.constant"], ir.WalkOrder.PRE_ORDER) == PythonSearch().ops(
        root, ["arith.constant"], ir.WalkOrder.PRE_ORDER)
    assert machine_code.kinds(root) == PythonSearch().kinds(root)
    assert machine_code.ops(root, ["scf.if", "arith.constant", "arith.addf"], ir.WalkOrder.PRE_ORDER) == PythonSearch().ops(
        root, ["scf.if", "arith.constant", "arith.addf"], ir.WalkOrder.PRE_ORDER)


def test_what_is_found_can_be_changed(machine_code, monkeypatch, module):
    monkeypatch.setattr(search, "by", machine_code)
    lost, = find(module, "arith.mulf")
    lost.erase()
    assert not find(module, "arith.mulf")
    with module.context, ir.Location.unknown():
        for op in find(module, "arith.addf"):
            op.attributes["mark"] = ir.UnitAttr.get()
    assert "mark" in str(module)


def test_libraries_with_an_llvm_of_their_own_keep_it():
    """Mesa's drivers crashed when the bindings' LLVM was shown to all libraries of the process."""
    code = ("import ctypes; from legato.codegen.search import NativeSearch; NativeSearch()\n"
            "for symbol in ('mlirOperationGetName', 'LLVMContextCreate'):\n"
            "    assert not hasattr(ctypes.CDLL(None), symbol), symbol")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_searches_stay_in_python_where_there_is_no_machine_code(monkeypatch, caplog):
    def fails(*_, **__):
        raise LegatoError("no code for this machine")

    python = PythonSearch()
    monkeypatch.setattr(search, "by", python)
    monkeypatch.setattr(native, "Engine", fails)
    native.begin.cache_clear()
    native.begin().result()
    assert search.by is python
    assert "stay in Python" in caplog.text and "no code for this machine" in caplog.text
    native.begin.cache_clear()


def test_large_modules_are_searched_by_machine_code(monkeypatch, module):
    monkeypatch.setattr(search, "by", PythonSearch())
    native.begin.cache_clear()
    native.begin_for(module)
    assert not native.begin.cache_info().currsize
    monkeypatch.setattr(native, "WORTH_IT", 10)
    native.begin_for(module)
    native.begin().result()
    assert isinstance(search.by, NativeSearch)
