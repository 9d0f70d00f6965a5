"""The exception that leaves a kernel as loops."""


class Kept(Exception):
    """A kernel cannot be raised; the message gives the reason to its author."""
