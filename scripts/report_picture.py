"""Make docs/report-demo.html and docs/report-demo.png, the report of the demo and its picture, with Chromium."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, PICTURE = DOCS / "report-demo.html", DOCS / "report-demo.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1020, 1500
"""Of each of the two parts that the picture shows side by side, before it is made half as large."""
PLAIN = "<style>html{overflow:hidden}body{background:#fff}main{padding-top:28px}</style></head>"
SHOWN = "<body style='margin:0;background:#cfd6da;display:flex;gap:2px'>{}</body>"
PART = f"<iframe src='page.html{{}}' style='border:0;width:{WIDTH}px;height:{HEIGHT}px'></iframe>"


def main() -> int:
    """Write the page, then take its picture."""
    demo = [sys.executable, "-m", "indistinct", "demo", "--json", "--report", str(PAGE)]
    subprocess.run(demo, check=True, stdout=subprocess.DEVNULL)
    PAGE.chmod(0o644)
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.stderr.write("no Chromium is installed, so the picture stays as it is\n")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        shown = Path(folder) / "shown.html"
        (Path(folder) / "page.html").write_text(PAGE.read_text("utf-8").replace("</head>", PLAIN, 1), "utf-8")
        shown.write_text(SHOWN.format(PART.format("") + PART.format("#columns")), "utf-8")
        options = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=0.5"]
        options += [f"--window-size={2 * WIDTH + 2},{HEIGHT}", f"--screenshot={PICTURE}"]
        subprocess.run([browser, *options, shown.as_uri()], check=True, capture_output=True, timeout=120)
    sys.stderr.write(f"{PAGE.name}: {PAGE.stat().st_size:,} bytes; {PICTURE.name}: {PICTURE.stat().st_size:,} bytes\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
