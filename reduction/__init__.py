"""Reductions: the smallest program that still fails. ``legato.reduce`` and ``legato-reduce``."""
from legato.reduction.command import Command, CommandOutcome, Failure, failure_of
from legato.reduction.session import ReducedModel, reduce

__all__ = ["Command", "CommandOutcome", "Failure", "ReducedModel", "failure_of", "reduce"]
