"""Download: the release, its policy, its report, and the lines that make the same without the studio."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from nicegui import ui

from indistinct.studio.widgets import controls
from indistinct.studio.widgets.page_frame import Desk, frame, needs_release, show_verdict
from indistinct.studio.work import Work

TAKEN = {
    "release.zip": ("Release (ZIP)", "Writing the release", "take-release"),
    "report.html": ("Report", "Writing the report", "take-report"),
    "report-public.html": ("Report for recipients", "Writing the report", "take-public"),
    "dossier.zip": ("Documents to sign (ZIP)", "Writing the documents", "take-dossier"),
}
"""What is taken home: its name, what it is called, what is said while it is made, and its button."""
LEAD = "The policy file is all that the command line and a scheduled run need to make the same release again."


def page(work: Work, query: Mapping[str, str]) -> None:
    """Show the page."""
    with frame(work, "/download", "Take it home", LEAD) as desk:
        if needs_release(work):
            _policy_so_far(work)
            return
        if not work.is_current:
            controls.notice(
                "note", "Something was changed since this release was made; what is here belongs to the release."
            )
        show_verdict(work)
        if work.attacked is None:
            controls.button(
                "Try all attacks first",
                lambda: desk.run("Attacking", work.attack, lambda: ui.navigate.to("/download")),
                "primary",
                id="attack-now",
            ).style("margin-bottom: 16px")
        if work.is_held_back:
            _decide(work, desk)
        with controls.box("div", "cards"):
            _files(work, desk)
            if not work.is_held_back:
                _folder(work, desk)
        with controls.card("The same without the studio"):
            controls.Words("h3", "Command line")
            controls.code(command_lines(work.tables, bool(work.links)), "Commands")
            controls.Words("h3", "Python")
            controls.code(python_lines(work.tables, bool(work.links)), "Python")
        with controls.card("policy.toml"):
            controls.code(work.released_policy_text, "The policy file")


def _policy_so_far(work: Work) -> None:
    """Hand out what was decided, also before there is a release."""
    if not work.tables or work.mistakes():
        return
    with controls.card("policy.toml, as decided so far"):
        controls.link("Policy", "/take/policy.toml", id="take-policy", download=True)
        controls.box("div").style("height: 12px")
        controls.code(work.policy_text(), "The policy file")


def _decide(work: Work, desk: Desk) -> None:
    """Ask whether the release leaves although attacks expose people of it."""

    def accept() -> None:
        if desk.do(work.accept):
            ui.navigate.to("/download")

    with controls.card("People can be found in it: your decision"):
        controls.Words(
            "p",
            "Mend what the attacks name, in the columns or the models, and run again. Or let it leave as it is, "
            "if whoever receives it may learn that.",
        )
        with controls.box("div", "row-line"):
            controls.link("See who is found", "/attack", "primary")
            controls.button("Let it leave all the same", accept, id="accept")


def _files(work: Work, desk: Desk) -> None:
    with controls.card("Files"):
        with controls.box("div", "row-line"):
            for name, (title, doing, place) in TAKEN.items():
                if name != "release.zip" or not work.is_held_back:
                    _file(work, desk, name, title, doing, place)
            controls.link("Policy", "/take/policy.toml", id="take-policy", download=True)
        controls.Words(
            "p",
            "The release holds the table and a manifest. The policy, the report and the documents describe the private "
            "table: keep them inside the house. The report for recipients is made from the release alone.",
            "quiet small",
        ).style("margin: 12px 0 0")


def _file(work: Work, desk: Desk, name: str, title: str, doing: str, place: str) -> None:
    """Offer a file: it is made beside the page, then taken home."""

    def go() -> None:
        desk.run(doing, lambda watch: work.make(name, watch), lambda: ui.download.from_url(f"/take/{name}"))

    controls.button(title, go, "primary" if name == "release.zip" else "", id=place)


def _folder(work: Work, desk: Desk) -> None:
    typed = {"path": ""}
    done = controls.box("div")

    def write() -> None:
        if desk.do(lambda: typed.update(path=str(work.write(typed["path"])))):
            done.clear()
            with done:
                controls.notice("good", f"Written to {typed['path']}")

    with controls.card("A folder on this machine") as place:
        controls.text("Path of a new folder", "", lambda value: typed.update(path=value), live=True, id="folder")
        with controls.box("div").style("margin: 10px 0"):
            controls.button("Write the release there", write, id="write")
    done.move(place)


def command_lines(tables: Mapping[str, str], is_linked: bool) -> str:
    """Return the commands that make and prove the same release."""
    given = [
        shlex.quote(f"{name}={Path(path).name}" if is_linked else Path(path).name) for name, path in tables.items()
    ]
    proof = " ".join(f"--original {one}" for one in given)
    return (
        f"indistinct anonymize policy.toml {' '.join(given)} -o release\nindistinct verify policy.toml release {proof}"
    )


def python_lines(tables: Mapping[str, str], is_linked: bool) -> str:
    """Return the same in Python."""
    names = {name: Path(path).name for name, path in tables.items()}
    return (
        "import indistinct as ix\n\n"
        'policy = ix.read_policy("policy.toml")\n'
        f"release = ix.anonymize({names if is_linked else next(iter(names.values()))!r}, policy)\n"
        'release.write("release")'
    )
