"""Write what a wheel brings along as a CycloneDX document (SBOM).

    python scripts/bill_of_materials.py dist/*.whl -o sbom.cdx.json

The wheel is installed into a new virtual environment, and the tool of the CycloneDX project, ``cyclonedx-bom``, which
must be installed beside this script, lists what is there: versions, licences and who needs whom. It lists what was
installed on that day, not all that may be.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = "excel,postgres,sign,statistics,studio"
"""Spark is left out: who uses it has an installation of its own."""


def main(arguments: list[str]) -> int:
    """Write the document, and give the exit code of the tool that made it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="sbom-") as folder:
        python = Path(folder) / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        subprocess.run([sys.executable, "-m", "venv", str(python.parent.parent)], check=True)
        wheel = f"{asked.wheel.resolve()}[{EXTRAS}]"
        subprocess.run([str(python), "-m", "pip", "install", "-q", wheel], check=True)
        subprocess.run([str(python), "-m", "pip", "uninstall", "-q", "-y", "pip", "setuptools"], check=True)
        make = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--output-format", "JSON"]
        about = ["--pyproject", str(ROOT / "pyproject.toml"), "--output-file", str(asked.output.resolve())]
        return subprocess.run([*make, *about, str(python)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
