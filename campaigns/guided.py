"""Fuzzing that follows coverage: Atheris, where it is installed, changes bytes until they reach new branches.

``python -m campaigns fuzz --set guided=policy --minutes 5`` after ``pip install atheris``; ``levels`` and ``manifest``
are the other targets. Atheris takes a process for itself and must see the package imported, so it gets one of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from campaigns.running import Options, Outcome

TARGETS = ("policy", "levels", "manifest")


def run_guided(options: Options) -> Outcome:
    """Let Atheris attack one parser for so many minutes or inputs, and tell what it found."""
    from campaigns.fuzz_seeds import POLICY
    from campaigns.mutations import toml

    target = str(options.more["guided"])
    if target not in TARGETS:
        raise SystemExit(f"guided is one of {', '.join(TARGETS)}")
    if find_spec("atheris") is None:
        raise SystemExit("fuzzing that follows coverage needs Atheris: pip install atheris")
    numbers = '"released": 2, "suppressed": 0, "groups": 1, "smallest_group": 2'
    manifest = f'{{"format": 1, {numbers}, "node": null, "files": {{"table.csv": "0"}}}}'
    seeds = {"policy": toml(POLICY), "levels": "a;x;*\nb;x;*\nc;y;*\n", "manifest": manifest}
    limits = [f"-max_total_time={int(60 * options.minutes)}"] if options.minutes else []
    limits += [f"-runs={options.inputs}"] if options.inputs else []
    outcome = Outcome(options)
    with tempfile.TemporaryDirectory(prefix="campaign-") as place:
        folder = Path(place)
        (folder / "corpus").mkdir()
        (folder / "corpus" / "seed").write_text(seeds[target], "utf-8")
        command = [sys.executable, "-m", "campaigns.guided", target, place, f"-seed={options.seed + 1}", *limits]
        subprocess.run(command, check=False)
        told = json.loads((folder / "told.json").read_text("utf-8"))
        outcome.cases = outcome.figures[f"guided inputs of {target}"] = told["inputs"]
        outcome.figures["inputs that reached something new"] = len(list((folder / "corpus").iterdir()))
        for number, (fault, data) in enumerate(told["faults"]):
            outcome.add(number, fault, {"input.bin": bytes.fromhex(data)})
    return outcome


def attack_with_atheris(target: str, folder: Path, limits: list[str]) -> None:
    """Run Atheris, which never returns; the package is imported here, under its eyes."""
    import atheris

    with atheris.instrument_imports(include=["indistinct"]):
        import indistinct as ix
        from indistinct.hierarchy import read_levels
        from indistinct.release.manifest import read_manifest
    told: dict[str, Any] = {"inputs": 0, "faults": []}

    def read(data: bytes) -> None:
        if target == "policy":
            ix.parse_policy(data.decode("utf-8", "replace"), base=folder)
        elif target == "levels":
            (folder / "levels.csv").write_bytes(data)
            read_levels(folder / "levels.csv", "levels.csv")
        else:
            (folder / "manifest.json").write_bytes(data)
            read_manifest(folder)

    def attack(data: bytes) -> None:
        told["inputs"] += 1
        try:
            read(data)
        except ix.IndistinctError:
            pass
        except Exception as error:
            told["faults"].append((f"{target}: {type(error).__name__}: {error}"[:300], data.hex()))
        if told["inputs"] % 100 == 0 or told["faults"]:
            (folder / "told.json").write_text(json.dumps(told), "utf-8")

    (folder / "told.json").write_text(json.dumps(told), "utf-8")
    atheris.Setup([sys.argv[0], *limits, "-timeout=10", str(folder / "corpus")], attack)
    atheris.Fuzz()


if __name__ == "__main__":
    attack_with_atheris(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
