"""Verifiers of ops written in Python."""

from typing import Any


class Problem(Exception):
    """What a verifier has to say of an op."""


def verified(cls: type) -> type:
    """Gives an op class, whose ``check`` raises ``Problem``, the bindings' verifier hook."""

    def verify_region_invariants(self: Any) -> bool:
        try:
            self.check()
        except Problem as problem:
            self.operation.location.emit_error(f"'{self.OPERATION_NAME}' op {problem}")
            return False
        return True

    cls.verify_region_invariants = verify_region_invariants
    return cls
