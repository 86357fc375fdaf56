"""µ-Argus: test combinations of a few columns, let the holder generalize, and blank single cells of what is left."""

from __future__ import annotations

from indistinct.policy.algorithms import MuArgusOptions
from indistinct.progress import Watch
from indistinct.recoding import LocalRecoding
from indistinct.search.algorithm import Algorithm
from indistinct.search.full_domain.lattice import check_some_node_passes
from indistinct.search.mu_argus.dialogue import MuArgusDialogue
from indistinct.search.task import Task


class MuArgus(MuArgusOptions, Algorithm):
    """µ-Argus: rare combinations of two and three columns lose cells. It does not promise k-anonymity.

    ``identifying`` says how identifying a column is: 0 not at all (it is left out of every test), 1 most, 2 more, 3
    identifying. A column that is not named is taken as most identifying, so that without any name all combinations
    of up to three columns are tested.

    The steps are those of Figure 11:

    1. Tuples are counted.
    2. Every column starts at its level in ``recoded``, or at 0. With ``automatic``, each climbs until every value
       alone has k rows; else the holder does that, in a session.
    3. ``combinations`` are tested: "types" are the ten types of Figure 12, "all" those of up to ``dimension``
       columns, and a list of lists of columns just these. Single columns are always tested.
    4. The holder may generalize a column, in a session alone.
    5. Then 3 and 4 are repeated, until the holder is content.
    6. In every tuple the cells of unsafe combinations are blanked, until none is left whole. "greedy" takes the cell
       that is in most of them, of equal ones the first in the policy's order; "entropy" and "priorities"
       take the cells of least loss, exactly: the entropy of their columns, or the number in ``priorities`` (1 where
       it names none), both times the column's weight. Of equal ones the fewest cells go, then the first columns.

    A missing cell is as blank as a suppressed one: combinations with it are not tested. Combinations of more columns
    are not tested, and those with blank cells are not tested again; so the recount may well find that a release of
    µ-Argus fails.

    Source: Sweeney 2002, Figures 11 to 15; the rule behind Figure 12, entropy and priorities from the manual of
    µ-Argus 5.1.3, sections 4.1.1 and 5.5.1.
    """

    __slots__ = ()

    def session(self, task: Task, watch: Watch | None = None) -> MuArgusDialogue:
        """Begin the dialogue about a table that was counted; ``MuArgusSession`` also opens and releases it."""
        return MuArgusDialogue(task, self, watch or Watch())

    def check_feasible(self, task: Task, watch: Watch) -> None:
        check_some_node_passes(task, watch, task.budget)

    def run(self, task: Task, watch: Watch) -> LocalRecoding:
        """Return the recoding without a dialogue: what the options say, then suppression."""
        return self.session(task, watch).finish()
