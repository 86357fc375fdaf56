"""A small world of good inputs with canaries in every private cell: what a fuzz campaign damages.

A canary is a text or number that nothing else would write. Names, ages, codes, dates of birth, illnesses and notes of
the table are all canaries, so a message that holds a mark has quoted a cell.
"""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

import indistinct as ix
from campaigns.mutations import toml

MARKS = ("Xq7", "70707", "1707-")
"""How the canaries begin: texts, numbers and dates."""
ROWS = 12
COLUMNS = ["name", "age", "code", "born", "ill", "note"]


@dataclass
class World:
    """The good inputs of a campaign, as bytes and documents, and a folder to put damaged ones in."""

    work: Path
    policy: dict[str, Any]
    rows: list[dict[str, str]]
    tables: dict[str, bytes] = field(default_factory=dict)
    """By the name of the file."""
    levels: bytes = b""
    manifest: dict[str, Any] = field(default_factory=dict)
    release: dict[str, bytes] = field(default_factory=dict)
    ledger: bytes = b""
    store: Path = Path()
    project: dict[str, bytes] = field(default_factory=dict)
    """The files in a project of ARX."""
    releases: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """The files of a release of each kind of table, by the table's name; made when one is asked for."""

    def released(self, name: str) -> dict[str, bytes]:
        """Return the files of a release that was made of a table."""
        if name not in self.releases:
            (self.work / name).write_bytes(self.tables[name])
            with ix.anonymize(self.work / name, ix.parse_policy(toml(self.policy))) as release:
                folder = release.write(self.work / "released")
            self.releases[name] = {path.name: path.read_bytes() for path in folder.iterdir()}
            clear(self.work)
        return self.releases[name]


def canaried_rows(dice: random.Random) -> list[dict[str, str]]:
    """Return rows whose cells are canaries; two rows each share what can be linked, so that a release exists."""
    rows = []
    for number in range(ROWS):
        pair = random.Random(f"{number // 2}")
        rows.append(
            {
                "name": f"Xq7{dice.randrange(16**8):08x}",
                "age": f"70707{pair.randrange(10**5, 10**6)}",
                "code": f"Xq7{pair.randrange(10**4, 10**5)}",
                "born": f"1707-{pair.randint(1, 12):02}-{pair.randint(1, 28):02}",
                "ill": f"Xq7{'flu' if number % 2 else 'gout'}{pair.randrange(10**4):04}",
                "note": f"Xq7{dice.randrange(16**6):06x}",
            }
        )
    return rows


POLICY: dict[str, Any] = {
    "version": 1,
    "max_suppression": 0.2,
    "algorithm": "lattice",
    "options": {"measure": "loss"},
    "columns": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi", "hierarchy": {"intervals": [1000, 100000]}, "weight": 2},
        "code": {"role": "quasi", "hierarchy": {"prefix": 8}, "missing": "value"},
        "born": {"role": "quasi", "hierarchy": {"dates": ["month", "year"]}},
        "ill": {"role": "sensitive"},
        "note": {"role": "drop"},
    },
    "privacy": [{"model": "k-anonymity", "k": 2}, {"model": "l-diversity", "l": 2, "column": "ill"}],
    "eligible": [{"column": "age", "op": ">=", "value": 18}],
    "quasi_identifiers": {"one": ["age", "code"], "two": ["born", "code"]},
    "about": {"data": "made up", "purpose": "a campaign"},
}
MORE_KEYS: dict[str, Any] = {
    "person": {"column": "name", "release": "pseudonym", "suppress": "rows"},
    "one_row_per_person": True,
    "suppressed_rows": "blank",
    "recipient_profile": {"age": 1, "code": 0.5, "born": 0},
}
"""Keys that do not all go together; some are put into a policy before it is disturbed."""
HIERARCHIES: list[dict[str, Any]] = [
    {"levels": [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]},
    {"levels": {"source": "levels.csv", "top": "*", "names": ["one", "two"], "delimiter": ";"}},
    {"tree": {"any": {"north": ["a", "b"], "south": ["c"]}}},
    {"intervals": {"widths": [5, 10], "origin": 0, "low": 10, "high": 90, "top": "*"}},
    {"prefix": {"length": 5, "keep": [4, 3], "mask": "*", "top": "any"}},
    {"dates": {"levels": ["month", "year", "10 years"], "format": "%Y-%m-%d", "latest": "2026-01-01"}},
    {"rounding": {"units": [10, 100], "top": False}},
    {"top_bottom": {"bounds": [[10, 90]], "top": "*"}},
    {"suppress": "*"},
    {"keep": True},
    {"countries": True},
    {"us_zip": {"levels": ["3 digits"], "small": True}},
    {"icd10": True},
]
VALUES: list[str | None] = [
    *(
        "a",
        "b",
        "c",
        "7",
        "23.5",
        "-4",
        "1e3",
        "02138",
        "1964-09-27",
        "27.09.1964",
        "US",
        "E11.9",
        "",
        "nan",
        "inf",
        None,
    ),
    *("Xq7cell", "707071234", "1707-03-04", "9" * 30, "1" * 400, "٣", "0x1f", "1_000", "é", "\x00", "2026-13-45", "--"),
]
"""Cells that hierarchies are asked about; some are canaries."""


def make_world(work: Path, dice: random.Random) -> World:
    """Make the good inputs: a table of every kind, a policy, a hierarchy file, a release and a ledger with an entry."""
    work.mkdir(parents=True, exist_ok=True)
    rows = canaried_rows(dice)
    world = World(work, POLICY, rows)
    world.levels = b"a;x;*\nb;x;*\nc;y;*\n"
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    world.tables["table.csv"] = text.getvalue().encode()
    world.tables["table.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows).encode()
    table = pa.table({name: [row[name] for row in rows] for name in COLUMNS})
    typed = table.set_column(1, "age", pa.array([int(row["age"]) for row in rows]))
    pyarrow.parquet.write_table(typed, work / "table.parquet", compression="none")
    pyarrow.feather.write_feather(table, str(work / "table.arrow"), compression="uncompressed")
    for name in ("table.parquet", "table.arrow"):
        world.tables[name] = (work / name).read_bytes()
    _add_workbook(world, rows)
    _add_statistics_files(world, table)
    _add_database(world, table)
    world.project = _project()
    _add_release(world)
    clear(work)
    return world


def clear(folder: Path) -> None:
    """Remove everything in a folder."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _add_workbook(world: World, rows: list[dict[str, str]]) -> None:
    try:
        from openpyxl import Workbook
    except ImportError:
        return  # without the extra there is nothing to damage
    book = Workbook()
    sheet = book.active
    for line in [COLUMNS, *([row[name] for name in COLUMNS] for row in rows)]:
        sheet.append(line)
    held = io.BytesIO()
    book.save(held)
    world.tables["table.xlsx"] = held.getvalue()


def _add_statistics_files(world: World, table: pa.Table) -> None:
    try:
        import pyreadstat
    except ImportError:
        return  # without the extra there is nothing to damage
    frame = table.to_pandas()
    for kind, write in (("dta", pyreadstat.write_dta), ("sav", pyreadstat.write_sav)):
        write(frame, str(world.work / f"table.{kind}"), column_labels=list(COLUMNS))
        world.tables[f"table.{kind}"] = (world.work / f"table.{kind}").read_bytes()


def _add_database(world: World, table: pa.Table) -> None:
    place = world.work / "table.duckdb"
    with duckdb.connect(str(place)) as database:
        database.register("rows", table)
        database.execute("CREATE TABLE people AS SELECT * FROM rows")
        database.unregister("rows")
    world.tables[place.name] = place.read_bytes()


def _project() -> dict[str, bytes]:
    """Return the files of a project as ARX saves one."""
    assigned = "".join(
        f"<assigment><name>{name}</name><type>{kind}_ATTRIBUTE</type><ref>hierarchies/{name}.csv</ref><min>0</min>"
        "<max>All</max></assigment>"
        for name, kind in (("age", "QUASI_IDENTIFYING"), ("ill", "SENSITIVE"), ("name", "IDENTIFYING"))
    )
    config = (
        "<config><relativeMaxOutliers>0.1</relativeMaxOutliers><metric>Loss</metric><criteria>"
        "<criterion>2-anonymity</criterion><criterion>distinct-2-diversity for attribute 'ill'</criterion></criteria>"
        "<attributeWeights><attributeWeight><attribute>age</attribute><weight>0.5</weight></attributeWeight>"
        "</attributeWeights></config>"
    )
    texts = {
        "metadata.xml": "<metadata><version>3.9.1</version><vocabulary>2.0</vocabulary></metadata>",
        "project.xml": "<project><name>A</name><separator>;</separator></project>",
        "input/config.xml": config,
        "input/definition.xml": f"<definition>{assigned}</definition>",
        "input/hierarchies/age.csv": "30;<50;*\n45;<50;*\n66;>=50;*\n",
    }
    return {name: text.encode() for name, text in texts.items()}


def _add_release(world: World) -> None:
    """Release the table with a ledger; keep the files of the release, and the database."""
    policy = ix.parse_policy(toml(world.policy))
    (world.work / "table.csv").write_bytes(world.tables["table.csv"])
    place = world.work / "ledger.db"
    with (
        ix.Ledger.create(place, world.work / "store") as ledger,
        ledger.anonymize(world.work / "table.csv", policy, recipient="public", key=["name"]) as release,
    ):
        folder = release.write(world.work / "release")
    world.ledger = place.read_bytes()
    world.release = {path.name: path.read_bytes() for path in folder.iterdir()}
    world.manifest = json.loads(world.release["manifest.json"])
    world.store = work_store(world.work)
    shutil.move(world.work / "store", world.store)


def work_store(work: Path) -> Path:
    """Return where the files of the ledger stay, beside the folder of inputs."""
    return work.with_name(f"{work.name}-store")
