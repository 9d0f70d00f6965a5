"""The ops that a rule builds before the op that it is applied to: they are removed if the rule refuses."""
from legato.core.errors import LegatoError
from legato.core.ir_helpers import everything
from legato.core.mlir import ir


class BuiltOps:
    """What is built before an op inside of ``with BuiltOps(op) as built``.

    Dialect conversion rolls back its own changes only, not the ops that Python builds. An op marks the place where they begin, as the
    bindings find an op's successor, but not its predecessor.
    """

    def __init__(self, op: ir.Operation) -> None:
        self._op = op

    def __enter__(self) -> "BuiltOps":
        with ir.InsertionPoint(self._op), ir.Location.unknown(self._op.context):
            self._marker = ir.Operation.create("builtin.unrealized_conversion_cast")
        return self

    def __exit__(self, *_: object) -> None:
        self._marker.erase()

    def remove(self) -> None:
        """Erases what was built. LegatoError where other ops use it."""
        made: list[ir.Operation] = []
        one = successor(self._marker)
        while one is not None and one != self._op:
            made.append(one)
            one = successor(one)
        inside = {inner for one in made for inner in everything(one)}
        for one in made:
            for user in [use.owner.operation for result in one.results for use in result.uses]:
                if user not in inside:
                    raise LegatoError(f"it has changed {user.name}, which is no op of its own")
        for one in reversed(made):
            one.erase()


def successor(op: ir.Operation) -> ir.Operation | None:
    """The op after another one in its block; None for the last."""
    after = ir.InsertionPoint.after(op).ref_operation
    return None if after is None else after.operation
