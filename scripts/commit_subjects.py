"""Hold the rule of commit subjects: a capital, at most 60 characters, no full stop, naming what changes.

python scripts/commit_subjects.py main..HEAD          every commit of a range
python scripts/commit_subjects.py --file MESSAGE      one message, as git gives it to a commit-msg hook
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LONGEST = 60
LET_THROUGH = ("Merge ", "Revert ", "fixup! ", "squash! ")
"""What git writes itself."""
NOT_IMPERATIVE = re.compile(r"^(?:\w+ed|\w+ing)\b")
IMPERATIVE_ALL_THE_SAME = {
    "Bring",
    "Embed",
    "Exceed",
    "Feed",
    "Heed",
    "Need",
    "Proceed",
    "Ring",
    "Seed",
    "Shed",
    "Speed",
}


def mistakes(subject: str) -> list[str]:
    """Say what is wrong with the subject of a commit.

    >>> mistakes("Count tuples before decoding them")
    []
    >>> mistakes("fixed the tests.")
    ['it does not begin with a capital', 'it ends with a full stop', 'it is not imperative']
    """
    if subject.startswith(LET_THROUGH):
        return []
    words = subject.split()
    wrong = [f"it has {len(subject)} characters, more than {LONGEST}"] if len(subject) > LONGEST else []
    wrong += [] if subject[:1].isupper() or subject[:1] == "`" else ["it does not begin with a capital"]
    wrong += ["it ends with a full stop"] if subject.endswith(".") else []
    wrong += ["it is one word; name the behaviour that changes"] if len(words) < 2 else []
    first = words[0].capitalize() if words else ""
    wrong += ["it is not imperative"] if NOT_IMPERATIVE.match(first) and first not in IMPERATIVE_ALL_THE_SAME else []
    return wrong


def subjects(asked: list[str]) -> list[str]:
    """Return the subjects of a range of commits, or that of a message in a file."""
    if asked[0] == "--file":
        lines = [line for line in Path(asked[1]).read_text("utf-8").splitlines() if not line.startswith("#")]
        return [next((line for line in lines if line.strip()), "")]
    listed = subprocess.run(["git", "log", "--format=%s", *asked], capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


def main(arguments: list[str]) -> int:
    """Return 1 if a subject breaks the rule."""
    if not arguments:
        sys.stderr.write("give a range of commits, such as main..HEAD, or --file MESSAGE\n")
        return 2
    found = {subject: wrong for subject in subjects(arguments) if (wrong := mistakes(subject))}
    for subject, wrong in found.items():
        sys.stderr.write(f"{subject!r}: {'; '.join(wrong)}\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
