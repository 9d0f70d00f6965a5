# ruff: noqa: E501 (lists of words)
"""Scripts that are a little wrong: a script's syntax tree with one thing changed, by a random choice that a seed repeats."""
import ast
import copy
import random

WORDS = ("grid", "serial", "parallel", "vectorized", "unroll", "thread_binding", "block", "axis.spatial", "axis.remap", "axis.reduce", "init", "where",
         "reads", "writes", "alloc_buffer", "match_buffer", "Buffer", "handle", "int32", "float32", "exp", "max", "Select", "if_then_else", "Ramp",
         "Broadcast", "call_extern", "evaluate", "cast", "func_attr", "decl_buffer", "launch_thread", "env_thread", "Let", "address_of", "ptx_mma",
         "function", "Tensor", "call_tir", "call_dps_packed", "call_packed", "dataflow", "output", "match_cast", "shape", "const", "add", "matmul",
         "nn.relu", "nn.conv2d", "sum", "reshape", "concat", "Tuple", "tuple", "take", "ir_module", "nonsense", "prim_func", "macro", "meta_var")
CONSTANTS = (0, 1, -1, 2, 3, 7, 2**31, 2**70, -(2**40), 0.5, 1e300, float("inf"), "float32", "float16", "int8", "bool", "x", "", "SSR", "n * 2",
             "threadIdx.x", "not a dtype", None, True, False, b"bytes", 1j, ...)


def mutant(text: str, seed: int) -> str:
    """The text with one to three changes."""
    choose = random.Random(seed)
    tree = ast.parse(text)
    for _ in range(choose.choice((1, 1, 1, 2, 3))):
        choose.choice(CHANGES)(tree, choose)
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return text


def nodes(tree: ast.AST, *kinds: type) -> list[ast.AST]:
    return [n for n in ast.walk(tree) if isinstance(n, kinds)]


def rename(tree, choose):
    """A name becomes another one, or none that is known."""
    names = nodes(tree, ast.Name)
    if names:
        choose.choice(names).id = choose.choice([*(n.id for n in names), "missing", "T", "R", "print", "self"])


def rename_argument(tree, choose):
    arguments = nodes(tree, ast.arg)
    if arguments:
        choose.choice(arguments).arg = choose.choice([*(a.arg for a in arguments), "other"])


def change_word(tree, choose):
    found = nodes(tree, ast.Attribute)
    if found:
        choose.choice(found).attr = choose.choice(WORDS).split(".")[-1]


def change_constant(tree, choose):
    found = nodes(tree, ast.Constant)
    if found:
        choose.choice(found).value = choose.choice(CONSTANTS)


def delete_statement(tree, choose):
    bodies = [n.body for n in ast.walk(tree) if isinstance(getattr(n, "body", None), list) and n.body]
    if not bodies:
        return
    body = choose.choice(bodies)
    body.pop(choose.randrange(len(body)))
    if not body:
        body.append(ast.Pass())


def move_statement(tree, choose):
    """A statement of one place also stands in another."""
    bodies = [n.body for n in ast.walk(tree) if isinstance(getattr(n, "body", None), list) and n.body]
    if not bodies:
        return
    body, other = choose.choice(bodies), choose.choice(bodies)
    other.insert(choose.randrange(len(other) + 1), copy.deepcopy(choose.choice(body)))


def change_arguments(tree, choose):
    """Arguments of a call swapped, left out, given twice."""
    calls = [c for c in nodes(tree, ast.Call) if c.args]
    if not calls:
        return
    call = choose.choice(calls)
    match choose.randrange(4):
        case 0:
            choose.shuffle(call.args)
        case 1:
            call.args.pop(choose.randrange(len(call.args)))
        case 2:
            call.args.append(copy.deepcopy(choose.choice(call.args)))
        case _:
            call.keywords.append(ast.keyword(choose.choice(("axis", "dtype", "scope", "shape", "nonsense")), copy.deepcopy(call.args[-1])))


def change_keyword(tree, choose):
    found = nodes(tree, ast.keyword)
    if found:
        choose.choice(found).arg = choose.choice(("axis", "dtype", "axes", "thread", "shape", "nonsense", "out_sinfo"))


def expressions(tree):
    """Where an expression stands: its owner, the field, and the place in a list."""
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                yield node, name, None
            elif isinstance(value, list):
                yield from ((node, name, i) for i, v in enumerate(value) if isinstance(v, ast.expr))


def put(owner, name, place, value):
    if place is None:
        setattr(owner, name, value)
    else:
        getattr(owner, name)[place] = value


def change_expression(tree, choose):
    """An expression becomes another one of the script."""
    places = list(expressions(tree))
    if not places:
        return
    owner, name, place = choose.choice(places)
    other, its, at = choose.choice(places)
    value = getattr(other, its)
    put(owner, name, place, copy.deepcopy(value if at is None else value[at]))


def strange_expression(tree, choose):
    """An expression becomes something that scripts seldom have."""
    places = list(expressions(tree))
    if not places:
        return
    owner, name, place = choose.choice(places)
    text = choose.choice(("()", "(1, 2)", "[1]", "{}", "{'a': 1}", "lambda q: q", "[q for q in (1, 2)]", "f'{1}'", "1 if True else 2", "x[0]", "x[1:2]",
                          "not 1", "-1", "1 < 2 < 3", "T", "R.add", "T.float32", "print(1)", "1 / 0", "(1).real", "None", "max", "len('a')",
                          "T.Ramp(0, 1, 4)", "T.int64()", "R.Tensor((4,), 'float32')", "x @ x", "await_", "(yield)", "*x", "x.shape", "int", "range(3)"))
    try:
        put(owner, name, place, ast.parse(text, mode="eval").body)
    except SyntaxError:
        pass


def change_operator(tree, choose):
    found = nodes(tree, ast.BinOp)
    if found:
        choose.choice(found).op = choose.choice((ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.BitAnd,
                                                 ast.MatMult))()


def strange_statement(tree, choose):
    bodies = [n.body for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.With, ast.For)) and n.body]
    if not bodies:
        return
    body = choose.choice(bodies)
    text = choose.choice(("return", "return x", "break", "continue", "assert x > 0", "while True:\n    pass", "for q in range(3):\n    pass", "del x",
                          "import os", "raise ValueError", "try:\n    pass\nfinally:\n    pass", "x = y = 1", "x += 1", "x: T.int32 = 1", "x: int",
                          "def inner(a):\n    return a", "class Inner:\n    pass", "global x", "with x:\n    pass", "if x:\n    y = 1\nelse:\n    y = 2",
                          "T.evaluate(x)", "R.output(x)", "x, y = 1, 2", "x[0] = 1.0", "x.shape = 3", "lambda: 1", "'text'", "match 1:\n    case _: pass"))
    body.insert(choose.randrange(len(body) + 1), ast.parse(text).body[0])


CHANGES = (rename, rename, rename_argument, change_word, change_word, change_constant, change_constant, delete_statement, move_statement, change_arguments,
           change_arguments, change_keyword, change_expression, change_expression, strange_expression, change_operator, strange_statement)
