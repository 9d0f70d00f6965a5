"""Scripts that are a little wrong are compiled, or refused at their line with a caret: no other error, no crash, no hang."""
import ast
import inspect
import signal
import warnings

import kernels
import kernels_inplace
import kernels_language
import kernels_statements
import kernels_vectors
import kernels_views
import pytest
import test_branches
import test_graphs
import test_modules
from mutants import mutant

import legato
from legato.script import parse

MODULES = (kernels, kernels_inplace, kernels_language, kernels_statements, kernels_vectors, kernels_views, test_branches, test_graphs,
           test_modules)
PER_MODULE, COMPILED = 24, 3


def scripts(module):
    """The text of each script in a file, and what its free names stand for."""
    names = {k: v for k, v in vars(module).items() if not k.startswith("__")}
    for node in ast.parse(inspect.getsource(module)).body:
        decorators = [ast.unparse(d) for d in getattr(node, "decorator_list", [])]
        if any(word in d for d in decorators for word in ("prim_func", "R.function", "ir_module")):
            yield ast.unparse(node), {k: v for k, v in names.items() if k != node.name}


def check(text, names, compiled):
    """Whether the script was refused."""
    try:
        module = parse(text, **names)
        if compiled:
            legato.compile(module)
    except legato.LegatoError as error:
        first, *shown = str(error).splitlines()
        assert "defines neither" in first or any("^" in line for line in shown), f"{text}\n{error}"
        return True
    return False


class Hangs(BaseException):
    """Which nobody catches who catches what a script raises."""


@pytest.fixture
def impatient():
    """Ends what takes too long."""
    def hang(*_):
        raise Hangs("a script is parsed for ever")

    before = signal.signal(signal.SIGALRM, hang)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_mutants(module, impatient):
    found = list(scripts(module))
    refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        for seed in range(PER_MODULE):
            text, names = found[seed % len(found)]
            refused += check(mutant(text, seed), names, compiled=seed < COMPILED)
    assert 0 < refused < PER_MODULE
