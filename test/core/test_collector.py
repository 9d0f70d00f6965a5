"""Python's collector runs seldom while Legato compiles, and as before afterwards, also after an error."""
import gc
import sys
import weakref
from types import ModuleType

import pytest

import legato
from legato.core.collector import YOUNG, importing, seldom_collecting


@pytest.fixture(autouse=True)
def _threshold():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_thresholds_during_a_compile_and_after_an_error():
    seen = []
    with pytest.raises(ZeroDivisionError):
        legato.compile(legato.Module.parse("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"),
                       cache=False, progress=lambda *_: seen.append(gc.get_threshold()) or 1 / 0)
    assert seen == [(YOUNG, 10, 10)] and gc.get_threshold() == (700, 10, 10)


def test_nested_work_ends_with_the_outer_one():
    with seldom_collecting():
        with seldom_collecting():
            pass
        assert gc.get_threshold() == (YOUNG, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (YOUNG + 1, 5, 5)])
def test_a_collector_that_runs_as_seldom_is_left_as_it_is(own):
    gc.set_threshold(*own)
    with seldom_collecting():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_what_others_say_meanwhile_stays():
    with seldom_collecting():
        gc.set_threshold(1000, 7, 7)
    assert gc.get_threshold() == (1000, 7, 7)


class Ring:
    """An object that only the collector frees."""

    def __init__(self):
        self.itself = self


@pytest.fixture
def _nothing_frozen():
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    yield
    gc.unfreeze()
    if frozen:
        gc.freeze()


def _import_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "of_this_test", ModuleType("of_this_test"))


@pytest.mark.usefixtures("_nothing_frozen")
def test_what_imports_make_is_left_to_full_collections(monkeypatch):
    with importing():
        ring = weakref.ref(Ring())
        _import_one(monkeypatch)
    gc.collect(1)
    assert gc.get_freeze_count() == 0 and ring() is not None
    gc.collect()
    assert ring() is None


@pytest.mark.usefixtures("_nothing_frozen")
def test_objects_are_young_where_nothing_was_imported():
    with importing():
        ring = weakref.ref(Ring())
    gc.collect(0)
    assert ring() is None


@pytest.mark.usefixtures("_nothing_frozen")
def test_what_someone_else_froze_stays_frozen(monkeypatch):
    gc.freeze()
    with importing():
        ring = weakref.ref(Ring())
        _import_one(monkeypatch)
    assert gc.get_freeze_count() > 0
    gc.collect(0)
    assert ring() is None
