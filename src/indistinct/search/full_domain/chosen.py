"""Chosen: the levels that somebody has chosen, for example among the solutions; nothing is searched."""

from __future__ import annotations

from indistinct.errors import InfeasibleError, PolicyError
from indistinct.policy.algorithms import ChosenOptions
from indistinct.progress import Watch
from indistinct.recoding import FullDomainRecoding
from indistinct.search.algorithm import Algorithm
from indistinct.search.task import Task


class Chosen(ChosenOptions, Algorithm):
    """Takes every column to the level that is given for it; columns that are not named stay as they are.

    Groups that fail the policy there are suppressed, and no others. If those are more rows than the policy allows, it
    is refused.
    """

    __slots__ = ()

    def run(self, task: Task, watch: Watch) -> FullDomainRecoding:
        """Return the recoding at the chosen levels."""
        frequencies = task.frequencies
        heights = dict(zip(frequencies.columns, frequencies.heights, strict=True))
        start = dict(zip(frequencies.columns, frequencies.start, strict=True))
        mistakes = [f"options.node.{name}: not a quasi column" for name in self.node if name not in heights]
        mistakes += [
            f"options.node.{name}: there is no level {level}; {name} has levels {start[name]} to {heights[name]}"
            for name, level in self.node.items()
            if name in heights and not start[name] <= level <= heights[name]
        ]
        if mistakes:
            raise PolicyError(mistakes)
        node = tuple(self.node.get(name, start[name]) for name in frequencies.columns)
        recoding = task.recoding(frequencies.roll_up(node)[0])
        if recoding.suppressed_rows > task.budget or recoding.released_rows == 0:
            raise InfeasibleError(
                f"at the chosen levels {recoding.suppressed_rows} of {frequencies.rows} rows must be suppressed, but "
                f"the policy allows {task.budget}; choose higher levels, or allow more suppression"
            )
        return recoding
