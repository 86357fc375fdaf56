"""``indistinct distance-matrix``: the distance vectors between the outliers and all tuples of a small table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading, Table
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.search import DistanceMatrix

MOST_SHOWN = 12
"""The tuples and outliers that fit a screen; ``--json`` gives all."""


def distance_matrix(
    policy_path: PolicyPath,
    table: Table,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show at which levels each outlier of a small table becomes equal to each other tuple (Samarati 2001, Figure 11).

    Outliers are the tuples that fewer than k rows have. A tuple is shown by the number of its first row, t1 for the
    first row of the table, and never by its values.
    """
    from indistinct.pipeline import distance_matrix as compute
    from indistinct.policy.files.policy_file import read_policy

    policy = read_policy(policy_path)
    matrix = compute(table, policy, **reading.arguments())
    if as_json:
        show.document({"columns": list(policy.quasi), **_describe(matrix)})
        return
    _print_matrix(matrix)
    show.say(f"a vector gives the levels of {', '.join(policy.quasi)}; t7 is the tuple of row 7", show.QUIET)
    show.say(f"no minimal generalization lies above {list(matrix.upper_bound())}", show.QUIET)
    show.next_steps(["solutions", policy_path, table])


def _describe(matrix: DistanceMatrix) -> dict[str, Any]:
    """Return the matrix as JSON takes it: tuples by number."""
    return {
        "k": matrix.k,
        "heights": list(matrix.heights),
        "counts": matrix.counts.tolist(),
        "rows": None if matrix.rows is None else matrix.rows.tolist(),
        "outliers": matrix.outliers.tolist(),
        "vectors": matrix.vectors.tolist(),
        "minimal_vectors": [[list(v) for v in matrix.minimal_vectors(row)] for row in range(len(matrix.outliers))],
        "upper_bound": list(matrix.upper_bound()),
    }


def _print_matrix(matrix: DistanceMatrix) -> None:
    """Print the corner of the matrix that fits a screen, one outlier a line."""
    outliers, tuples = len(matrix.outliers), len(matrix.counts)
    names = [f"t{row}" for row in (range(1, tuples + 1) if matrix.rows is None else matrix.rows.tolist())]
    columns = names[:MOST_SHOWN]
    between = "," if matrix.vectors.size and matrix.vectors.max() > 9 else ""  # short enough for papers' tables
    title = f"{counted(outliers, 'outlier')} by {counted(tuples, 'tuple')}, k = {matrix.k}"
    made = show.table(title, "", *columns, right=columns)
    made.padding, made.pad_edge = 0, False
    for row in range(min(outliers, MOST_SHOWN)):
        vectors = matrix.vectors[row, : len(columns)].tolist()
        made.add_row(names[matrix.outliers[row]], *(between.join(map(str, vector)) for vector in vectors))
    show.out().print(made)
    if max(outliers, tuples) > MOST_SHOWN:
        show.say(f"only the first {MOST_SHOWN} are shown; --json gives all", show.QUIET)
