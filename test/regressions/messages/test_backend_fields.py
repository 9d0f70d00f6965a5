"""What a backend is made of, and what a call is given beside it, is checked before a graph is partitioned."""
import numpy as np
import pytest

import legato
from legato import relax as R
from legato.artifacts import Blob, Closure, Lowered, PythonFunction, Registered, SharedObject
from legato.passes.partition.costs import groups, veto
from legato.patterns import composite, is_op, wildcard

RELU = is_op("relax.relu")(wildcard())
X = np.ones((4, 8), np.float32)


@R.function
def main(x: R.Tensor((4, 8), "float32")):
    return R.nn.relu(x)


class Nothing(legato.ModulePass):
    """Does nothing."""

    name = "nothing"

    def run(self, module, context):
        pass


def raises(*_):
    raise KeyError("oops")


def mine(**fields):
    given = {"name": "mine", "patterns": [("relu", RELU)], "codegen": lambda self, module, options: Closure(lambda x, out: None)}
    return type("Mine", (legato.Backend,), {**given, **fields})


def partition(backends, **options):
    module = main.module()
    try:
        legato.partition(module, backends, codegen=False, **options)
    finally:
        assert "relax.codegen" not in str(module)


FIELDS = {
    "a name": ({"name": 3}, "the backend Mine has the name 3: expected letters"),
    "no patterns": ({"patterns": None}, "'mine': patterns are a list of composite.*found None"),
    "one pattern": ({"patterns": composite("relu", RELU)}, "'mine': patterns are a list of composite.*found Composite"),
    "one tuple": ({"patterns": ("relu", RELU)}, "'mine': its patterns are composite.*found 'relu'"),
    "a pattern without a name": ({"patterns": [RELU]}, "'mine': its patterns are composite.*found <pattern relax.relu>"),
    "a pattern in reverse": ({"patterns": [(RELU, "relu")]}, "'mine': <pattern relax.relu> cannot name a pattern"),
    "composites that raise": ({"composites": raises}, r"'mine': its composites \(messages/test_backend_fields.py:\d+\) raised KeyError"),
    "composites without return": ({"composites": lambda self: None}, "'mine': composites returns patterns.*found None"),
    "a pipeline": ({"pipeline": "relax-inlin"}, "'mine': there is no pass \"relax-inlin\"; did you mean"),
    "the class of a pass": ({"passes": Nothing}, r"'mine': passes are a tuple of classes, such as \(MyPass,\); found"),
    "a pass": ({"passes": [Nothing()]}, "'mine': passes are classes, .*, and no values of them"),
    "a class that is no pass": ({"passes": [int]}, "'mine': passes are classes such as .*; int is none of the kind"),
    "a name of a dialect": ({"dialects": ["mine"]}, "'mine': dialects are classes, .*found 'mine'"),
    "a class that is no dialect": ({"dialects": [int]}, "'mine': dialects are classes such as .*; int is none of the kind"),
    "one requirement": ({"requires": "numpy"}, "'mine': requires has names of packages, .*found 'numpy'"),
    "one option": ({"options": "tile"}, "'mine': options has names of options, such as .*; found 'tile'"),
    "no names of options": ({"options": {"tile": 16}}, "'mine': options has names of options, such as .*; found {'tile': 16}"),
    "no number of ops": ({"min_ops": "4"}, "'mine': min_ops is the fewest ops of a group, 1 or more; found '4'"),
    "0 ops": ({"min_ops": 0}, "'mine': min_ops is .*; found 0"),
    "an __init__ that raises": ({"__init__": raises}, "the backend Mine is given as a class, which is called without arguments.*KeyError"),
    "a check of options that raises": ({"check_options": raises}, "'mine': its check_options .*raised KeyError"),
    "a check of options that answers": ({"check_options": lambda self, options: "no"}, "'mine': its check_options raises .*returned 'no'"),
}


@pytest.mark.parametrize("case", FIELDS)
def test_a_field(case):
    fields, message = FIELDS[case]
    with pytest.raises(legato.LegatoError, match=message):
        partition([mine(**fields)])


CALLS = {
    "no list": (lambda: partition(3), "backends= takes a list of backends or their names, .*found 3"),
    "options that are no dict": (lambda: partition([mine()], options="tile=16"), "backend_options= maps names of backends.*'tile=16'"),
    "options as a dict": (lambda: partition([mine()], options={"mine": {"tile": 16}}), "'mine': its options are text.*found {'tile': 16}"),
    "an option twice": (lambda: partition([mine()], options={"mine": "a=1 a=2"}), "the option 'a' .* is given twice: a=1 and a=2"),
    "one cost pass": (lambda: partition([mine()], costs=Nothing()), r"costs= takes a list of passes, such as \[OnlyLarge\(\)\]; found"),
    "no cost passes": (lambda: partition([mine()], costs=None), "costs= takes a list of passes.*found None"),
    "data": (lambda: Blob("code", "package:load"), "the data of a Blob are bytes, found str"),
    "a loader": (lambda: Blob(b"", raises), "<function raises .* names no Python function"),
    "one name of a function": (lambda: Blob(b"", "package:load", "relu_0"), "functions of a Blob are a tuple of names, .*found 'relu_0'"),
    "weights": (lambda: Blob(b"", "package:load", weights=[X]), "the weights of a Blob are a dict of arrays by name"),
    "a function": (lambda: PythonFunction(raises), "names no Python function: write"),
    "a closure": (lambda: Closure(None), "a Closure has a Python function of the inputs and the outputs to fill, found None"),
    "a registered name": (lambda: Registered(raises), "a Registered artifact has the name of a packed function"),
    "symbols": (lambda: SharedObject(b"", ["a"]), "the symbols of a SharedObject are a dict"),
    "IR": (lambda: Lowered(main.module().module), "a Lowered artifact has a legato.Module, found Module"),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_call(case):
    call, message = CALLS[case]
    with pytest.raises(legato.LegatoError, match=message):
        call()


@pytest.mark.parametrize("passes", ["relax-merge-composites{backend=mni}", "relax-outline-external{backend=mni}"])
def test_a_backend_of_which_nothing_is_known(passes):
    """The pass does nothing; it may be one of several of a pipeline for many models."""
    module = main.module()
    with pytest.warns(UserWarning, match="no function is marked for the backend 'mni'; unknown backend 'mni'"):
        legato.Pipeline(passes).run(module)
    with pytest.warns(UserWarning, match="no function is marked for the backend 'mni'"):
        legato.lower(module, passes=passes, last="relax")


def test_a_veto_has_a_reason():
    class Silent(Nothing):
        name = "silent"

        def run(self, module, context):
            for group in groups(module, "mine"):
                veto(group, "")

    with pytest.raises(legato.LegatoError, match="veto takes the reason why @mine_relu_0 stays with the host, found ''"):
        legato.partition(main.module(), [mine()], costs=[Silent()])


def test_a_requirement_inside_of_a_missing_package():
    with pytest.raises(legato.LegatoError, match=r"'mine' needs no_such_package.part, which is not installed"):
        legato.compile(main, backends=[mine(requires=["no_such_package.part"])])


LOADED = {
    "no_function": (3, "the loader of @relu_0 .*no_function' raised TypeError: 'int' object is not callable"),
    "gives_nothing": (lambda data, name: None, "'mine.relu_0' of the backend 'mine' is of type NoneType: expected a function of"),
    "fails": (raises, "the loader of @relu_0 .*test_backend_fields:fails' raised KeyError: 'oops'"),
}
globals().update({name: value for name, (value, _) in LOADED.items()})


@pytest.mark.parametrize("name", LOADED)
def test_a_loader(name):
    with pytest.raises(legato.LegatoError, match=LOADED[name][1]):
        legato.compile(main, backends=[mine(codegen=lambda self, module, options: Blob(b"", f"{__name__}:{name}"))])


def test_a_state_that_fails():
    blob = Blob(b"", f"{__name__}:gives_nothing", state=f"{__name__}:fails")
    with pytest.raises(legato.LegatoError, match=r"the state of the functions of the backend 'mine' .*raised KeyError"):
        legato.compile(main, backends=[mine(codegen=lambda self, module, options: blob)])


def test_a_function_that_returns_what_it_should_fill():
    """Its output would be what was in memory."""
    call = legato.compile(main, backends=[mine(codegen=lambda self, module, options: Closure(lambda x, out: np.maximum(x, 0)))])
    with pytest.raises(TypeError, match=r"it returned ndarray: it fills its outputs, .*'mine.relu_0' of the backend 'mine'"):
        call(X)
    call = legato.compile(main, backends=[mine(codegen=lambda self, module, options: Closure(lambda x, out: np.maximum(x, 0, out=out)))])
    np.testing.assert_array_equal(call(X), X)
