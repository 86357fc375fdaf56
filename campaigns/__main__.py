"""``python -m campaigns NAME``: run a campaign; ``python -m campaigns page``: write its figures to docs/quality.md.

``python -m campaigns together PIECE…`` adds up outcomes that ``--out`` wrote, one for each seed, in results.json.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from campaigns import page
from campaigns.running import Options, Outcome, add_up, stop

CAMPAIGNS = {
    "fuzz": "campaigns.fuzz",
    "recount": "campaigns.recount",
    "alone": "campaigns.alone",
    "forgeries": "campaigns.forgeries",
    "histories": "campaigns.histories",
    "faults": "campaigns.faults",
    "mutants": "campaigns.mutants",
    "load": "campaigns.load",
}
"""The module of each campaign, loaded when it is asked for."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a campaign and give 0 if it found no fault, else 1."""
    parser = argparse.ArgumentParser(prog="python -m campaigns", description=__doc__)
    parser.add_argument("name", choices=[*CAMPAIGNS, "page", "together"])
    parser.add_argument("pieces", nargs="*", type=Path, help="what --out wrote, for together")
    parser.add_argument("--seed", type=int, default=0, help="other cases for another number")
    parser.add_argument("--minutes", type=float, help="minutes of processor time")
    parser.add_argument("--inputs", type=int, help="how many cases")
    parser.add_argument("--case", type=int, help="this case alone")
    parser.add_argument("--failures", type=Path, help="keep the inputs of each fault in a folder below this one")
    parser.add_argument("--out", type=Path, help="write the outcome under the campaign's name in this JSON file")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of one campaign")
    asked = parser.parse_args(arguments)
    if asked.name == "page":
        page.write()
        return 0
    if asked.name == "together":
        page.RESULTS.write_text(_as_text(add_up([page.RESULTS, *asked.pieces])), "utf-8")
        return 0
    more = dict(pair.split("=", 1) for pair in asked.set)
    minutes = asked.minutes if asked.minutes or asked.inputs or asked.case is not None else 1.0
    options = Options(asked.name, asked.seed, minutes, asked.inputs, asked.case, asked.failures, more)
    print(f"{asked.name}: seed {asked.seed}", flush=True)
    wall, cpu = time.perf_counter(), _processor_seconds()
    before = signal.signal(signal.SIGINT, stop)
    try:
        outcome: Outcome = import_module(CAMPAIGNS[asked.name]).run(options)
    finally:
        signal.signal(signal.SIGINT, before)
    wall, cpu = time.perf_counter() - wall, _processor_seconds() - cpu
    print(f"{outcome.cases} cases, {len(outcome.faults)} faults, {cpu:.0f} s of processor time")
    for name, number in outcome.figures.items():
        print(f"  {name}: {number:,}")
    for name, text in outcome.notes.items():
        print(f"  {name}: {text}")
    if asked.out is not None:
        results = json.loads(asked.out.read_text("utf-8")) if asked.out.exists() else {}
        results[asked.name] = {
            "date": datetime.now(UTC).date().isoformat(),
            "cpu_seconds": round(cpu, 1),
            "wall_seconds": round(wall, 1),
            **outcome.to_dict(),
        }
        asked.out.write_text(_as_text(results), "utf-8")
    return 1 if outcome.faults else 0


def _as_text(results: dict[str, Any]) -> str:
    return json.dumps(results, indent=1, ensure_ascii=False) + "\n"


def _processor_seconds() -> float:
    """Return the processor time of this process and of those it waited for."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    sys.exit(main())
