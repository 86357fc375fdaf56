"""The server for assistants: every tool through a real client, on sound and on broken files, and no cell comes back."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import indistinct as ix
from indistinct.errors import OutputError
from indistinct.mcp.tool_server import RootFolder, make_server

pytestmark = pytest.mark.skipif(
    os.environ.get("CI") != "true" and find_spec("mcp") is None,
    reason='NOT CHECKED: the server for assistants. Install it: pip install "indistinct[mcp]"',
)

CANARY = "Zq7"
"""Every cell, label, value of a policy and word in a broken file holds it."""
TABLE = "zip,age,ill,note\n" + "".join(
    f"{CANARY}{n % 3},{CANARY}{n % 2},{CANARY}ill{n % 4},{CANARY}note{n}\n" for n in range(12)
)
POLICY = f"""version = 1
max_suppression = 0
[columns]
zip = {{ role = "quasi", hierarchy = {{ tree = {{ "*" = ["{CANARY}0", "{CANARY}1", "{CANARY}2"] }} }} }}
age = {{ role = "quasi", hierarchy = {{ suppress = true }} }}
ill = {{ role = "sensitive" }}
note = {{ role = "identifier" }}
[[privacy]]
model = "k-anonymity"
k = 3
[[eligible]]
column = "ill"
op = "!="
value = "{CANARY}nobody"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with tables, policies and releases, sound and broken, with the canary everywhere."""
    place = tmp_path_factory.mktemp("root")
    (place / "visits.csv").write_text(TABLE, "utf-8")
    odd = f"{CANARY}a,{CANARY}b,{CANARY}c,{CANARY}d"  # cells that stand nowhere again, so that nobody suspects them
    (place / "headless.csv").write_text(TABLE.replace("zip,age,ill,note", odd), "utf-8")
    (place / "ragged.csv").write_text(f"{TABLE}{CANARY},{CANARY},{CANARY},{CANARY},{CANARY}\n", "utf-8")
    (place / "bytes.parquet").write_bytes(b"PAR1" + CANARY.encode())
    (place / "policy.toml").write_text(POLICY, "utf-8")
    (place / "lacking.toml").write_text(POLICY.replace(f'"{CANARY}2"', f'"{CANARY}other"'), "utf-8")
    (place / "strict.toml").write_text(POLICY.replace("k = 3", "k = 50"), "utf-8")
    (place / "torn.toml").write_text(f'{POLICY}\n[columns.{CANARY}]\nrole = "{CANARY}"\n', "utf-8")
    (place / "wrong.toml").write_text(POLICY.replace('"identifier"', f'"{CANARY}"'), "utf-8")
    release = ix.anonymize(place / "visits.csv", place / "policy.toml").write(place / "release")
    for name, change in {
        "altered": lambda text: text.replace("ill0", "ill9"),
        "single": lambda text: f"{text}{CANARY},{CANARY},{CANARY}\n",
        "renamed": lambda text: text.replace("zip", CANARY),
    }.items():
        broken = place / name
        broken.mkdir()
        (broken / "table.csv").write_text(change((release / "table.csv").read_text("utf-8")), "utf-8")
        (broken / "manifest.json").write_bytes((release / "manifest.json").read_bytes())
    said = json.loads((release / "manifest.json").read_text("utf-8"))
    for name, more in {
        "remark": {CANARY: CANARY},
        "named": {"policy": {**said["policy"], "quasi_identifiers": {CANARY: ["zip", "age"]}}},
        "nonsense": {"policy": CANARY},
        "measured": {"measures": {CANARY: CANARY}},
    }.items():
        broken = place / name
        broken.mkdir()
        (broken / "table.csv").write_bytes((release / "table.csv").read_bytes())
        (broken / "manifest.json").write_text(json.dumps({**said, **more}), "utf-8")
    (place / "release" / f"{CANARY}.txt").write_text(CANARY, "utf-8")
    (place / "link.csv").symlink_to(place / "visits.csv")
    (place / "inner").symlink_to(place / "release")
    return place


def ask(folder: Path, *questions: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Ask by a client in the same process, and give the answers; nothing that the client received holds a canary."""
    import mcp  # here: every worker that collects tests would take a second for it

    async def talk() -> list[Any]:
        async with mcp.Client(make_server(RootFolder.open(folder))) as client:
            return [await client.call_tool(name, given) for name, given in questions]

    answers = asyncio.run(talk())
    for (name, given), answer in zip(questions, answers, strict=True):
        assert CANARY not in answer.model_dump_json(), (name, given)
    return [answer.structured_content for answer in answers]


TABLES = ("visits.csv", "headless.csv", "ragged.csv", "bytes.parquet", "absent.csv", "release")
POLICIES = ("policy.toml", "lacking.toml", "strict.toml", "torn.toml", "wrong.toml", "visits.csv", "absent.toml")
RELEASES = (
    "release",
    "altered",
    "single",
    "renamed",
    "remark",
    "named",
    "nonsense",
    "measured",
    "visits.csv",
    "absent",
)


@pytest.mark.slow
def test_the_tools_are_those_that_the_page_names(folder: Path) -> None:
    import mcp

    async def talk() -> Any:
        async with mcp.Client(make_server(RootFolder.open(folder))) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(talk())}
    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
    assert list(tools) == ["init", "check", "risk", "verify", "report"]
    assert all(f"| `{name}` |" in page for name in tools)
    assert {name for name, tool in tools.items() if tool.annotations.read_only_hint} == {"check", "risk", "verify"}


@pytest.mark.slow
def test_no_cell_comes_back_from_any_tool_on_any_file(folder: Path) -> None:
    questions: list[tuple[str, dict[str, Any]]] = []
    questions += [("check", {"policy": policy, "table": TABLES[0]}) for policy in POLICIES]
    questions += [("check", {"policy": "policy.toml", "table": table}) for table in TABLES]
    questions += [("risk", {"table": table, "policy": "policy.toml"}) for table in TABLES]
    questions += [("risk", {"table": table, "columns": ["zip", "ill", "note"]}) for table in TABLES]
    questions += [("risk", {"table": "visits.csv", "policy": policy}) for policy in POLICIES[1:]]
    questions += [("verify", {"release": release}) for release in RELEASES]
    questions += [("verify", {"release": release, "policy": "policy.toml"}) for release in RELEASES]
    questions += [("init", {"table": table, "output": f"init{n}.toml"}) for n, table in enumerate(TABLES)]
    questions += [
        ("report", {"policy": "policy.toml", "release": release, "output": f"{release}.html", "edition": edition})
        for release, edition in (("altered", "internal"), ("remark", "public"), ("absent", "public"))
    ]
    answers = ask(folder, *questions)
    assert len(answers) == len(questions)
    assert sum("error" in answer for answer in answers) > 10
    assert sum("error" not in answer for answer in answers) > 15
    assert CANARY in (folder / "init1.toml").read_text("utf-8")  # her own file, and its names are cells: none was told


@pytest.mark.slow
def test_answers_are_the_numbers_of_the_commands(folder: Path) -> None:
    check, lacking, strict, risk, sound, broken, report = ask(
        folder,
        ("check", {"policy": "policy.toml", "table": "visits.csv"}),
        ("check", {"policy": "lacking.toml", "table": "visits.csv"}),
        ("check", {"policy": "strict.toml", "table": "visits.csv"}),
        ("risk", {"table": "visits.csv", "columns": ["zip", "age"]}),
        ("verify", {"release": "altered", "policy": "policy.toml"}),
        ("verify", {"release": "single", "policy": "policy.toml"}),
        ("report", {"policy": "policy.toml", "release": "altered", "output": "page.html"}),
    )
    assert (check["feasible"], check["rows"], check["tuples"]) == (True, 12, 6)
    assert (lacking["feasible"], lacking["mistakes"], lacking["columns"]) == (False, 1, ["zip"])
    assert lacking["holder_runs"] == "indistinct check lacking.toml visits.csv"
    assert strict["error"] == "no release of this table can satisfy the policy"
    assert (risk["rows"], risk["groups"], risk["smallest_group"], risk["alone"]) == (12, 6, 2, 0)
    assert [one["id"] for one in sound["checks"] if not one["passed"]] == ["manifest.files"]
    assert {"id": "model.k-anonymity", "passed": False} in broken["checks"]
    assert (report["outcome"], report["written"]) == ("failed", "page.html")
    assert (folder / "page.html").is_file()


@pytest.mark.parametrize(
    "name", ["../visits.csv", "/etc/passwd", "link.csv", "inner", "inner/table.csv", "*.csv", "", "~/x", "x.duckdb::t"]
)
def test_nothing_outside_the_folder_is_looked_at_and_no_link_followed(folder: Path, name: str) -> None:
    given = [("risk", {"table": name, "columns": ["zip"]}), ("verify", {"release": name})]
    given += [("init", {"table": "visits.csv", "output": f"{name}.toml"})] if "*" in name or ".." in name else []
    for answer in ask(folder, *given):
        assert set(answer) == {"error"}, answer


def test_a_folder_that_holds_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "root" / "parts").mkdir(parents=True)
    (tmp_path / "outside.csv").write_text(TABLE, "utf-8")
    (tmp_path / "root" / "parts" / "table.csv").symlink_to(tmp_path / "outside.csv")
    with pytest.raises(ix.errors.IndistinctError, match="links are not followed"):
        RootFolder.open(tmp_path / "root").existing("parts")


def test_nothing_is_written_into_a_release_since_it_would_not_verify_then(folder: Path) -> None:
    given = {"policy": "policy.toml", "release": "remark", "output": "remark/page.html"}
    for answer in ask(folder, ("report", given), ("init", {"table": "visits.csv", "output": "remark/more.toml"})):
        assert set(answer) == {"error"}, answer
    assert sorted(path.name for path in (folder / "remark").iterdir()) == ["manifest.json", "table.csv"]


def test_nothing_is_overwritten_and_only_pages_and_policies_are_written(folder: Path) -> None:
    given = {"policy": "policy.toml", "release": "altered"}
    for answer in ask(
        folder,
        ("report", {**given, "output": "visits.csv"}),
        ("report", {**given, "output": "no-such-folder/page.html"}),
        ("init", {"table": "visits.csv", "output": "policy.toml"}),
    ):
        assert set(answer) == {"error"}, answer
    assert (folder / "visits.csv").read_text("utf-8") == TABLE
    assert (folder / "policy.toml").read_text("utf-8") == POLICY


def test_a_policy_that_came_later_cannot_ask_about_single_people(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE, "utf-8")
    (tmp_path / "zip.csv").write_text(f"{CANARY}0,*\n{CANARY}1,*\n{CANARY}2,*\n", "utf-8")
    (tmp_path / "p.toml").write_text(POLICY, "utf-8")
    by_file = POLICY.replace(
        POLICY.splitlines()[3], 'zip = { role = "quasi", hierarchy = { levels = { source = "zip.csv" } } }'
    )
    (tmp_path / "f.toml").write_text(by_file, "utf-8")
    root = RootFolder.open(tmp_path)
    assert root.policy("p.toml").columns
    assert root.policy("f.toml").columns
    (tmp_path / "new.toml").write_text(POLICY.replace("k = 3", "k = 1"), "utf-8")
    (tmp_path / "p.toml").write_text(POLICY.replace("nobody", "somebody"), "utf-8")
    (tmp_path / "zip.csv").write_text(f"{CANARY}0,x,*\n{CANARY}1,y,*\n{CANARY}2,y,*\n", "utf-8")
    for name in ("new.toml", "p.toml", "f.toml"):
        with pytest.raises(ix.errors.IndistinctError, match="written or changed after the server started"):
            root.policy(name)


@pytest.mark.slow
def test_it_speaks_over_standard_input_and_output(folder: Path) -> None:
    import mcp

    how = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "indistinct", "mcp", "--root", str(folder)], cwd=str(folder)
    )

    async def talk() -> Any:
        async with mcp.Client(mcp.stdio_client(how)) as client:
            return await client.call_tool("verify", {"release": "altered", "policy": "policy.toml"})

    answer = asyncio.run(talk())
    assert answer.structured_content["passed"] is False
    assert CANARY not in answer.model_dump_json()


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is no folder"):
        RootFolder.open(tmp_path / "absent")
