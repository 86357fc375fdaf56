"""``indistinct apply``: the recoding of a release for other rows of the same form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from indistinct.cli import show
from indistinct.cli.options import AsJson, EnteringOptions, PolicyPath, Reading, Table, TimeLimit, argument, option
from indistinct.cli.release.anonymize import ReleaseOptions, enter, release_facts, summarize
from indistinct.showing.numbers import figure

if TYPE_CHECKING:
    from indistinct.policy import Policy
    from indistinct.progress import Watch
    from indistinct.recoding.saved import SavedRecoding
    from indistinct.release import Release


def apply(
    policy_path: PolicyPath,
    recoding: Annotated[Path, argument("RECODING", "The folder of the earlier release, or a file that recoding made.")],
    table: Table,
    output: Annotated[Path, option("The folder of the release.", "--output", "-o", metavar="FOLDER")],
    released: Annotated[
        list[Path] | None,
        option("Count it together with this earlier release as well; repeat it.", "--with", metavar="RELEASE"),
    ] = None,
    *,
    writing: ReleaseOptions,
    entering: EnteringOptions,
    reading: Reading,
    time_limit: TimeLimit = None,
    as_json: AsJson = False,
) -> None:
    """Give other rows of the same form the labels of an earlier release, and write them as a release.

    Each group must be safe by the new rows alone, and by those of all releases together; rows that fit no group form
    wider ones, or are left out. Exit code 5 says that the releases fail together.
    """
    from indistinct.errors import PolicyError
    from indistinct.pipeline import AppliedRows
    from indistinct.pipeline.applying import saved_recoding_of
    from indistinct.policy.files.policy_file import read_policy
    from indistinct.release.manifest import refuse_occupied

    refuse_occupied(output, writing.replace)
    policy = read_policy(policy_path)
    mistakes = entering.mistakes() + (
        ["--again: the recoding says how rows are recoded; leave it out"] if entering.again else []
    )
    if mistakes:
        raise PolicyError(mistakes)
    saved = saved_recoding_of(recoding, policy)
    earlier = [*(released or []), *([recoding] if recoding.is_dir() else [])]
    with show.progress(time_limit) as watch:
        release = _make(table, policy, saved, earlier, output, watch, writing, entering, reading)
    rows = AppliedRows.of(saved, release.recoding).to_dict()
    if as_json:
        show.document(release_facts(release, output) | {"applied": rows})
        return
    summarize(release, output)
    show.say(
        f"labels as before for {figure(100 * rows['as_before_share'])} % of the rows, wider ones for "
        f"{figure(100 * rows['wider_share'])} %, left out {figure(100 * rows['left_out_share'])} %"
    )
    if not earlier:
        show.say("not counted together with what was released before: add --with RELEASE", "yellow")
    show.next_steps(["verify", policy_path, output, "--original", table])


def _make(
    table: str,
    policy: Policy,
    saved: SavedRecoding,
    earlier: list[Path],
    output: Path,
    watch: Watch,
    writing: ReleaseOptions,
    entering: EnteringOptions,
    reading: Reading,
) -> Release:
    """Make the release and write it; with a ledger it is checked against that, and entered, as well."""
    from indistinct.pipeline import apply as apply_recoding
    from indistinct.pipeline.applying import algorithm_for, each_once, refuse_together

    if entering.ledger is None:
        key = writing.key()
        with apply_recoding(table, policy, saved, released=earlier, watch=watch, **reading.arguments()) as release:
            watch.report("write")
            writing.write(release, output, key)
            return release
    return enter(
        table,
        policy,
        algorithm_for(saved, policy),
        output,
        watch,
        writing=writing,
        entering=entering,
        refuse=lambda made: refuse_together(made, each_once(earlier), policy),
        **reading.arguments(),
    )
