"""``indistinct keys``: key pairs that releases are signed with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from indistinct.cli import show
from indistinct.cli.command import CommandLine
from indistinct.cli.options import AsJson, argument

app = CommandLine(name="keys", help="Make and show the keys that releases are signed with.", no_args_is_help=True)


@app.callback()
def keys() -> None:
    """Make and show the keys that releases are signed with."""


@app.command()
def new(
    name: Annotated[Path, argument("NAME", "What the files are called: NAME.key and NAME.pub.")],
    as_json: AsJson = False,
) -> None:
    """Make a key pair: NAME.key signs and stays with you, NAME.pub verifies and is for everybody.

    Nothing is overwritten. If INDISTINCT_KEY_PASSWORD is set, the private key is encrypted under it.
    """
    from indistinct.release.signature import new_keys

    made = new_keys(name)
    if as_json:
        show.document({"private": str(made.private), "public": str(made.public), "fingerprint": made.fingerprint})
        return
    show.say(f"made {made.private}, which only you can read: whoever has it signs in your name", show.GOOD)
    show.say(f"made {made.public}, for recipients; its fingerprint is {made.fingerprint}", show.GOOD)
    show.next_steps(["anonymize", "POLICY", "TABLE", "-o", "FOLDER", "--sign", made.private])


@app.command(name="show")
def fingerprint_of(
    key: Annotated[Path, argument("FILE", "A public key.")],
    as_json: AsJson = False,
) -> None:
    """Show the fingerprint of a public key, to compare it over another way than the one that it came by."""
    from indistinct.release.signature import fingerprint, public_key

    found = fingerprint(public_key(key))
    if as_json:
        show.document({"public": str(key), "fingerprint": found})
        return
    show.out().print(found)
