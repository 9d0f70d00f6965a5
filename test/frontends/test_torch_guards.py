"""legato.from_torch: what torch assumes of sizes when it traces a module is checked at calls, against PyTorch itself."""
import pytest

import legato

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
AUTO = torch.export.Dim.AUTO


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def _recurrence(x):
    """A step for each column, as exporters of recurrent models write it: torch unrolls as many as the example has."""
    state, y = torch.zeros(x.shape[0]), torch.zeros_like(x)
    for step in range(x.shape[1]):
        state = torch.tanh(state + x[:, step])
        y[:, step] = state
    return y


# a function, the shapes of its example, shapes that compute, and shapes that torch's trace is not for, with what the error says
CASES = {
    "a fixed size": (_recurrence, [(6, 7)], [[(3, 7)]], [[(6, 9)]], "dimension 1 is 9, not 7"),
    "a branch by a bound": (lambda x: x * 2 if x.shape[1] > 5 else x + 1, [(6, 7)], [[(4, 6)], [(1, 9)]], [[(6, 5)]],
                            r"torch traced Function for s\d+ >= 6; s\d+ is dimension 1 of"),
    "a branch by a remainder": (lambda x: x * 2 if x.shape[0] % 3 == 0 else x + 1, [(6, 7)], [[(9, 2)]], [[(7, 7)], [(1, 7)]],
                                r"for s\d+ % 3 == 0; s\d+ is dimension 0 of"),
    "a branch by another remainder": (lambda x: x * 2 if x.shape[0] % 3 == 0 else x + 1, [(7, 7)], [[(5, 2)], [(1, 7)]],
                                      [[(9, 7)], [(3, 7)]], r"for s\d+ % 3 != 0; s\d+ is dimension 0 of"),
    "a branch by an odd size": (lambda x: x * 2 if x.shape[0] % 2 == 1 else x + 1, [(6, 7)], [[(4, 2)]], [[(7, 7)], [(3, 7)]],
                                r"for s\d+ % 2 [!=]= [01]; s\d+ is dimension 0 of"),
    "a branch by a number": (lambda x: x * 2 if x.shape[0] != 5 else x + 1, [(6, 7)], [[(1, 1)]], [[(5, 7)]], r"for s\d+ != 5;"),
    "a branch by two sizes": (lambda x, y: x * 2 if x.shape[0] < y.shape[0] else x + 1, [(6, 2), (9, 2)], [[(2, 3), (3, 3)]],
                              [[(3, 3), (3, 3)]], r"for s\d+ < s\d+; s\d+ is dimension 0 of '.*', s\d+ is dimension 0 of"),
    "a square": (lambda x: x.reshape(x.shape[0], int(x.shape[1] ** 0.5), -1).sum(1), [(2, 9)], [[(3, 12)], [(1, 15)]],
                 [[(2, 16)], [(2, 6)]], r"for s\d+ [<>]= (15|9);"),
    "a slice": (lambda x: x + torch.ones(9, 1)[: x.shape[0]], [(7, 2)], [[(9, 1)], [(1, 3)]], [[(10, 2)]], r"for s\d+ <= 9;"),
    "a sum": (lambda x, y, z: torch.cat([x, y], 1) + z, [(2, 3), (2, 5), (2, 8)], [[(1, 4), (1, 2), (1, 6)]], [[(2, 3), (2, 5), (2, 9)]],
              r"for s\d+ \+ s\d+ == \w+; "),
    "a product": (lambda x, y: x.reshape(-1) + y, [(2, 3), (6,)], [[(5, 4), (20,)]], [[(5, 4), (19,)]], r"for s\d+ \* s\d+ == \w+; "),
    "a product before its factors": (lambda x, y: (x + y.reshape(-1)).sum(), [(6,), (2, 3)], [[(20,), (5, 4)]], [[(19,), (5, 4)]],
                                     r"for (s\d+ \* s\d+ == \w+|s\d+ == s\d+ \* s\d+); "),
    "an odd size": (lambda x: x[1::2] + x[2::2], [(7, 2)], [[(9, 1)]], [[(8, 2)]], "for "),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("is_program", [False, True])
def test_a_call_that_the_trace_is_not_for_is_refused(case, is_program):
    function, shapes, right, wrong, message = CASES[case]
    args = tuple(torch.randn(shape) for shape in shapes)
    dynamic = (tuple(dict.fromkeys(range(x.dim()), AUTO) for x in args),)
    model = Function(function).eval()
    if is_program:
        module = legato.from_torch(torch.export.export(model, args, dynamic_shapes=dynamic))
        message = message.replace("Function", "the program of Function")
    else:
        module = legato.from_torch(model, args, dynamic_shapes=dynamic)
    exe = legato.compile(module)
    for sizes in (shapes, *right):
        args = [torch.randn(size) for size in sizes]
        torch.testing.assert_close(exe(*args), function(*args))
    for sizes in wrong:
        with pytest.raises(ValueError, match=message):
            exe(*(torch.randn(size) for size in sizes))


def test_bounds_that_the_user_gives():
    half = torch.export.Dim("half", min=3, max=50)
    model = Function(lambda x: x * 2 if x.shape[0] < 101 else x + 1).eval()
    exe = legato.compile(legato.from_torch(model, (torch.randn(6, 3),), dynamic_shapes=(({0: 2 * half},),)))
    for rows in (6, 100):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(exe(x), x * 2)
    for rows in (4, 102):
        with pytest.raises(ValueError, match="half is dimension 0 of"):
            exe(torch.randn(rows, 3))
