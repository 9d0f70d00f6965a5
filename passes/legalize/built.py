"""The ops that a rule builds in front of the op that it is applied to: they are removed if the rule refuses."""
from legato.core.errors import LegatoError
from legato.core.ir_helpers import everything
from legato.core.mlir import ir


class BuiltOps:
    """Marks the place in front of an op, so that what is built there can be found.

    Dialect conversion rolls back its own changes only, not the ops that Python builds. The marker is one op that is moved from place to
    place, as the bindings find an op's successor, but not its predecessor.
    """

    def __init__(self) -> None:
        self._marker: ir.Operation | None = None

    def begin(self, op: ir.Operation) -> None:
        """Marks the place in front of ``op``."""
        if self._marker is None:
            with ir.InsertionPoint(op), ir.Location.unknown(op.context):
                self._marker = ir.Operation.create("builtin.unrealized_conversion_cast")
        else:
            self._marker.move_before(op)

    def remove(self, op: ir.Operation) -> None:
        """Erases what was built in front of ``op`` since ``begin``. LegatoError where other ops use it."""
        made: list[ir.Operation] = []
        while (one := self._next(made[-1] if made else self._marker)) != op:
            made.append(one)
        inside = {inner for one in made for inner in everything(one)}
        for one in made:
            for user in [use.owner.operation for result in one.results for use in result.uses]:
                if user not in inside:
                    raise LegatoError(f"it has changed {user.name}, which is no op of its own")
        for one in reversed(made):
            one.erase()

    def end(self) -> None:
        """Removes the marker."""
        if self._marker is not None:
            self._marker.erase()
            self._marker = None

    @staticmethod
    def _next(op: ir.Operation | None) -> ir.Operation | None:
        after = ir.InsertionPoint.after(op).ref_operation if op is not None else None
        return None if after is None else after.operation
