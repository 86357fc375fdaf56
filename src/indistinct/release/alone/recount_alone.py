"""Recounts a release with nothing but Python 3.10 and this file: python verify.py [FOLDER]

It lies beside a release and imports nothing of the program that made it. It counts the groups of its tables, CSV or
JSON lines, asks every privacy model that the manifest states, and holds each statement against what it counted. Whoever
alters a release can alter this file, too: compare its SHA-256 with a copy that you trust. It ends with 0 if all holds
that 'indistinct verify RELEASE' checks, 1 if not, 2 if it cannot be read, and 3 if it takes that program to tell.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

from indistinct.release.alone.people_alone import fewest_alike
from indistinct.release.alone.records_alone import records_of
from indistinct.release.alone.rules_alone import NEAR, read_manifest, why_undecided, wrong_statements

FORMAT = 3
ROLES = ("quasi", "sensitive", "other")
SUFFIXES, SIGNED = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson"), "manifest.json.sig"
RECORDS = ("croissant.json", "ro-crate-metadata.json")  # what catalogues of data read of a release
PERSON, CLASS = "pseudonym", "class_id"  # the columns that link the rows of a person, and two tables
# What is demanded of rows where people are counted whose rows nobody can tell, or limits are not stated.
OF_ROWS: dict[str, Any] = {"k-anonymity": {}, "prosecutor-risk": {}, "p-sensitive": {}}
OF_ROWS.update({"l-diversity": {"kind": "distinct"}, "alpha-k": {"model": "k-anonymity"}})
Group = list[tuple[Any, dict[str, str]]]  # each member is a person and one of her rows


class Findings:
    def __init__(self) -> None:
        self.lines, self.wrong, self.unchecked, self.undecided = list[str](), 0, 0, 0

    def check(self, holds: bool, claim: str) -> None:
        self.lines.append(f"{'ok    ' if holds else 'FAILED'} {claim}")
        self.wrong += not holds

    def cannot_tell(self, what: str) -> None:
        self.lines.append(f"????   only 'indistinct verify' can tell: {what}")
        self.undecided += 1

    def leave(self, what: str) -> None:
        self.lines.append(f"       not checked: {what}")
        self.unchecked += 1


def read_lines(text: str, delimiter: str) -> list[list[str]]:
    """Return the cells of delimited text as they are written; raise a ValueError if ours is never written like that."""
    mark = re.escape(delimiter)
    cell = rf'"(?:[^"]|"")*"|[^"\r\n{mark}]*'
    line, cells = re.compile(rf"(?:{cell})(?:{mark}(?:{cell}))*\n"), re.compile(rf"({cell})(?:{mark}|\n)")
    needed, found, place = re.compile(rf'{mark}|["\r\n#]'), list[list[str]](), 0
    while place < len(text):
        one = line.match(text, place)
        if one is None or one.end() == place + 1:
            raise ValueError("a blank line, a mark of byte order, or quotation marks beside text")
        found.append(cells.findall(text, place, one.end()))
        place = one.end()
        if any(c[:1] == '"' and c != '""' and not needed.search(c[1:-1]) for c in found[-1]):
            raise ValueError("quotation marks where none are needed")
    return found


def read_table(path: Path, manifest: dict[str, Any], found: Findings) -> tuple[list[str], list[dict[str, str]]]:
    """Return the columns of a table as the policy names them, and its rows; a missing cell is the empty text."""
    columns_of, text = manifest["policy"]["columns"], path.read_bytes().decode()
    own = {column["rename"]: name for name, column in columns_of.items() if column.get("rename")}
    kept = [name for name, column in columns_of.items() if column["role"] in ("quasi", "sensitive")]
    if path.suffix in (".jsonl", ".ndjson"):
        lines = text.split("\n")[:-1]
        objects = [read_manifest(line) for line in lines]
        texts = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in objects]
        if any(text != line for text, line in zip(texts, lines, strict=True)):
            found.cannot_tell(f"whether {path.name} is written as it should be")
        given: list[list[Any]] = [[None if cell is None else str(cell) for cell in row.values()] for row in objects]
        names = list(objects[0] if objects else manifest["tables"][path.stem]["columns"])
        is_same = all(list(row) == names for row in objects) and text[-1:] in ("", "\n")
    else:
        names, *given = read_lines(text, manifest["tables"][path.stem].get("delimiter", ",")) or [[]]
        names = [name[1:-1].replace('""', '"') if name[:1] == '"' else name for name in names]
        is_same = True
    if not is_same or any(len(row) != len(names) for row in given) or len({n.lower() for n in names}) < len(names):
        raise ValueError("a row has more or fewer cells than the first, or a column stands there twice")
    names = [own.get(name, name) for name in names]
    empty: Any = [{cell for cell in column if cell in ("", None, '""')} for column in zip(*given, strict=True)]
    mixed = [
        name for name, some in zip(names, empty or [()] * len(names), strict=True) if len(some) > 1 and name in kept
    ]
    found.check(not mixed, f"{path.name} has one form of missing cells")
    if path.suffix not in (".jsonl", ".ndjson"):
        given = [[c[1:-1].replace('""', '"') if c[:1] == '"' else c for c in row] for row in given]
    return names, [dict(zip(names, ["" if cell is None else cell for cell in row], strict=True)) for row in given]


def group_rows(rows: list[dict[str, str]], columns: Any, is_linked: bool = False) -> list[Group]:
    """Return the groups that look alike in these columns; where pseudonyms link rows, all rows of a person together."""
    rows_of: Any = defaultdict(list)
    groups: Any = defaultdict(list)
    for place, row in enumerate(rows):
        rows_of[row[PERSON] if is_linked else place].append(row)
    for person, own in rows_of.items():
        profile = tuple(sorted(tuple(row[name] for name in columns) for row in own))
        groups[profile] += [(person, row) for row in own]
    return list(groups.values())


def having(group: Group, column: str | None = None) -> dict[Any, int]:
    """Count the people of a group who have each value of a column; without a column, all of them."""
    found = defaultdict(set)
    for person, row in group:
        found[row[column] if column else None].add(person)
    return {value: len(who) for value, who in found.items()}


def satisfies(size: int, here: dict[str, int], everybody: int, whole: dict[str, int], terms: dict[str, Any]) -> Any:
    """Return whether a group satisfies a model, given how many people have each value here and in the whole table."""
    model, counts = terms["model"], sorted(here.values(), reverse=True)
    if not {"alpha", "beta", "delta", "l", "m", "p", "t"} & set(terms) or terms.get("distance") == "hierarchical":
        raise ValueError("it needs more than the released cells")
    if model == "alpha-k":  # Wong et al. 2006
        return size >= terms["k"] and counts[0] / size <= terms["alpha"] * (1 + NEAR)
    if model == "p-sensitive":  # Truta and Vinay 2006
        return size >= terms["k"] and len(here) >= terms["p"]
    if model == "m-invariance":  # Xiao and Tao 2007, as far as one release shows it
        return counts[0] * terms["m"] <= size
    if model == "l-diversity":  # Machanavajjhala et al. 2007
        kind, shares = terms.get("kind", "distinct"), [number / sum(counts) for number in counts]
        if kind == "distinct":
            return len(here) >= terms["l"]
        if kind == "entropy":
            return -sum(share * math.log(share) for share in shares) >= math.log(terms["l"]) - NEAR
        return counts[0] < terms["c"] * sum(counts[terms["l"] - 1 :]) - NEAR
    if model == "beta-likeness":  # Cao and Karras 2012
        most = {v: -math.log(n / everybody) if terms.get("enhanced") else math.inf for v, n in whole.items()}
        gained = {v: number / size / (whole[v] / everybody) - 1 for v, number in here.items()}
        return all(gain <= min(terms["beta"], most[value]) + NEAR for value, gain in gained.items())
    if model == "delta-disclosure":  # Brickell and Shmatikov 2008
        ratios = [here.get(value, 0) / size / (number / everybody) for value, number in whole.items()]
        return all(ratio > 0 and abs(math.log(ratio)) < terms["delta"] - 1e-12 for ratio in ratios)
    gains = {v: here.get(v, 0) / sum(counts) - number / sum(whole.values()) for v, number in whole.items()}
    if terms.get("distance", "equal") == "equal":  # t-closeness: Li, Li and Venkatasubramanian 2007
        return sum(map(abs, gains.values())) / 2 <= terms["t"] + NEAR
    work, carried = 0.0, 0.0
    for value in sorted(gains, key=lambda text: (text == "", float(text or 0))):
        carried += gains[value]
        work += abs(carried)
    return work / max(1, len(gains) - 1) <= terms["t"] + NEAR


def failing_groups(groups: list[Group], terms: dict[str, Any], sensitive: list[str]) -> int:
    """Count the groups that fail a model; raise a ValueError if it cannot be told from the released cells."""
    name, sizes = terms["model"], [having(group)[None] for group in groups]
    if name in ("k-anonymity", "differential-privacy"):
        return sum(size < terms["k"] for size in sizes)
    if name == "prosecutor-risk":
        return sum(1 / size > terms["at_most"] * (1 + NEAR) for size in sizes)
    if name == "average-risk":
        return len(groups) if len(groups) > terms["at_most"] * (1 + NEAR) * sum(sizes) else 0
    table, failing = [member for group in groups for member in group], set()
    for column in [terms["column"]] if terms.get("column") else sensitive:
        of_all = having(table)[None], having(table, column)
        judged = [satisfies(sizes[n], having(group, column), *of_all, terms) for n, group in enumerate(groups)]
        failing |= {place for place, holds in enumerate(judged) if not holds}
    return len(failing)


def judge_models(found: Findings, manifest: dict[str, Any], groups_by: Any, sensitive: list[str], told: bool) -> None:
    """Ask every stated model about the groups over each quasi-identifier; ``told`` if whose rows they are is known."""
    for terms in manifest["policy"]["privacy"]:
        said = ", ".join(f"{name} = {value}" for name, value in terms.items() if name not in ("model", "on"))
        if terms["model"] == "differential-privacy":
            terms = dict(terms, k=manifest["drawn"]["k"])
            found.leave("how rows were drawn, which differential privacy rests on; only that no group is below its k")
        for name, columns in manifest["policy"]["quasi_identifiers"].items():
            claim = f"{terms['model']} ({said}) on {name}"
            if terms.get("on") not in (None, name):
                continue
            is_partly = not told or isinstance(terms.get("alpha"), list)  # limits of single values are not stated
            if is_partly and terms["model"] in OF_ROWS:
                terms, claim = dict(terms, **OF_ROWS[terms["model"]]), f"what can be told of {claim}"
            elif not told:
                found.leave(f"{claim}: it is counted in people, and whose rows they are is not released")
                continue
            sets = combinations(columns, min(terms.get("known") or len(columns), len(columns)))
            try:
                failing = sum(failing_groups(groups_by(some), terms, sensitive) for some in sets)
                found.check(failing == 0, f"{claim}: {failing} groups fail")
            except ValueError:  # also ordered values that are no numbers, such as dates
                found.leave(f"{claim}: it needs more than the released cells")


def judge_counts(found: Findings, manifest: dict[str, Any], rows: int, sizes: list[int]) -> None:
    """Compare what the manifest counts; rows that were suppressed and left blank are no group of it."""
    is_removed = manifest["policy"]["suppressed_rows"] == "remove" or manifest["form"] != "one table"
    blank = 0 if is_removed else manifest["suppressed"]
    found.check(rows - blank == manifest["released"], f"{rows - blank} rows are released")
    if not blank:
        stated, least = (manifest["groups"], manifest["smallest_group"]), min(sizes, default=0)
        found.check((len(sizes), least) == stated, f"{len(sizes)} groups, the smallest of {least} rows")


def judge_one(found: Findings, manifest: dict[str, Any], tables: dict[str, Any], roles: dict[str, list[str]]) -> Any:
    """Judge a release of one table; return what was counted."""
    (columns, rows), policy = tables["table"], manifest["policy"]
    person = policy.get("person", [])
    is_linked = isinstance(person, dict)  # rows of a person are released under a pseudonym
    named = [person.get("column"), *person.get("columns", ())] if is_linked else person
    own = [name for name, column in policy["columns"].items() if column.get("pseudonym") and name not in named]
    wanted = [name for role in ROLES for name in roles[role]] + own + [PERSON] * is_linked
    found.check(sorted(columns) == sorted(wanted), f"{len(columns)} columns, no identifier")
    if sorted(columns) == sorted(wanted):
        judge_counts(found, manifest, len(rows), [len(group) for group in group_rows(rows, roles["quasi"])])
        told = is_linked or not person
        judge_models(found, manifest, lambda some: group_rows(rows, some, is_linked), roles["sensitive"], told)

    def by(some: Any) -> list[int]:
        return list(Counter(tuple(row[name] for name in some) for row in rows).values())

    def known(some: list[str], number: int) -> dict[str, int]:
        sets = list(combinations(some, number))
        least = min(min(by(one)) for one in sets)
        return {"known": number, "columns": len(some), "sets": len(sets), "smallest": least}

    return {"rows": len(rows), "sizes": by(roles["quasi"]), "by": by, "known": known} if rows else None


def agree_too_often(one: list[str], other: list[str]) -> bool:
    """Return whether two lists of classes agree at more places than shuffled ones ever would."""
    mine, yours, rows = Counter(one), Counter(other), len(one)
    expected = sum(number / rows * (yours[name] / rows) for name, number in mine.items()) if rows > 1 else 1.0
    deviation = math.sqrt(max(expected * (1 - expected), 1 / rows) * rows) if rows else 0.0
    return sum(map(str.__eq__, one, other)) > expected * rows + 10 * deviation


def judge_two(found: Findings, manifest: dict[str, Any], tables: dict[str, Any], roles: dict[str, list[str]]) -> Any:
    """Judge two tables by the join that an adversary would do: Wong et al. 2007, Definition 1. A class is a group."""
    (ours, quasi), (theirs, values), privacy = tables["quasi"], tables["sensitive"], manifest["policy"]["privacy"]
    is_right = sorted(ours) == sorted([CLASS, *roles["quasi"], *roles["other"]])
    is_right = is_right and sorted(theirs) == sorted([CLASS, *roles["sensitive"]])
    sizes, theirs = (Counter(row.get(CLASS) for row in rows) for rows in (quasi, values))
    found.check(is_right and sizes == theirs, "two tables with their columns, each class with as many rows in both")
    if not is_right or sizes != theirs or not quasi:
        return None
    longest = len(str(len(quasi))) + 1
    are_numbers = all(name.isascii() and name.isdecimal() and name == str(int(name)) for name in sizes)
    found.check(are_numbers and max(map(len, sizes)) <= longest, "classes are numbered, and told by nothing else")
    here, there = ([row[CLASS] for row in rows] for rows in (quasi, values))
    told = agree_too_often(here, there) or any(agree_too_often(one[:-1], one[1:]) for one in (here, there))
    found.check(not told, "the order of rows links nothing")
    classes: Any = defaultdict(list)
    classes_of: Any = defaultdict(Counter)
    sharing: Any = Counter()
    people: Any = Counter()
    for place, row in enumerate(values):
        classes[row[CLASS]].append((place, row))
    judge_counts(found, manifest, len(quasi), list(sizes.values()))
    judge_models(found, manifest, lambda _: list(classes.values()), roles["sensitive"], True)
    for row in quasi:
        classes_of[tuple(row[name] for name in roles["quasi"])][row[CLASS]] += 1
    for times in classes_of.values():
        bag: Any = Counter()
        for name, number in times.items():
            for _, row in classes[name]:
                bag[tuple(row[column] for column in roles["sensitive"])] += number
        common = math.gcd(*times.values())
        people[frozenset((name, number // common) for name, number in times.items())] += sum(times.values())
        sharing[frozenset((value, number // common) for value, number in bag.items())] += sum(times.values())
    k = max(terms.get("k", math.ceil(1 / terms.get("at_most", 1) - NEAR)) for terms in privacy)
    found.check(min(sharing.values()) >= k, f"at least {k} people share each bag of sensitive values")
    linked = None if min(people.values()) >= k else 0
    return {"rows": len(quasi), "sizes": list(sizes.values()), "k": k, "linked": linked}


def judge_people(found: Findings, folder: Path, manifest: dict[str, Any]) -> None:
    """Judge tables that belong together by how many people share what they tell of one."""
    policy, tables, privacy = manifest["policy"], {}, manifest["policy"]["privacy"]
    for name in manifest["files"]:
        own = Path(name).stem
        columns, tables[own] = read_table(folder / name, manifest | {"policy": policy["tables"][own]}, found)
        said = policy["tables"][own]
        keys = {said.get("key"), *(said.get("references") or ())}  # pseudonyms stand there
        secret = [column for column, one in said["columns"].items() if one["role"] in ("identifier", "drop")]
        secret = [column for column in secret if column not in keys and not said["columns"][column].get("pseudonym")]
        found.check(not {*columns} & {*secret}, f"{name} has no identifier")
    whole = "quasi_identifiers" not in policy and not any("known" in terms for terms in privacy)
    is_linked = all(PERSON in row and row[PERSON] for rows in tables.values() for row in rows)
    fewest = fewest_alike(policy, tables) if whole and is_linked else None
    if fewest is None:
        found.cannot_tell("how many people share what may be known of one")
    else:
        k = max([terms.get("k", 1) for terms in privacy if terms["model"] in ("k-anonymity", "alpha-k")], default=1)
        found.check(fewest >= k or not any(tables.values()), f"at least {k} people share what may be known of one")
    found.cannot_tell("what references between tables tell, and whether each statement holds")


# What stands in files of its own is put here.


def digest_of(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else None


def judge_files(found: Findings, folder: Path, manifest: dict[str, Any]) -> None:
    """Judge what lies in the folder, beside the cells."""
    listed = {"manifest.json", SIGNED, *RECORDS, *manifest["files"], *["verify.py"] * ("verifier" in manifest)}
    others = [place for place in folder.iterdir() if place.name not in listed]
    found.check(not others, f"the folder holds the files of the manifest, and {len(others)} others")
    links = [name for name in sorted(listed) if (folder / name).is_symlink()]
    found.check(not links, f"{len(links)} of its files are links to other places")
    for name, digest in manifest["files"].items():
        if not (folder / name).is_dir():  # a folder of files has a digest that only the package works out
            found.check(digest_of(folder / name) == digest, f"{name} is the file that the manifest names")
    if "verifier" in manifest:
        is_own = manifest["verifier"] == digest_of(folder / "verify.py") == digest_of(Path(__file__).resolve())
        found.check(is_own, "verify.py is the program that the manifest names, and this one")
    if (folder / SIGNED).exists():
        found.check((folder / SIGNED).is_file() and (folder / SIGNED).stat().st_size == 64, f"{SIGNED} is a signature")
    for name in RECORDS:
        if (folder / name).exists():
            folders = [table for table in manifest["files"] if (folder / table).is_dir()]
            is_same = (folder / name).read_bytes() == records_of(manifest, folders)[name].encode()
            found.check(is_same, f"{name} follows from the manifest")


def verify(folder: Path) -> Findings:
    found, manifest = Findings(), read_manifest((folder / "manifest.json").read_text("utf-8"))
    policy, form = manifest["policy"], {FORMAT: manifest["form"]}[manifest["format"]]
    judge_files(found, folder, manifest)
    found.leave("who signed it, that cells are true, that this policy was agreed on: that needs key, original, policy")
    if any(Path(name).suffix not in SUFFIXES for name in manifest["files"]):
        found.cannot_tell("its cells: this reads CSV and JSON lines")
        return found
    if form == "linked tables":
        judge_people(found, folder, manifest)
        return found
    roles = {role: [name for name, column in policy["columns"].items() if column["role"] == role] for role in ROLES}
    tables = {Path(name).stem: read_table(folder / name, manifest, found) for name in manifest["files"]}
    counted = (judge_one if form == "one table" else judge_two)(found, manifest, tables, roles)
    limit, eligible = policy.get("max_suppression"), manifest["released"] + manifest["suppressed"]
    if limit is not None and "drawn" not in manifest:
        allowed = int(limit * eligible + NEAR) if isinstance(limit, float) else min(limit, eligible)
        found.check(manifest["suppressed"] <= allowed, f"{manifest['suppressed']} rows suppressed, {allowed} allowed")
    found.check(manifest["verdict"]["passed"] is True, "the manifest says that it verified")
    why = why_undecided(manifest)
    if why is not None:
        found.cannot_tell(f"whether each statement holds, because of {why}")
    elif not found.wrong:
        wrong = ["its tables"] if counted is None else wrong_statements(manifest, counted)
        found.check(not wrong, f"every statement can stand beside the others{': not ' * bool(wrong)}{', '.join(wrong)}")
    return found


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0]) if arguments else Path(__file__).resolve().parent
    try:
        found = verify(folder)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        sys.stderr.write(f"{folder}: is no release that can be read ({type(error).__name__})\n")
        return 2
    said = "FAILED" if found.wrong else "UNDECIDED" if found.undecided else "what was checked holds"
    sys.stdout.write("\n".join([*found.lines, f"{said}; not checked: {found.unchecked}", ""]))
    return 1 if found.wrong else 3 if found.undecided else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
