"""``indistinct schema``: the JSON Schema of policy files, for editors, and of saved recodings."""

from __future__ import annotations

from typing import Annotated

from indistinct.cli import show
from indistinct.cli.options import AsJson, option


def schema(
    recoding: Annotated[bool, option("That of saved recodings.", "--recoding")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the JSON Schema of policy files."""
    from indistinct.policy.files.policy_entries import policy_schema

    if recoding:
        from indistinct.recoding.saved import recoding_schema

        show.document(recoding_schema())
        return
    show.document(policy_schema())
    if not as_json:
        show.say(
            "save it as policy.schema.json, and open a policy file with: #:schema ./policy.schema.json", show.QUIET
        )
