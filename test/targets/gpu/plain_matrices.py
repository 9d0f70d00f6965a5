"""SPIR-V kernels with cooperative matrices as kernels without any, for drivers that have none: each thread of a subgroup has the whole
matrix, in an array, and multiplies it by itself. Layouts, strides and numbers of subgroups stay the kernel's. Each value that is a matrix
becomes a variable: drivers take long for values that are arrays."""
import struct
from functools import partial

from legato.runtime.vulkan.addresses import HEADER_WORDS, instructions, words_of

CAPABILITY, EXTENSION = 17, 10
TYPE_VOID, TYPE_BOOL, TYPE_INT, TYPE_FLOAT, TYPE_ARRAY, TYPE_POINTER, TYPE_FUNCTION = 19, 20, 21, 22, 28, 32, 33
CONSTANT, CONSTANT_COMPOSITE, FUNCTION, PARAMETER, END, CALL, VARIABLE, LOAD, STORE, CHAIN = 43, 44, 54, 55, 56, 57, 59, 61, 62, 65
PHI, COMPOSE, WIDEN, CONVERT, BITCAST, ADD, FADD = 245, 80, 113, 115, 124, 128, 129
MUL, FMUL, DIV, MOD, LESS, SHIFT = 132, 133, 134, 137, 176, 196
MERGE, SELECTION_MERGE, LABEL, BRANCH, CONDITIONAL, RETURN = 246, 247, 248, 249, 250, 253
TYPE_MATRIX, LOAD_MATRIX, STORE_MATRIX, MULTIPLY = 4456, 4457, 4458, 4459
DROPPED = (6022, 5116, 5118)      # capabilities
NAMES = ("SPV_KHR_cooperative_matrix", "SPV_KHR_bfloat16")
LOCAL = 7                         # a storage class


class Plain:
    """One kernel on its way. ``made``: types and constants to be added; ``functions``: those that matrices are loaded by, and so on."""

    def __init__(self, code):
        words = words_of(code)
        self.header, self.code = list(words[:HEADER_WORDS]), list(instructions(words))
        kinds = (TYPE_VOID, TYPE_BOOL, TYPE_INT, TYPE_FLOAT, TYPE_MATRIX, TYPE_POINTER, TYPE_FUNCTION)
        self.defined = {one[1]: one for one in self.code if one[0] in kinds}
        self.values = {one[2]: one[3] for one in self.code if one[0] == CONSTANT}
        self.results = {one[2]: one for one in self.code if len(one) > 2 and one[1] in self.defined}
        self.made, self.functions, self.calls, self.constants = [], [], {}, {}
        self.word, self.float = self.define(TYPE_INT, 32, 0), self.define(TYPE_FLOAT, 32)

    def new(self):
        self.header[3] += 1
        return self.header[3] - 1

    def define(self, opcode, *operands):
        """A type: the module's own, or a new one."""
        for one in self.defined.values():
            if one[0] == opcode and tuple(one[2:]) == operands:
                return one[1]
        one = [opcode, self.new(), *operands]
        self.defined[one[1]] = one
        self.made.append(one)
        return one[1]

    def number(self, value):
        """A constant of 32 bits."""
        if value not in self.constants:
            self.constants[value] = self.new()
            self.made.append([CONSTANT, self.word, self.constants[value], value])
        return self.constants[value]

    def binary(self):
        begin = next(n for n, one in enumerate(self.code) if one[0] == FUNCTION)
        self.held = {value: self.new() for value, one in self.results.items() if self.is_matrix(one[1])}     # the variable of each matrix
        body = self.body(self.code[begin:])
        head = [new for one in self.code[:begin] for new in self.declared(one)]
        flat = [word for one in (*head, *self.made, *body, *self.functions) for word in ((len(one) << 16) | one[0], *one[1:])]
        return struct.pack(f"<{HEADER_WORDS + len(flat)}I", *self.header, *flat)

    def body(self, code):
        """The kernel's own function. Matrices of other ways into a block are copied where these end."""
        copies = {}
        for one in code:
            if one[0] == PHI and one[2] in self.held:
                for value, source in zip(one[3::2], one[4::2]):
                    copies.setdefault(source, []).extend(self.copied(self.held[one[2]], self.held[value], one[1]))
        found, waiting = [], []
        for one in code:
            if one[0] == LABEL:
                waiting = copies.get(one[1], [])
            if one[0] in (MERGE, SELECTION_MERGE) or (one[0] in (BRANCH, CONDITIONAL, RETURN) and waiting):
                found += waiting
                waiting = []
            found += self.rewritten(one)
        first = next(n for n, one in enumerate(found) if one[0] == LABEL) + 1
        filled = [new for one in self.code for new in self.constant(one)]
        own = [[VARIABLE, self.define(TYPE_POINTER, LOCAL, self.results[value][1]), held, LOCAL] for value, held in self.held.items()]
        while found[first][0] == VARIABLE:
            first += 1
        return [*found[:first], *own, *filled, *found[first:]]

    def copied(self, to, source, type_):
        """A copy of one variable to another."""
        return self.call("copy", (type_,), {to: self.pointer(type_), source: self.pointer(type_)})

    def pointer(self, type_):
        return self.define(TYPE_POINTER, LOCAL, type_)

    def constant(self, one):
        """A constant matrix is written where the kernel begins."""
        if one[0] != CONSTANT_COMPOSITE or not self.is_matrix(one[1]):
            return []
        return self.call("fill", (one[1],), {self.held[one[2]]: self.pointer(one[1]), one[3]: self.float})

    def declared(self, one):
        """What stands for an instruction before the functions."""
        text = struct.pack(f"<{len(one) - 1}I", *one[1:]).rstrip(b"\0").decode("latin-1")
        if (one[0] == CAPABILITY and one[1] in DROPPED) or (one[0] == EXTENSION and text in NAMES):
            return []
        if one[0] == TYPE_FLOAT and len(one) > 3:      # bf16, of which arrays hold f32
            return []
        if one[0] == TYPE_MATRIX:
            count = self.new()
            return [[CONSTANT, self.word, count, self.size(one[1])], [TYPE_ARRAY, one[1], self.float, count]]
        return [] if one[0] == CONSTANT_COMPOSITE and self.is_matrix(one[1]) else [one]

    def is_matrix(self, type_):
        return type_ in self.defined and self.defined[type_][0] == TYPE_MATRIX

    def shape(self, type_):
        return [self.values[number] for number in self.defined[type_][4:6]]

    def size(self, type_):
        rows, columns = self.shape(type_)
        return rows * columns

    def rewritten(self, one):
        """What stands for an instruction of the kernel's own function."""
        if one[0] == COMPOSE and one[2] in self.held:
            return self.call("fill", (one[1],), {self.held[one[2]]: self.pointer(one[1]), one[3]: self.float})
        if one[0] == LOAD_MATRIX:
            base, index = self.place(one[3])
            return self.call("load", (one[1], base, self.values[one[4]], self.values[one[5]]),
                             {self.held[one[2]]: self.pointer(one[1]), index: self.word})
        if one[0] == STORE_MATRIX:
            base, index = self.place(one[1])
            type_ = self.results[one[2]][1]
            return self.call("store", (type_, base, self.values[one[3]], self.values[one[4]]),
                             {self.held[one[2]]: self.pointer(type_), index: self.word})
        if one[0] == MULTIPLY:
            types = [self.results[value][1] for value in one[3:6]]
            given = {self.held[value]: self.pointer(type_) for value, type_ in zip(one[3:5], types)}
            result = self.held[one[2]]
            return [*self.copied(result, self.held[one[5]], one[1]),
                    *self.call("multiply", tuple(types), {**given, result: self.pointer(one[1])})]
        if one[0] == LOAD and one[2] in self.held:
            return self.copied(self.held[one[2]], one[3], one[1])
        if one[0] == STORE and one[2] in self.held:
            return self.copied(one[1], self.held[one[2]], self.results[one[2]][1])
        return [] if one[0] == PHI and one[2] in self.held else [one]

    def place(self, pointer):
        """The access chain of a pointer without its last index, and that index."""
        _, type_, _, *path, index = self.results[pointer]
        return (type_, *path), index

    def call(self, name, about, arguments):
        """A call of the function that does this, which is made once."""
        if (name, about) not in self.calls:
            self.calls[name, about] = self.function(list(arguments.values()), partial(getattr(self, name), *about))
        return [[CALL, self.define(TYPE_VOID), self.new(), self.calls[name, about], *arguments]]

    def function(self, taken, build):
        """A function. ``build(code, variables, *arguments)`` fills it."""
        name, arguments = self.new(), [self.new() for _ in taken]
        code, variables = [], []
        build(code, variables, *arguments)
        returned = self.define(TYPE_VOID)
        self.functions += [[FUNCTION, returned, name, 0, self.define(TYPE_FUNCTION, returned, *taken)],
                           *([PARAMETER, type_, argument] for type_, argument in zip(taken, arguments)),
                           [LABEL, self.new()], *variables, *code, [RETURN], [END]]
        return name

    def variable(self, variables, type_):
        found = self.new()
        variables.append([VARIABLE, self.define(TYPE_POINTER, LOCAL, type_), found, LOCAL])
        return found

    def compute(self, code, opcode, a, b, type_=None):
        found = self.new()
        code.append([opcode, type_ or self.word, found, a, b])
        return found

    def loop(self, code, variables, count, build):
        """A loop; ``build(code, step)`` fills it."""
        counter = self.variable(variables, self.word)
        head, test, inside, again, after, step, condition = (self.new() for _ in range(7))
        code += [[STORE, counter, self.number(0)], [BRANCH, head], [LABEL, head], [MERGE, after, again, 0], [BRANCH, test], [LABEL, test],
                 [LOAD, self.word, step, counter], [LESS, self.define(TYPE_BOOL), condition, step, self.number(count)],
                 [CONDITIONAL, condition, inside, after], [LABEL, inside]]
        build(code, step)
        code += [[BRANCH, again], [LABEL, again]]
        code += [[STORE, counter, self.compute(code, ADD, step, self.number(1))], [BRANCH, head], [LABEL, after]]

    def element(self, code, array, place):
        """A pointer to an element of an array variable."""
        found = self.new()
        code.append([CHAIN, self.define(TYPE_POINTER, LOCAL, self.float), found, array, place])
        return found

    def loaded(self, code, type_, pointer):
        found = self.new()
        code.append([LOAD, type_, found, pointer])
        return found

    def shared(self, code, type_, base, layout, stride, index, step):
        """A pointer to the element of a matrix in memory that is number ``step`` in its rows."""
        columns = self.number(self.shape(type_)[1])
        row, column = self.compute(code, DIV, step, columns), self.compute(code, MOD, step, columns)
        major, minor = (column, row) if layout else (row, column)
        place = self.compute(code, ADD, index, self.compute(code, ADD, self.compute(code, MUL, major, self.number(stride)), minor))
        found = self.new()
        code.append([CHAIN, base[0], found, *base[1:], place])
        return found

    def copy(self, type_, code, variables, to, source):
        def one(code, step):
            code.append([STORE, self.element(code, to, step), self.loaded(code, self.float, self.element(code, source, step))])

        self.loop(code, variables, self.size(type_), one)

    def fill(self, type_, code, variables, to, value):
        self.loop(code, variables, self.size(type_), lambda code, step: code.append([STORE, self.element(code, to, step), value]))

    def load(self, type_, base, layout, stride, code, variables, array, index):
        def copy(code, step):
            kind = self.defined[base[0]][3]
            value = self.loaded(code, kind, self.shared(code, type_, base, layout, stride, index, step))
            is_brain = len(self.defined[self.defined[type_][2]]) > 3
            code.append([STORE, self.element(code, array, step), self.widened(code, value, kind, is_brain)])

        self.loop(code, variables, self.size(type_), copy)

    def widened(self, code, value, kind, is_brain):
        """An element as f32: one of bf16 is its upper half."""
        if kind == self.float:
            return value
        wide = self.new()
        if not is_brain:
            code.append([CONVERT, self.float, wide, value])
            return wide
        bits, word = self.new(), self.new()
        code += [[BITCAST, self.define(TYPE_INT, 16, 0), bits, value], [WIDEN, self.word, word, bits]]
        code.append([BITCAST, self.float, wide, self.compute(code, SHIFT, word, self.number(16))])
        return wide

    def store(self, type_, base, layout, stride, code, variables, array, index):
        def copy(code, step):
            value = self.loaded(code, self.float, self.element(code, array, step))
            code.append([STORE, self.shared(code, type_, base, layout, stride, index, step), value])

        self.loop(code, variables, self.size(type_), copy)

    def multiply(self, left, right, added, code, variables, *arrays):
        (rows, depth), columns = self.shape(left), self.shape(right)[1]

        def step(code, number):
            place, k = self.compute(code, DIV, number, self.number(depth)), self.compute(code, MOD, number, self.number(depth))
            i, j = self.compute(code, DIV, place, self.number(columns)), self.compute(code, MOD, place, self.number(columns))
            at = [self.compute(code, ADD, self.compute(code, MUL, i, self.number(depth)), k),
                  self.compute(code, ADD, self.compute(code, MUL, k, self.number(columns)), j), place]
            pointers = [self.element(code, array, one) for array, one in zip(arrays, at)]
            a, b, c = (self.loaded(code, self.float, pointer) for pointer in pointers)
            code.append([STORE, pointers[2], self.compute(code, FADD, c, self.compute(code, FMUL, a, b, self.float), self.float)])

        self.loop(code, variables, rows * depth * columns, step)


def plain(code):
    """The kernel without cooperative matrices; another kernel as it is."""
    made = Plain(code)
    return made.binary() if any(one[0] == MULTIPLY for one in made.code) else code
