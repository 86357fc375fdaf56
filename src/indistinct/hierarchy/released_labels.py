"""A hierarchy whose values are partly labels that an earlier release has shown already."""

from __future__ import annotations

from typing import Any, ClassVar

from indistinct.hierarchy.hierarchy import Hierarchy, Texts, UnknownValues


class Based(Hierarchy):
    """The hierarchy of a column in which some cells are labels already: such a cell never becomes more specific.

    It is made for the time of one release, from the column's own hierarchy and its ground values.
    """

    __slots__ = ("_ground", "_hierarchy", "top")
    kind: ClassVar[str] = "based"
    main_option: ClassVar[str] = ""

    def __init__(self, hierarchy: Hierarchy, ground: Texts) -> None:
        self._hierarchy = hierarchy
        self._ground = tuple(ground)
        self.top: str | None = None  # the top of the hierarchy below is the last of its levels

    @property
    def level_names(self) -> tuple[str, ...]:
        return self._hierarchy.level_names

    @property
    def is_never_generalized(self) -> bool:  # type: ignore[override]  # it is that of the hierarchy below
        return self._hierarchy.is_never_generalized

    def options(self) -> dict[str, Any]:
        return {}

    def climb(self, values: Texts) -> list[Texts]:
        """Return the labels at each level above 0; a label stays what it is up to its own level.

        >>> from indistinct.hierarchy import prefix
        >>> Based(prefix(3), ["021", "022"]).climb(["02*", "022"])
        [['02*', '02*'], ['0**', '0**'], ['*', '*']]
        """
        columns = self._hierarchy.compile(self._ground)
        paths: dict[str | None, list[str | None]] = {}
        for level in range(columns.height, -1, -1):  # the lowest level on which a label occurs counts
            for value, code in enumerate(columns.maps[level].tolist()):
                label = columns.labels[level][code]
                above = [
                    columns.labels[upper][columns.maps[upper][value]] for upper in range(level + 1, columns.height + 1)
                ]
                paths[label] = [label] * level + above
        unknown = [code for code, value in enumerate(values) if value not in paths]
        if unknown:
            raise UnknownValues(
                f"{len(unknown)} labels of the release that this one is based on are not labels of the hierarchy any "
                "more; use the hierarchy of that release, or a release that is consistent with it instead",
                unknown,
            )
        return [list(column) for column in zip(*(paths[value] for value in values), strict=True)]
