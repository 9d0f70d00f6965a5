"""Why a kernel stays loops."""


class Kept(Exception):
    """The reason, in words for who wrote the kernel."""
