"""MuArgusSession: a dialogue about a table, from opening it to a release that was recounted."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

from indistinct.errors import PolicyError
from indistinct.pipeline.stages import Counted, count, open_tables, recode, recount, refuse_risk
from indistinct.policy import Policy
from indistinct.policy.files.policy_file import load_policy
from indistinct.progress import Watch
from indistinct.release import Release
from indistinct.search import MuArgus, MuArgusDialogue, algorithm_of


class MuArgusSession(MuArgusDialogue):
    """A dialogue with the holder of a table: steps 3 to 6 of Figure 11 in Sweeney 2002.

    ``open()`` a table, see ``unsafe()``, ``generalize()`` a column or ``undo()`` that, look at the ``suppressions()``
    and make the ``release()``. Everything that it shows is for the holder alone. The table stays open until the session
    is closed, at the latest by the end of its ``with`` block.
    """

    _counted: Counted | None = None
    _opened: ExitStack | None = None

    @classmethod
    def open(
        cls,
        table: Any,
        policy: Policy | str | os.PathLike[str],
        *,
        algorithm: MuArgus | None = None,
        watch: Watch | None = None,
        **reading: Any,
    ) -> MuArgusSession:
        """Begin the dialogue about a table.

        ``algorithm`` is µ-Argus with its options; without it they are those of a policy that names µ-Argus, else the
        usual ones. ``table`` and ``reading`` are those of ``anonymize``.
        """
        policy = load_policy(policy, to="mu-argus")
        options = algorithm or (algorithm_of(policy) if policy.algorithm == MuArgus.name else MuArgus())
        if not isinstance(options, MuArgus):
            raise PolicyError(f"algorithm: a µ-Argus session needs MuArgus(), got {options!r}")
        with ExitStack() as opened:
            tables = opened.enter_context(open_tables(table, policy, **reading))
            counted = opened.enter_context(count(tables, policy, watch or Watch()))
            session = cls(counted.task, options)
            session._counted, session._opened = counted, opened.pop_all()
        return session

    def release(self, *, allow_unsafe: bool = False, watch: Watch | None = None) -> Release:
        """Make the release that the dialogue has come to, and recount it; raise if it fails.

        With ``allow_unsafe`` a release that fails its recount is given all the same; its verdict says what failed.
        """
        if self._counted is None or self._opened is None:
            raise PolicyError("this session has no open table: begin it with MuArgusSession.open(table, policy)")
        watch = watch or Watch()
        made = recode(self._counted, self.finish(), self.options, watch)
        return refuse_risk(recount(made, watch, allow_unsafe=allow_unsafe))

    def close(self) -> None:
        """Let go of the table."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def __enter__(self) -> MuArgusSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
