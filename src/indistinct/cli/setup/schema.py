"""``indistinct schema``: the JSON Schema of policy files, for editors that complete and check them."""

from __future__ import annotations

from indistinct.cli import show
from indistinct.cli.options import AsJson


def schema(as_json: AsJson = False) -> None:
    """Print the JSON Schema of policy files."""
    from indistinct.policy.files.policy_schema import policy_schema

    show.document(policy_schema())
    if not as_json:
        show.say(
            "save it as policy.schema.json, and open a policy file with: #:schema ./policy.schema.json", show.QUIET
        )
