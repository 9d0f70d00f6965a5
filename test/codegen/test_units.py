"""The entry's units: which of them defines a symbol."""
import pytest

from legato.codegen.entry import library
from legato.codegen.native import body


@pytest.fixture
def read(monkeypatch):
    """The functions whose source is read."""
    found = []
    needs_model = body.needs_model
    monkeypatch.setattr(body, "needs_model", lambda function: found.append(function) or needs_model(function))
    library.unit_of.cache_clear()
    yield found
    library.unit_of.cache_clear()


def test_each_symbol_is_of_its_unit():
    for unit in library.UNITS:
        assert [library.unit_of(symbol) for symbol in unit.symbols] == [unit] * len(unit.roots)


def test_only_the_function_of_that_name_is_read(read):
    assert library.unit_of("memcpy") is None and not read
    symbol = body.symbol_of(library.create)
    assert library.unit_of(symbol) == library.UNITS[0] and set(read) == {library.create}
