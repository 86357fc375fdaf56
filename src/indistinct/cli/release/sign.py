"""``indistinct sign``: signs a release that was written before, after a recount."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from indistinct.cli import show
from indistinct.cli.options import AsJson, ReadingAnywhere, argument, option
from indistinct.cli.release.verify import policy_and_release_of


def sign(
    policy_and_release: Annotated[
        list[str],
        argument("[POLICY] RELEASE", "The policy file, and a folder that anonymize wrote; or such a folder alone."),
    ],
    key: Annotated[Path, option("Your private key, made by 'keys new'.", metavar="FILE", show_default=False)],
    replace: Annotated[bool, option("Put this signature in the place of the one that is there.", "--replace")] = False,
    *,
    reading: ReadingAnywhere,
    as_json: AsJson = False,
) -> None:
    """Sign a release, so that recipients can tell who made it and that no byte of it was changed.

    It is recounted first: exit code 4 says that it does not verify, and nothing is signed.
    """
    from indistinct.policy.files.policy_file import read_policy
    from indistinct.release.signing import sign as sign_release

    policy_path, release = policy_and_release_of(policy_and_release)
    policy = None if policy_path is None else read_policy(Path(policy_path))
    with show.progress() as watch:
        watch.report("verify")
        signed_by = sign_release(release, policy, key=key, replace=replace, **reading.engine_arguments())
    if as_json:
        show.document({"signed": release, "signed_by": signed_by})
        return
    show.say(f"verified, and signed by the key {signed_by}", show.GOOD)
    show.next_steps(["verify", release, "--key", key.with_suffix(".pub")])
