"""Verifiers of ops written in Python."""

from typing import Any, TypeVar

OpClass = TypeVar("OpClass", bound=type)


class InvalidOp(Exception):
    """The message of a verifier about an op, without the op's name."""


def verified(cls: OpClass) -> OpClass:
    """Class decorator: gives an op class whose ``check`` raises ``InvalidOp`` the bindings' verifier hook."""

    def verify_region_invariants(self: Any) -> bool:
        try:
            self.check()
        except InvalidOp as problem:
            self.operation.location.emit_error(f"'{self.OPERATION_NAME}' op {problem}")
            return False
        return True

    cls.verify_region_invariants = verify_region_invariants
    return cls
