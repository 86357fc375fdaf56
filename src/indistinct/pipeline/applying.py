"""apply(): the recoding of a release for other rows of the same form, counted also together with what was released."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.counting import as_declared, encode_eligible
from indistinct.engine import use_table
from indistinct.engine.sql.label_mapping import Covered, LabelMapping
from indistinct.errors import HierarchyError, PolicyError, RefusedError, VerificationError
from indistinct.pipeline.stages import anonymize
from indistinct.policy import Policy
from indistinct.policy.files.policy_file import load_policy
from indistinct.progress import Watch
from indistinct.proof.verdict import verify
from indistinct.randomness import Seed
from indistinct.recoding import LocalRecoding, Recoding
from indistinct.recoding.label_texts import read_label
from indistinct.recoding.saved import SavedRecoding
from indistinct.release import Release
from indistinct.release.manifest import has_manifest
from indistinct.release.released_tables import ReleasedTables
from indistinct.search import Algorithm, Applied, Chosen, LabelReading, share_of_domain

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class AppliedRows:
    """How many rows have the labels of the earlier release, wider ones, or none: they were left out."""

    as_before: int
    wider: int
    left_out: int

    @classmethod
    def of(cls, saved: SavedRecoding, recoding: Recoding) -> AppliedRows:
        """Count the rows of a recoding beside the recoding that it was made with."""
        if not isinstance(recoding, LocalRecoding):
            return cls(recoding.released_rows, 0, recoding.suppressed_rows)
        known = set(saved.group_labels())
        columns = [recoding.frequencies.columns.index(name) for name in saved.columns]
        texts = [np.array(recoding.labels[column].texts, object)[recoding.codes[column]].tolist() for column in columns]
        is_known = np.array([labels in known for labels in zip(*texts, strict=True)], np.bool_)
        before = int(recoding.sizes[is_known].sum())
        return cls(before, recoding.released_rows - before, recoding.suppressed_rows)

    def to_dict(self) -> dict[str, float]:
        """Return the numbers, and the shares of all rows, as JSON takes them."""
        rows = max(1, self.as_before + self.wider + self.left_out)
        named = {"as_before": self.as_before, "wider": self.wider, "left_out": self.left_out}
        return named | {f"{name}_share": number / rows for name, number in named.items()}


def apply(
    table: Any,
    policy: Policy | str | os.PathLike[str],
    recoding: Any,
    *,
    released: Any = (),
    seed: Seed | None = None,
    watch: Watch | None = None,
    **reading: Any,
) -> Release:
    """Return a release of other rows under the recoding of an earlier release; raise if it would not be safe.

    ``recoding`` is a Release, its folder, or what ``release.recoding.save`` wrote; ``released`` are releases or folders
    that new rows stand beside: that of ``recoding`` is one of them. Each group is safe by the new rows alone, since
    whoever knows in which release somebody stands looks at no other, and with those of all the releases together.
    ``AppliedRows.of`` counts which rows have labels that the earlier release shows.
    """
    policy = load_policy(policy, to="apply")
    saved = saved_recoding_of(recoding, policy)
    earlier = list(released) if isinstance(released, Sequence) and not isinstance(released, str) else [released]
    if _is_release(recoding):
        earlier.append(recoding)
    earlier = each_once(earlier)
    release = anonymize(table, policy, algorithm=algorithm_for(saved, policy), seed=seed, watch=watch, **reading)
    try:
        refuse_together(release, earlier, policy)
    except BaseException:
        release.close()
        raise
    return release


def saved_recoding_of(given: Any, policy: Policy | None = None) -> SavedRecoding:
    """Return the recoding of a release, a release folder or a file, as it may leave the house.

    The columns have the names of the ``policy``.
    """
    if isinstance(given, SavedRecoding):
        return given
    if isinstance(given, Release):
        return given.recoding.as_saved()
    return _shown_by(given, policy) if has_manifest(given) else SavedRecoding.read(given)


def algorithm_for(saved: SavedRecoding, policy: Policy) -> Algorithm:
    """Return what recodes rows in this way for a policy, or raise if the policy does not describe the same columns."""
    if policy.tables:
        raise PolicyError("tables: a recoding of several tables that belong together is not applied to others")
    saved.refuse_other({name: policy.columns[name].hierarchy.digest() for name in policy.quasi})
    return Applied(saved) if saved.levels is None else Chosen(saved.levels)


def mapping_of(saved: SavedRecoding, policy: Policy, table: Any = None, **reading: Any) -> LabelMapping:
    """Return a recoding as a mapping for other systems, of the values that hierarchies list and those of a table.

    What a mapping makes is not counted: it is no release.
    """
    algorithm_for(saved, policy)
    present: Mapping[str, Sequence[str | None]] = {}
    if table is not None:
        with (
            use_table(table, **reading) as given,
            as_declared(given, policy) as rows,
            encode_eligible(rows, policy, list(saved.columns)) as encoded,
        ):
            present = dict(encoded.values)
    covered, widths = {}, []
    for name in saved.columns:
        values = _values_of(policy, name, present.get(name, ()))
        hierarchy = policy.columns[name].compile(values)
        if saved.levels is not None:
            labels: Sequence[str | None] = hierarchy.labels[saved.levels[name]]
        else:
            labels = (saved.labels or {})[name]
        reading_of = LabelReading(hierarchy)
        covered[name] = {label: _read_cover(reading_of, label) for label in labels}
        leaves = np.array([reading_of.level_and_width(label, reading_of.values_of(label))[1] for label in labels])
        lost = policy.columns[name].weight * share_of_domain(leaves, hierarchy.domain_size)
        widths.append(dict(zip(labels, lost.tolist(), strict=True)))
    if saved.levels is not None:
        return LabelMapping(covered)

    def width(group: tuple[str | None, ...]) -> float:
        """Return what a row loses in a group; apply prefers the narrowest as well."""
        return float(sum(own[label] for own, label in zip(widths, group, strict=True)))

    return LabelMapping(covered, sorted(saved.group_labels(), key=width))


def _values_of(policy: Policy, name: str, present: Sequence[str | None]) -> list[str | None]:
    """Return the values of a column that its hierarchy lists, and those at hand; a missing one last."""
    try:
        listed = [row[0] for row in policy.columns[name].hierarchy.table()]
    except HierarchyError:  # it lists none
        listed = []
    values = {*listed, *present}
    if not values:
        raise PolicyError(
            f"columns.{name}: its hierarchy lists no values; give the table that is to be recoded as well"
        )
    return [*sorted(value for value in values if value is not None), *([None] if None in values else [])]


def _read_cover(reading: LabelReading, label: str | None) -> Covered:
    """Return what a label covers among the values of a column."""
    hierarchy = reading.hierarchy
    is_covered = reading.values_of(label).tolist()
    values = [value for value, own in zip(hierarchy.values, is_covered, strict=True) if own]
    cover = None if label is None or reading.levels_of(label) else read_label(label)
    is_top = hierarchy.has_suppressed_top and label is not None and label == hierarchy.labels[-1][0]
    present = tuple(value for value in values if value is not None)
    has_missing = None in values or (cover is not None and cover.or_missing)
    return Covered(present, cover.values if cover is not None and cover.is_range else (), has_missing, is_all=is_top)


def refuse_together(release: Release, earlier: Sequence[Any], policy: Policy) -> None:
    """Raise if the rows of a release and of earlier ones, as one table, fail the policy."""
    if not earlier:
        return
    tables = [_cells(one, policy) for one in (release, *earlier)]
    import pyarrow as pa

    names = tables[0].column_names
    others = [table for table in tables if set(table.column_names) != set(names)]
    if others:
        raise PolicyError(f"released: an earlier release has other columns than {', '.join(names)}")
    joined = pa.concat_tables([table.select(names) for table in tables])
    said = [ReleasedTables.of(one, policy).said for one in (release, *earlier)]
    suppressed = sum(one.suppressed or 0 for one in said if one is not None)
    verdict = verify(
        joined.rename_columns([policy.renamed_in("table").get(name, name) for name in names]),
        policy,
        suppressed=suppressed if policy.suppressed_rows == "blank" else None,
        is_local=True,
    )
    try:
        verdict.raise_if_failed()
    except VerificationError as error:
        raise RefusedError(
            f"together with what was released before: {error}; make a new release of all rows instead"
        ) from None


def each_once(releases: Sequence[Any]) -> list[Any]:
    """Return releases and folders, those that are named twice once: their rows are counted once."""
    keys = [id(one) if isinstance(one, Release) else str(Path(one).resolve()) for one in releases]
    return [one for place, one in enumerate(releases) if keys[place] not in keys[:place]]


def _is_release(given: Any) -> bool:
    return isinstance(given, Release) or (not isinstance(given, SavedRecoding) and has_manifest(given))


def _shown_by(folder: Any, policy: Policy | None) -> SavedRecoding:
    """Return the recoding that a release folder shows: its levels, or the labels of its groups."""
    released = ReleasedTables.of(Path(folder), policy)
    manifest = released.manifest
    assert manifest is not None  # it has one
    if not manifest.shape.shows_recoding or manifest.drawn is not None:
        raise PolicyError("recoding: a release of several tables, of two or of rows that were drawn shows none")
    stated = (manifest.policy.columns or {}).items()
    hierarchies = {
        name: one.hierarchy.sha256 for name, one in stated if one.role == "quasi" and one.hierarchy is not None
    }
    if manifest.node is not None:
        return SavedRecoding(hierarchies=hierarchies, levels={name: manifest.node[name] for name in hierarchies})
    with released.only_rows() as rows, rows.encode(list(hierarchies)) as encoded:
        texts = [encoded.values[name] for name in hierarchies]
        codes = [np.asarray(own, np.int64) for own in encoded.count_by(list(hierarchies)).codes]
    is_blank = np.ones(len(codes[0]), np.bool_)
    for own, code in zip(texts, codes, strict=True):
        is_blank &= np.array([text is None for text in own], np.bool_)[code]
    return SavedRecoding.of_groups(hierarchies, texts, [code[~is_blank].tolist() for code in codes])


def _cells(release: Any, policy: Policy) -> pa.Table:
    """Return the cells of a release as text, under the names of the policy."""
    import pyarrow as pa

    with ReleasedTables.of(release, policy, is_release=True).only_rows() as rows:
        names = list(rows.columns())
        with rows.encode(names) as encoded:
            counts = encoded.count_by(names)
            places = [pa.array(np.repeat(np.asarray(codes), np.asarray(counts.counts))) for codes in counts.codes]
            texts = [pa.array(encoded.values[name], pa.string()) for name in names]
        return pa.table([own.take(place) for own, place in zip(texts, places, strict=True)], names)
