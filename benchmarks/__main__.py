"""``python -m benchmarks [part …]``: measure, check every optimum, and write results.json and docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from benchmarks import measuring, page, parts
from benchmarks.setting import Setting, say

HERE = Path(__file__).resolve().parent


def main(arguments: list[str] | None = None) -> None:
    """Run the parts that were asked for; figures of the other parts stay as they were."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", metavar="part", help=f"any of {', '.join(parts.PARTS)}; all if none is named"
    )
    parser.add_argument(
        "--quick", action="store_true", help="tiny made-up tables: shows that it runs, measures nothing"
    )
    parser.add_argument("--output", type=Path, help="write here; else benchmarks/results.json and docs/")
    parser.add_argument("--cache", type=Path, help="where generated tables lie; else the system's folder for such")
    asked = parser.parse_args(arguments)
    for name in asked.parts:
        if name not in parts.PARTS:
            parser.error(f"there is no part {name!r}")
    if asked.quick and asked.output is None:
        parser.error("--quick needs --output: its figures mean nothing, so they must not replace real ones")
    measuring.Repeating.is_off = asked.quick
    cache = asked.cache or Path(tempfile.gettempdir()) / "indistinct-benchmarks"
    cache.mkdir(parents=True, exist_ok=True)
    results = (asked.output or HERE) / "results.json"
    docs = asked.output or HERE.parent / "docs"
    for folder in (results.parent, docs):
        folder.mkdir(parents=True, exist_ok=True)
    content = json.loads(results.read_text("utf-8")) if results.exists() else {"parts": {}}
    for name in parts.chosen(asked.parts):
        yardstick = measuring.yardstick(2_000 if asked.quick else 20_000_000)
        machine = measuring.machine()
        say(f"{name}: the yardstick takes {yardstick:.3f} s, the load is {machine['load_at_start']}")
        setting = Setting(asked.quick, cache, yardstick)
        figures = parts.PARTS[name](setting)
        content["parts"][name] = {"yardstick_seconds": yardstick, "machine": machine, "figures": figures}
        if setting.source:
            content["parts"][name]["source"] = setting.source
        content["is_quick"] = asked.quick
        # after each part, so that a run that is cut short has not measured in vain
        results.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    page.write(content, docs)
    say(f"written to {results} and {docs / 'benchmarks.md'}")


if __name__ == "__main__":
    main()
