"""The roles of columns, as a policy written in Python gives them: identifier, quasi, sensitive, other, drop."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Unpack

from indistinct.errors import PolicyError
from indistinct.hierarchy import Hierarchy, keep
from indistinct.policy.column import Column, Missing, Role, Shift, Unreadable
from indistinct.policy.perturbation import Microaggregation, Noise, Perturbation


def identifier(*, pseudonym: bool | Literal["stable"] = False, missing: Missing = "value") -> Column:
    """A column that names people (name, address, record number): never released as it is.

    With ``pseudonym`` a keyed one stands in its place: equal cells have equal pseudonyms, new ones in each release, or
    with ``"stable"`` the same ones in all releases of a ledger's source. ``missing`` may list codes that mean a
    missing cell.
    """
    return Column("identifier", pseudonym=pseudonym, missing=missing)


def quasi(
    hierarchy: Hierarchy | None = None,
    *,
    weight: float = 1.0,
    missing: Missing = "value",
    unreadable: Unreadable = "refuse",
    min_level: int | str | None = None,
    max_level: int | str | None = None,
    rename: str | None = None,
) -> Column:
    """A column that others may know and link by; generalized along its hierarchy.

    Without a hierarchy it is never generalized; only whole rows can be suppressed. ``weight`` says how much its
    distortion counts. ``missing`` says what a missing cell is: ``"value"``, a value of its own that matches only
    other missing cells until the top, or ``"refuse"``, a mistake; or it lists codes that mean a missing cell, such as
    ``["999", "?"]``. ``unreadable`` says what becomes of a cell that the hierarchy cannot read: ``"refuse"``,
    ``"missing"`` (it is taken for a missing one) or ``"suppress"`` (its row is left out). ``min_level`` and
    ``max_level`` say which levels may be released at all, by number or name: with ``min_level="year"`` no date is
    finer. ``rename`` is what the column is called in the release.
    """
    return Column(
        "quasi",
        keep() if hierarchy is None else hierarchy,
        weight,
        missing=missing,
        unreadable=unreadable,
        min_level=min_level,
        max_level=max_level,
        rename=rename,
    )


def sensitive(hierarchy: Hierarchy | None = None, **cells: Unpack[Cells]) -> Column:
    """A column whose value nobody should learn about a person (illness, salary): released as it is.

    A hierarchy says which values are close to each other; only t-closeness by hierarchical distance asks for it.
    What may be said of its ``cells`` are ``missing`` and ``unreadable``, and with ``rename`` their name in the release,
    as in ``quasi``, and one way to change them. With ``recode`` they are released, and counted by models, as labels of
    that hierarchy at one level, ``recode_level``: rounded, top-coded, the month of a date. ``shift`` is for dates,
    ``perturb`` is for numbers that no model asks about, as in ``other``.
    """
    return _as_it_is("sensitive", hierarchy, **cells)


def drop() -> Column:
    """A column that names nobody and is not released all the same: free text, say, or what the recipient need not know.

    Conditions on eligible rows may still ask about it.
    """
    return Column("drop")


def other(**cells: Unpack[Cells]) -> Column:
    """A column that neither identifies nor harms: released as it is, or recoded as a sensitive one can be.

    Its ``cells`` take what those of ``sensitive`` take: ``missing``, ``unreadable``, ``rename``, ``recode``,
    ``recode_level``, ``shift`` and ``perturb``. With ``shift``, a number of days, its dates move by up to so many: by
    one random number for all rows of a person, so that what lies between them stays. With ``perturb`` its numbers leave
    as means of clusters, ``Microaggregation(5)``, or with noise, ``Noise(10.0, "normal")``: released cells are false
    then, as manifests and reports say.
    """
    return _as_it_is("other", None, **cells)


class Cells(TypedDict, total=False):
    """What a policy may say of the cells of a sensitive or another column."""

    missing: Missing
    unreadable: Unreadable
    rename: str | None
    recode: Hierarchy | None
    recode_level: int | str
    shift: Shift | None
    perturb: Perturbation | None


def _as_it_is(role: Role, hierarchy: Hierarchy | None, *, perturb: Perturbation | None = None, **cells: Any) -> Column:
    """Give a column that is not generalized."""
    if unknown := [name for name in cells if name not in Cells.__annotations__]:
        raise TypeError(f"{role}() got an unexpected keyword argument {unknown[0]!r}")
    return Column(role, keep() if hierarchy is None else hierarchy, **cells, **_by_key(perturb))


def _by_key(perturb: Perturbation | None) -> dict[str, Any]:
    """Give a perturbation by the key that a policy file has for it."""
    if perturb is not None and not isinstance(perturb, Microaggregation | Noise):
        raise PolicyError(f"perturb must be Microaggregation(k) or Noise(scale), not {type(perturb).__name__}")
    return {} if perturb is None else {"microaggregate" if isinstance(perturb, Microaggregation) else "noise": perturb}
