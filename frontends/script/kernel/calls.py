"""What a kernel's script calls: words of the language that are values, functions of Python and of C."""

import ast
import inspect
from types import FunctionType
from typing import Any

from legato.core.mlir import ir
from legato.dialects import tir
from legato.frontends.script.kernel import intrinsics, operators, values
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.expressions import Expressions
from legato.frontends.script.kernel.lanes import Lanes, broadcast, lanes_of, lifted, ramp, vector_type
from legato.frontends.script.kernel.packed import call_packed
from legato.frontends.script.kernel.pointers import Pointer, c_value, pointer, pointer_behind
from legato.frontends.script.kernel.values import Scalar, condition
from legato.frontends.script.language.refused import refused
from legato.frontends.script.language.source import Problem
from legato.frontends.script.language.types import value_type

SAID = ("dtype", "span")  # arguments that say again what is known
TYPED = ("cast", "Cast", "reinterpret", "min_value", "max_value", "infinity")  # the type is not what the arguments' is
BUILTINS = (min, max, abs, int, float, bool, len, round, sum, tuple, list)


class Calls(Expressions):
    """Evaluates calls to values of the script."""

    def expression_Call(self, node: ast.Call) -> Any:
        word = self.word(node)
        if word is None:
            return self.call_object(node)
        method = getattr(self, f"call_{word}", None)
        if method is not None:
            return method(node)
        if word not in intrinsics.FUNCTIONS and not (word.count("x") and vector_type(word)):
            raise Problem(refused(word) or f"{self.face._name}.{word} is not supported as a value in a kernel")
        taken = [k for k in node.keywords if k.arg not in SAID or (k.arg == "dtype" and word in TYPED)]
        for keyword in taken:
            if keyword.arg not in ("dtype", "value", "x", "a", "b"):
                raise self.source.error(f"{self.face._name}.{word} has no argument '{keyword.arg}'", keyword.value)
        arguments = self.arguments(node) + [self.expression(k.value) for k in taken]
        if vector_type(word):
            return self.to_vector(word, *arguments) if len(arguments) == 1 else self.problem(f"T.{word} takes one value")
        return self.intrinsic(word, arguments)

    def problem(self, message: str) -> Any:
        raise Problem(message)

    def intrinsic(self, word: str, arguments: list[Any]) -> Any:
        """A function of the script on values, lane by lane."""
        if word in ("cast", "Cast", "reinterpret") and len(arguments) == 2:
            x, dtype = reversed(arguments) if isinstance(arguments[0], str) else arguments
            if (vector := vector_type(dtype)) is not None:
                return self.to_vector(dtype, x) if word != "reinterpret" else lifted(lambda v: intrinsics.reinterpret(v, vector[0]), x)
        function = intrinsics.FUNCTIONS[word]
        try:
            inspect.signature(function).bind(*arguments)
        except TypeError as error:
            raise Problem(f"T.{word}: {error}") from None
        for argument in arguments:
            if isinstance(argument, Buffer):
                raise Problem(f"T.{word} takes values; '{argument.name}' is a buffer: give an element of it")
        return lifted(function, *arguments)

    def to_vector(self, dtype: str, x: Any) -> Lanes:
        element, count = vector_type(dtype) or ("", 0)
        lanes = x if isinstance(x, Lanes) else broadcast(x, count)
        if len(lanes) != count:
            raise Problem(f"{len(lanes)} lanes are not {dtype}")
        return lifted(lambda v: values.cast(v, element), lanes)

    def arguments(self, node: ast.Call, most: int | None = None) -> list[Any]:
        made = list(self.spread(node.args))
        if most is not None and len(made) > most:
            raise Problem(f"takes {most} argument{'s' * (most > 1)} at most, and {len(made)} are given")
        return made

    def named(self, node: ast.Call, *names: str) -> dict[str, Any]:
        """A call's arguments, by position or by name. Problem for one that is not among the names."""
        arguments = self.arguments(node, len(names))
        given = dict(zip(names, arguments))
        for keyword in node.keywords:
            if keyword.arg not in names or keyword.arg in given:
                raise Problem(f"T.{self.word(node)} takes {', '.join(names)}; {keyword.arg!r} is not one of them, or given twice")
            given[keyword.arg] = self.expression(keyword.value)
        return given

    # --- words with rules of their own ---

    def call_if_then_else(self, node: ast.Call) -> Any:
        if len(node.args) != 3 or any(k.arg not in SAID for k in node.keywords):
            raise Problem("T.if_then_else takes a condition, the value where it holds, and the value where it does not")
        return self.if_then_else(*node.args)

    def call_meta_var(self, node: ast.Call) -> Any:
        """``T.meta_var(x)``: the value itself, under a name that the script does not keep."""
        given = self.named(node, "value")
        return given.get("value")

    def call_Let(self, node: ast.Call) -> Any:
        """``T.Let(body, where={x: value})``."""
        where = node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "where"), None)
        if not node.args or not isinstance(where, ast.Dict) or not all(isinstance(k, ast.Name) for k in where.keys):
            raise Problem("T.Let says a value and what its names stand for: T.Let(x + 1, where={x: A[i]})")
        names = {k.id: self.expression(v) for k, v in zip(where.keys, where.values) if isinstance(k, ast.Name)}
        outer, self.scope = self.scope, {**self.scope, **names}
        try:
            return self.expression(node.args[0])
        finally:
            self.scope = outer

    def call_Ramp(self, node: ast.Call) -> Any:
        given = self.named(node, "base", "stride", "lanes")
        if len(given) != 3:
            raise Problem("T.Ramp takes a base, a stride and a number of lanes")
        return ramp(given["base"], given["stride"], given["lanes"])

    def call_Broadcast(self, node: ast.Call) -> Any:
        given = self.named(node, "value", "lanes")
        if len(given) != 2:
            raise Problem("T.Broadcast takes a value and a number of lanes")
        return broadcast(given["value"], given["lanes"])

    def call_Shuffle(self, node: ast.Call) -> Any:
        """``T.Shuffle([vectors], [lanes])``: lanes by their numbers."""
        given = self.named(node, "vectors", "indices")
        if len(given) != 2 or not all(isinstance(v, tuple) for v in given.values()):
            raise Problem("T.Shuffle takes a list of vectors and a list of lanes")
        every = [v for x in given["vectors"] for v in (x.values if isinstance(x, Lanes) else (x,))]
        if not all(isinstance(i, int) and 0 <= i < len(every) for i in given["indices"]):
            raise Problem(f"the lanes are 0 to {len(every) - 1}")
        picked = [every[i] for i in given["indices"]]
        return picked[0] if len(picked) == 1 else lanes_of(len(picked), picked.__getitem__)

    def call_call_extern(self, node: ast.Call) -> Scalar | None:
        return self.call_extern(node)

    def call_call_pure_extern(self, node: ast.Call) -> Scalar | None:
        return self.call_extern(node)

    def call_call_packed(self, node: ast.Call) -> Scalar | None:
        return call_packed(self, node, result=True)

    call_call_cpacked = call_call_packed

    def call_address_of(self, node: ast.Call) -> Pointer:
        element = node.args[0] if len(node.args) == 1 else None
        buffer = self.expression(element.value) if isinstance(element, ast.Subscript) else None
        if not isinstance(buffer, Buffer) or not isinstance(element, ast.Subscript):
            raise Problem("T.address_of takes an element of a buffer: T.address_of(A[i, j])")
        return pointer(buffer, self.indices(element.slice, buffer))

    # --- calls of what is no word ---

    def call_object(self, node: ast.Call) -> Any:
        """A method of a buffer or a value, a builtin function, or a function of Python that is called while the kernel is parsed."""
        if isinstance(node.func, ast.Attribute):
            base = self.expression(node.func.value)
            if isinstance(base, Buffer):
                return self.buffer_method(base, node.func.attr, node)
            if isinstance(base, (Scalar, Lanes)) and node.func.attr == "astype":
                return self.intrinsic("cast", [base, *self.named(node, "dtype").values()])
            called = getattr(base, node.func.attr, None) if not isinstance(base, Scalar) else None
        elif isinstance(node.func, ast.Name) and node.func.id not in self.scope:
            called = self.source.names.get(node.func.id)
            if called is None:
                raise self.source.error(f"'{node.func.id}' is not defined", node.func)
        else:
            called = self.expression(node.func)
        if any(called is b for b in BUILTINS):
            return self.call_builtin(called, self.arguments(node))
        if isinstance(called, FunctionType):
            return self.call_python(called, node)
        raise Problem("a kernel calls words of the script (T.exp, ...), its macros, functions of Python on indices, min, max and abs; "
                      "other functions by T.call_extern")

    def call_python(self, called: FunctionType, node: ast.Call) -> Any:
        """A function of Python, run while the kernel is parsed: it sees values on which operators work, and gives an expression of them."""
        arguments = self.arguments(node)
        keywords = {str(k.arg): self.expression(k.value) for k in node.keywords}
        operators.ALLOCATES.append(self.allocated_by_python)
        try:
            result = called(*arguments, **keywords)
        except Exception as error:  # whatever the user's own function raises
            raise Problem(f"the Python function {called.__name__}, called while the kernel is parsed, raised {type(error).__name__}: "
                          f"{error}") from error
        finally:
            operators.ALLOCATES.pop()
        return self.checked_value(result, called.__name__)

    def allocated_by_python(self, word: str, shape: Any, dtype: Any = "float32", scope: Any = None, **hints: Any) -> Buffer:
        """``T.alloc_buffer(...)`` in a function of Python."""
        raise NotImplementedError

    def checked_value(self, result: Any, name: str) -> Any:
        if isinstance(result, (tuple, list)):
            return tuple(self.checked_value(r, name) for r in result)
        if not isinstance(result, (Scalar, Lanes, Buffer, bool, int, float, str)):
            raise Problem(f"the Python function {name} gave a {type(result).__name__}; values of the kernel are numbers and expressions")
        return result

    def buffer_method(self, buffer: Buffer, name: str, node: ast.Call) -> Any:
        if name == "access_ptr":
            given = self.named(node, "access_mask", "ptr_type", "content_lanes", "offset", "extent")
            return pointer_behind(buffer, given["offset"]) if "offset" in given else pointer(buffer, [0] * buffer.rank)
        if name in ("vload", "vstore"):
            given = self.named(node, "begin", "dtype" if name == "vload" else "value")
            begin = given.get("begin", ())
            begin = list(begin) if isinstance(begin, tuple) else [begin]
            count = len(given["value"]) if isinstance(given.get("value"), Lanes) else (vector_type(given.get("dtype")) or ("", 1))[1]
            begin[-1] = ramp(begin[-1], 1, count) if count > 1 else begin[-1]
            if name == "vload":
                return self.load(buffer, begin)
            self.store_at(buffer, begin, given.get("value"))
            return None
        if name == "offset_of":
            given = self.named(node, "indices")
            indices = given.get("indices", ())
            return (buffer.linear(list(indices) if isinstance(indices, tuple) else [indices]),)
        raise Problem(refused(f"Buffer.{name}") or f"a buffer has no method '{name}'; it has access_ptr, vload, vstore, offset_of")

    def call_builtin(self, called: Any, arguments: list[Any]) -> Any:
        if all(not isinstance(a, (Scalar, Lanes, Buffer)) for a in arguments) and called not in (min, max):
            try:
                made = called(*arguments)
            except (TypeError, ValueError, OverflowError) as error:
                raise Problem(f"{called.__name__}(): {error}") from None
            return tuple(made) if isinstance(made, list) else made
        if called in (min, max) and len(arguments) >= 2:
            total = arguments[0]
            for other in arguments[1:]:
                total = lifted(lambda a, b: values.binary(called.__name__, a, b), total, other)
            return total
        if called in (int, float, bool) and len(arguments) == 1:
            return lifted(lambda x: values.cast(x, {int: "int32", float: "float32", bool: "bool"}[called]), *arguments)
        if called is abs and len(arguments) == 1:
            return lifted(intrinsics.absolute, *arguments)
        raise Problem(f"{called.__name__}() of these is not supported in a kernel")

    # --- branches and C ---

    def if_then_else(self, test: ast.expr, then: ast.expr, other: ast.expr) -> Any:
        """The value of one branch; the other one is not computed."""
        test_value = self.expression(test)
        if isinstance(test_value, Lanes):
            return lifted(values.select, test_value, self.expression(then), self.expression(other))
        if isinstance(test_value, (bool, int, float)):
            return self.expression(then if test_value else other)
        trial = ir.Operation.create("scf.if", [], [condition(test_value)], regions=2)
        results = []
        try:
            for region, branch in zip(trial.regions, (then, other)):
                with ir.InsertionPoint(region.blocks.append()):
                    results.append(self.expression(branch))
            dtype = values.common(*results)
        except BaseException:
            trial.erase()
            raise
        dtype = {values.INT: "int32", values.FLOAT: "float32"}.get(dtype, dtype)
        made = ir.Operation.create("scf.if", [value_type(dtype)], [trial.operands[0]], regions=2)
        for old, new, result in zip(trial.regions, made.regions, results):
            block = new.blocks.append()
            for op in list(old.blocks[0].operations):
                block.append(op)
            with ir.InsertionPoint(block):
                ir.Operation.create("scf.yield", [], [values.convert(result, dtype).value])
        trial.erase()
        return Scalar(made.results[0], dtype)

    def call_extern(self, node: ast.Call) -> Scalar | None:
        """``T.call_extern("float32", "f", x, ...)``; the older ``T.call_extern("f", x, ..., dtype="float32")``."""
        arguments = self.arguments(node)
        keywords = {k.arg: self.expression(k.value) for k in node.keywords}
        dtype = keywords.pop("dtype", None)
        if dtype is None and arguments:
            dtype, *arguments = arguments
        name, *arguments = arguments or [None]
        if not isinstance(name, str) or not isinstance(dtype, str) or keywords:
            raise Problem("T.call_extern takes the type of its result and the function's name, then the arguments")
        results = [] if dtype in ("void", "handle", "") else [value_type(intrinsics.check_dtype(dtype))]
        operands = [a.value if isinstance(a, Pointer) else pointer(a, [0] * a.rank).value if isinstance(a, Buffer) else c_value(a)
                    for a in arguments]
        made = tir.call_extern(name, operands, results)
        return Scalar(made[0], dtype) if made else None
