"""Native functions that MLIR's walk calls for each op (codegen/search.py)."""
from legato.codegen.native.language import Int32, Pointer, Struct, Words, extern

INTERRUPT, SKIP = 1, 2      # what a visit returns: MlirWalkResult


class Found(Struct):
    """What a search knows (``Words``, addresses of names or types), and what it has found."""

    known: Words
    known_count: int
    found: Words
    count: int
    room: int


@extern()
def mlirOperationGetName(op: Pointer) -> Pointer: ...
@extern()
def mlirOperationGetBlock(op: Pointer) -> Pointer: ...
@extern()
def mlirOperationGetNumResults(op: Pointer) -> int: ...
@extern()
def mlirOperationGetResult(op: Pointer, number: int) -> Pointer: ...
@extern()
def mlirOperationGetNumOperands(op: Pointer) -> int: ...
@extern()
def mlirOperationGetOperand(op: Pointer, number: int) -> Pointer: ...
@extern()
def mlirOperationGetNumRegions(op: Pointer) -> int: ...
@extern()
def mlirValueGetType(value: Pointer) -> Pointer: ...
@extern()
def mlirValueGetFirstUse(value: Pointer) -> Pointer: ...


def take_named(op: Pointer, into: Found) -> Int32:
    """Finds an op whose name is known."""
    if is_known(int(mlirOperationGetName(op)), into):
        take(int(op), into)
    return 0


def take_kind(op: Pointer, into: Found) -> Int32:
    """Finds an op whose name is not known yet."""
    name = int(mlirOperationGetName(op))
    if not is_known(name, into):
        learn(name, into)
        take(int(op), into)
    return 0


def take_types(op: Pointer, into: Found) -> Int32:
    """Finds the types of an op's results that are not known yet."""
    for number in range(mlirOperationGetNumResults(op)):
        type_ = int(mlirValueGetType(mlirOperationGetResult(op, number)))
        if not is_known(type_, into):
            learn(type_, into)
            take(type_, into)
    return 0


def take_unused(op: Pointer, into: Found) -> Int32:
    """Finds an op with results that have no uses."""
    results = int(mlirOperationGetNumResults(op))
    for number in range(results):
        if mlirValueGetFirstUse(mlirOperationGetResult(op, number)):
            return 0
    if results:
        take(int(op), into)
    return 0


def take_typed(op: Pointer, into: Found) -> Int32:
    """Finds an op with regions, and one with an operand or result of a known type."""
    if mlirOperationGetNumRegions(op):
        take(int(op), into)
        return 0
    for number in range(mlirOperationGetNumResults(op)):
        if is_known(int(mlirValueGetType(mlirOperationGetResult(op, number))), into):
            take(int(op), into)
            return 0
    for number in range(mlirOperationGetNumOperands(op)):
        if is_known(int(mlirValueGetType(mlirOperationGetOperand(op, number))), into):
            take(int(op), into)
            return 0
    return 0


def take_giver(op: Pointer, into: Found) -> Int32:
    """Finds the first op with a result of a known type in one block, which is the first thing that is known."""
    if int(mlirOperationGetBlock(op)) != into.known[0]:
        return 0
    for number in range(mlirOperationGetNumResults(op)):
        if is_known(int(mlirValueGetType(mlirOperationGetResult(op, number))), into):
            take(int(op), into)
            return INTERRUPT
    return SKIP


def count_op(op: Pointer, into: Found) -> Int32:
    """Counts an op."""
    into.count += 1
    return 0


def is_known(value: int, to: Found) -> bool:
    """Whether a name or a type is known, the last ones first: neighbours are alike."""
    for number in reversed(range(to.known_count)):
        if to.known[number] == value:
            return True
    return False


def learn(value: int, to: Found) -> None:
    """Makes a name or a type known, if there is room."""
    if to.known_count < to.room:
        to.known[to.known_count] = value
        to.known_count += 1


def take(value: int, to: Found) -> None:
    """Counts what is found, and keeps it if there is room."""
    if to.count < to.room:
        to.found[to.count] = value
    to.count += 1


VISITS = (take_named, take_kind, take_types, take_unused, take_typed, take_giver, count_op)
EXTERNS = (mlirOperationGetName, mlirOperationGetBlock, mlirOperationGetNumResults, mlirOperationGetResult, mlirOperationGetNumOperands,
           mlirOperationGetOperand, mlirOperationGetNumRegions, mlirValueGetType, mlirValueGetFirstUse)
