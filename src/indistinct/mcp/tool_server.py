"""The server of the Model Context Protocol: an assistant's tools, each a question that is answered with numbers."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import indistinct
from indistinct.atomic_files import write_whole
from indistinct.errors import IndistinctError, MissingExtraError, OutputError
from indistinct.mcp import answers
from indistinct.policy import Policy
from indistinct.policy.files.policy_file import read_policy
from indistinct.policy.stated_policy import policy_digest
from indistinct.release.manifest import MANIFEST

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

LINKED = "links are not followed, also those in a folder; name the file itself"


class ShownError(IndistinctError):
    """An error whose words are for an assistant: they quote nothing, so they may be passed on."""


@dataclass(frozen=True, slots=True)
class RootFolder:
    """A folder, and what its policies were when the server started.

    A policy can ask about single people: with a condition, or a hierarchy that lists one value, every count is an
    answer. So a policy that was written or changed since then is refused until its holder has read it.
    """

    place: Path
    policies: frozenset[str]
    """The digests of the policies that were there, each with all that it requires and what its hierarchies say."""

    @classmethod
    def open(cls, place: str | os.PathLike[str]) -> RootFolder:
        """Take a folder and look at its policies; raise an OutputError if it is none."""
        root = Path(place).resolve()
        if not root.is_dir():
            raise OutputError(f"{place} is no folder; name the one that holds your tables and releases")
        found = set()
        for path in sorted(root.rglob("*.toml")):
            if path.is_file() and not path.is_symlink():
                found.add(_digest(path))
        return cls(root, frozenset(found))

    def existing(self, name: str) -> Path:
        """Return the path of a file or folder that is there; a link, or a place outside, is refused."""
        place = self._inside(name)
        if not place.is_file() and not place.is_dir():
            raise ShownError("there is no such file or folder in the root folder")
        if any(path.is_symlink() for path in place.rglob("*")):
            raise ShownError(LINKED)
        return place

    def new_file(self, name: str, suffix: str) -> Path:
        """Return the path of a file that is still to be written."""
        place = self._inside(name)
        if place.suffix != suffix or place.exists():
            raise ShownError(f"name a file that is not there yet and ends in {suffix}")
        if not place.parent.is_dir():
            raise ShownError("the folder of the file is not there")
        if (place.parent / MANIFEST).exists():
            raise ShownError("that folder is a release; it would not verify with one file more")
        return place

    def policy(self, name: str) -> Policy:
        """Return a policy that its holder had in the folder when the server started."""
        place = self.existing(name)
        if _digest(place) not in self.policies:
            raise ShownError(
                "the policy was written or changed after the server started; its holder reads it and starts the "
                "server anew"
            )
        return read_policy(place)

    def _inside(self, name: str) -> Path:
        """Return the path of a name; no part of it may lead elsewhere."""
        given = Path(name)
        is_plain = bool(given.parts) and not given.is_absolute() and not {"..", "~"} & set(given.parts)
        if not is_plain or "\0" in name or any(sign in name for sign in "*?[]:\\"):
            raise ShownError("name a file below the root folder, relative to it, without .. and without patterns")
        place = self.place
        for part in given.parts:
            place = place / part
            if place.is_symlink():
                raise ShownError(LINKED)
        return place


def _digest(path: Path) -> str:
    """Return the digest of a policy file and of all that it requires, also of hierarchies in files of their own."""
    whole = hashlib.sha256(path.read_bytes())
    try:
        whole.update(policy_digest(read_policy(path)).encode())
    except (IndistinctError, OSError):
        whole.update(b"unreadable")
    return whole.hexdigest()


INSTRUCTIONS = (
    "Tables of people and releases made from them, in one folder of the user's machine. Name files relative to it. "
    "Answers are numbers, names of columns that a policy or you named, and verdicts. Cells are never passed on, nor "
    "messages that could quote one: where an answer has 'holder_runs', ask the user to run that command and read it. "
    "The order: init, then the user reads the policy; check; the user runs 'indistinct anonymize'; verify; report."
)


def make_server(root: RootFolder) -> MCPServer:
    """Return a server whose tools look at one folder; raise if the SDK of the protocol is not installed."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.types import ToolAnnotations
    except ImportError:
        raise MissingExtraError('the server for assistants needs mcp: pip install "indistinct[mcp]"') from None
    server = MCPServer("indistinct", instructions=INSTRUCTIONS, version=indistinct.__version__)
    for tool in Tools(root).all():
        annotations = ToolAnnotations(
            read_only_hint=tool.__name__ not in ("report", "init"), destructive_hint=False, open_world_hint=False
        )
        server.tool(annotations=annotations, structured_output=True)(tool)
    return server


class Tools:
    """The questions that may be asked about one folder."""

    def __init__(self, root: RootFolder) -> None:
        self.root = root

    def all(self) -> list[Callable[..., dict[str, Any]]]:
        """Return every tool."""
        return [self.init, self.check, self.risk, self.verify, self.report]

    def init(self, table: str, output: str, k: int = 5) -> dict[str, Any]:
        """Write a first policy for a table, for the user to read. Counts the columns of each role, without names."""
        from indistinct.pipeline.suggesting import suggestion
        from indistinct.policy.files.policy_file import policy_toml
        from indistinct.profiling import comments, profile

        def ask() -> dict[str, Any]:
            goal = self.root.new_file(output, ".toml")
            made = suggestion(profile(self.root.existing(table), k), k)
            write_whole(goal, policy_toml(made.policy, comments(made.profile)))
            return answers.answer_profile(made.profile, output)

        return _ask(ask, command=_command("init", table, "-o", output))

    def check(self, policy: str, table: str = "", tables: dict[str, str] | None = None) -> dict[str, Any]:
        """Return whether a policy fits a table and can be met, and how many of its rows are unique as they are.

        Of a policy of several tables name each in ``tables``, by the name that the policy has for it.
        """
        from indistinct.pipeline.policy_check import check

        given = [f"{name}={path}" for name, path in (tables or {}).items()]
        command = _command("check", policy, *(given or [table]))

        def ask() -> dict[str, Any]:
            asked = self.root.policy(policy)
            found = {name: self.root.existing(path) for name, path in (tables or {}).items()}
            return answers.answer_check(check(found or self.root.existing(table), asked), asked, command)

        return _ask(ask, command=command)

    def risk(self, table: str, policy: str | None = None, columns: list[str] | None = None) -> dict[str, Any]:
        """Return how many people of a table stand alone by the quasi columns of a policy, or by columns that you
        name.
        """
        from indistinct.disclosure_risk import risk

        def ask() -> dict[str, Any]:
            asked = None if policy is None else self.root.policy(policy)
            if (asked is None) == (columns is None):
                raise ShownError("name a policy of one table, or the columns that others may know")
            known = columns if asked is None else answers.column_names(asked)
            return answers.answer_risk(risk(self.root.existing(table), columns, policy=asked), known or ())

        return _ask(ask, command=_command("risk", table))

    def verify(self, release: str, policy: str | None = None) -> dict[str, Any]:
        """Recount a release from its own cells; without a policy by what its manifest states, as a recipient can."""
        from indistinct.proof.verdict import verify

        def ask() -> dict[str, Any]:
            asked = None if policy is None else self.root.policy(policy)
            return answers.answer_verdict(verify(self.root.existing(release), asked))

        return _ask(ask, command=_command("verify", *([policy] if policy else []), release))

    def report(
        self, policy: str, release: str, output: str, edition: Literal["internal", "public"] = "public"
    ) -> dict[str, Any]:
        """Write everything that is known about a release as a page of HTML. Answers its path and its verdict alone."""
        from indistinct.report import render, report_facts, write_page

        command = _command("report", policy, release, "-o", output)

        def ask() -> dict[str, Any]:
            goal, asked = self.root.new_file(output, ".html"), self.root.policy(policy)
            facts = report_facts(self.root.existing(release), asked, edition=edition)
            write_page(goal, render(facts), is_public=edition == "public")
            return answers.answer_report(facts, output)

        return _ask(ask, command=command)


def serve(root: str | Path) -> None:
    """Answer questions about a folder over standard input and output, until the other side ends."""
    make_server(RootFolder.open(root)).run("stdio")


def _ask(question: Callable[[], dict[str, Any]], command: str) -> dict[str, Any]:
    """Answer a question; of whatever is raised, also by libraries, nothing is passed on but what is known here."""
    try:
        return question()
    except Exception as error:
        return {"error": str(error)} if isinstance(error, ShownError) else answers.answer_error(error, command=command)


def _command(*words: str) -> str:
    """Return the command by which the holder sees what is not answered here."""
    return shlex.join(["indistinct", *words])
