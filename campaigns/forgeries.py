"""Forged releases: whatever ``indistinct verify`` refuses without policy and original, verify.py refuses as well.

Changes are drawn over every statement of manifests of all forms, over their text, and over the files of the folder.
They know nothing of what a manifest means. What verify.py alone refuses is counted, since it may be stricter.
"""

from __future__ import annotations

import io
import json
import random
import re
import shutil
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import indistinct as ix
from campaigns.changed_statements import forged
from campaigns.random_cases import Case, draw_case
from campaigns.recount import REFUSED, policy_of, table_of
from campaigns.running import Options, Outcome
from indistinct.release.manifest import MANIFEST, VERIFIER, file_digest, verifier_text

CHANGES = 12
"""Changes that are tried on each release."""
UNDECIDED = 3
CRASHED = -1


def run(options: Options) -> Outcome:
    """Judge one release after the other by both, as it is and with changes."""
    outcome = Outcome(options)
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        program = load_program(Path(folder))
        for number in options.cases():
            dice = options.dice(number)
            case = replace(draw_case(dice), kind="csv")
            outcome.cases += 1
            place = Path(folder) / "release"
            if not write_release(case, Path(folder), place):
                outcome.figures[REFUSED] += 1
                continue
            judge(outcome, number, program, place, dice)
            shutil.rmtree(place)
    return outcome


def judge(outcome: Outcome, number: int, program: ModuleType, place: Path, dice: random.Random) -> None:
    """Judge a release and what comes of changing it; each change is undone."""
    sound = alone(program, place)
    if ours(place) != (sound in (0, UNDECIDED)):
        outcome.add(number, f"as it is: verify.py ends with {sound}")
    outcome.figures["releases"] += 1
    outcome.figures["releases that verify.py judges in full"] += sound == 0
    kept = place.with_name("kept")
    shutil.copytree(place, kept, symlinks=True)
    for _ in range(CHANGES):
        what = draw_change(place, dice)
        is_passed, code = ours(place), alone(program, place)
        outcome.figures["changes"] += 1
        outcome.figures["changes that verify refuses"] += not is_passed
        outcome.figures["changes that verify.py alone refuses"] += is_passed and code not in (0, UNDECIDED)
        if code == CRASHED:
            outcome.add(number, f"{what}: verify.py ends in a traceback", _kept(place))
        elif not is_passed and code == 0:
            outcome.add(number, f"{what}: verify refuses it, and verify.py does not", _kept(place))
        shutil.rmtree(place)
        shutil.copytree(kept, place, symlinks=True)
    shutil.rmtree(kept)


def _kept(place: Path) -> dict[str, bytes | str]:
    return {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}


def load_program(folder: Path) -> ModuleType:
    """Return verify.py as releases carry it, as a module."""
    path = folder / VERIFIER
    path.write_text(verifier_text(), "utf-8")
    spec = spec_from_file_location("verify_alone", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_release(case: Case, folder: Path, place: Path) -> bool:
    """Write the release of a case with all that a folder may hold; tell whether there is one."""
    try:
        with table_of(case, folder) as table, ix.anonymize(table, policy_of(case), seed=case.seed) as release:
            release.write(place, verifier=True, metadata=True)
    except ix.IndistinctError:
        return False
    return True


def ours(place: Path) -> bool:
    """Return whether a release passes ``indistinct verify`` by its folder alone; what cannot be read does not."""
    try:
        return ix.verify(place).passed
    except ix.IndistinctError:
        return False


def alone(program: ModuleType, place: Path) -> int:
    """Return how verify.py ends."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            return int(program.main([str(place)]))
        except Exception:
            return CRASHED


ADDED: dict[str, Any] = {
    "about": {"title": "A ward"},
    "node": {},
    "mean_levels": {},
    "start_node": {"age": 1},
    "unreadable": {"age": 1},
    "perturbations": {},
    "dates_moved": {"days": 3},
    "is_proven": False,
    "gap": 0.0,
    "bound": {"ncp": 0.0},
    "is_cut_short": True,
    "limits": {"time_limit": 1},
    "pseudonym_salt": "0" * 32,
    "ledger_head": "0" * 64,
    "based": True,
    "unsafe": True,
    "link": "class_id",
    "not_protected": "nothing",
    "people": {},
}
"""Statements that most manifests do not make."""


def _change_statement(place: Path, dice: random.Random) -> str:
    said = _read(place)
    what, where, made = dice.choice(list(forged(said)))
    _write(place, made)
    return f"{where} {what}"


def _add_statement(place: Path, dice: random.Random) -> str:
    name, value = dice.choice(list(ADDED.items()))
    _write(place, _read(place) | {name: value})
    return f"{name} added"


def _change_together(place: Path, dice: random.Random) -> str:
    """Change several numbers so that they agree with each other."""
    said, more = _read(place), dice.choice((-1, 1, 5))
    names = dice.sample(("eligible", "released", "suppressed", "groups", "smallest_group"), dice.choice((2, 3)))
    said |= {name: said[name] + more for name in names}
    for check in said["verdict"]["checks"] if dice.random() < 0.5 else ():
        for name in ("suppressed", "rows", "allowed", "groups", "smallest"):
            if isinstance(check["numbers"].get(name), int) and dice.random() < 0.5:
                check["numbers"][name] += more
    if dice.random() < 0.3:
        said["verdict"] |= {name: said["verdict"][name] + more for name in names if name in said["verdict"]}
    _write(place, said)
    return f"{names} by {more}"


def _change_text(place: Path, dice: random.Random) -> str:
    """Change how the manifest is written: a name twice, another kind of number, a number that is none."""
    path = place / MANIFEST
    text = path.read_text("utf-8")
    if dice.random() < 0.3:
        line = dice.choice([one for one in text.splitlines() if re.search(r'": .*,$', one)])
        path.write_text(text.replace(line, f"{line}\n{line}", 1), "utf-8")
        return "a name twice"
    number = dice.choice(list(re.finditer(r"(?<=: )-?\d+(\.\d+)?(?=,?\n)", text)))
    new = dice.choice(("NaN", "Infinity", "1e999", f"{number[0]}.0", f"{number[0]}e0", "1e400", "-0", f"{number[0]}0"))
    path.write_text(text[: number.start()] + new + text[number.end() :], "utf-8")
    return f"{new} in place of {number[0]}"


# Changes of the files.


def _change_table(place: Path, dice: random.Random) -> str:
    """Write a table in another way, or with other cells; the manifest is told the new digest."""
    said = _read(place)
    path = place / dice.choice(list(said["files"]))
    data = path.read_bytes()
    lines = data.split(b"\n")
    number = dice.randrange(len(lines) - 1)
    row = lines[number].split(b",")
    cell, empty = dice.randrange(len(row)), dice.choice((b"", b'""'))
    ways: dict[str, Callable[[], bytes]] = {
        "a quoted cell": lambda: b"\n".join(
            [*lines[:number], b",".join([*row[:cell], b'"' + row[cell] + b'"', *row[cell + 1 :]]), *lines[number + 1 :]]
        ),
        "an empty cell": lambda: b"\n".join(
            [
                *lines[:number],
                b",".join([*row[:cell], empty, *row[cell + 1 :]]),
                *lines[number + 1 :],
            ]
        ),
        "a line twice": lambda: b"\n".join([*lines[:number], lines[number], *lines[number:]]),
        "a line less": lambda: b"\n".join([*lines[:number], *lines[number + 1 :]]),
        "a blank line": lambda: data + b"\n",
        "no last end": lambda: data[:-1],
        "other ends": lambda: data.replace(b"\n", b"\r\n"),
        "a mark of byte order": lambda: b"\xef\xbb\xbf" + data,
        "a cell more": lambda: b"\n".join([*lines[:number], lines[number] + b",Ann", *lines[number + 1 :]]),
        "no text": lambda: data[:-2] + b"\xff\n",
        "sorted": lambda: b"\n".join([lines[0], *sorted(lines[1:-1]), b""]),
        "shortened": lambda: b"\n".join([lines[0], *lines[2:]]),
    }
    name = dice.choice(list(ways))
    path.write_bytes(ways[name]())
    if dice.random() < 0.9:
        said["files"][path.name] = file_digest(path)
        _write(place, said)
    return f"{path.name}: {name}"


def _change_files(place: Path, dice: random.Random) -> str:
    """Put links, remarks and other files into the folder, or take some away."""
    names = sorted(path.name for path in place.iterdir())
    name = dice.choice(names)
    path = place / name
    way = dice.choice(("link", "remark", "gone", "more", "signature", "renamed", "folder"))
    if way == "link":
        elsewhere = place.with_name(f"elsewhere-{name}")
        shutil.move(path, elsewhere)
        path.symlink_to(elsewhere)
    elif way == "remark":
        path.write_bytes(path.read_bytes().replace(b"24", b"25").replace(b"Release", b"Ann has it") + b" ")
    elif way == "gone":
        path.unlink()
    elif way == "more":
        (place / dice.choice(("private.csv", "Table.csv", ".hidden", "manifest.json~"))).write_text("Ann\n", "utf-8")
    elif way == "signature":
        (place / "manifest.json.sig").write_bytes(b"0" * dice.choice((0, 63, 64, 65)))
    elif way == "renamed":
        said = _read(place)
        old = next(iter(said["files"]))
        (place / old).rename(place / "ann.csv")
        said["files"] = {"ann.csv" if one == old else one: digest for one, digest in said["files"].items()}
        _write(place, said)
    else:
        (place / "manifest.json.sig").mkdir()
    return f"{name}: {way}"


WAYS: tuple[tuple[int, Callable[[Path, random.Random], str]], ...] = (
    (5, _change_statement),
    (1, _add_statement),
    (2, _change_together),
    (2, _change_text),
    (3, _change_table),
    (2, _change_files),
)


def draw_change(place: Path, dice: random.Random) -> str:
    """Change a release, and return what was done."""
    (way,) = dice.choices([way for _, way in WAYS], [weight for weight, _ in WAYS])
    return way(place, dice)


def _read(place: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((place / MANIFEST).read_text("utf-8"))
    return said


def _write(place: Path, said: dict[str, Any]) -> None:
    (place / MANIFEST).write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n", "utf-8")
