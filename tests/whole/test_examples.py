"""The examples run as scripts do, tell their story to the end, and are notebooks of marimo."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
pytestmark = pytest.mark.skipif(
    os.environ.get("CI") != "true" and find_spec("marimo") is None,
    reason="NOT CHECKED: the examples. Install what runs them: pip install marimo",
)


def run(name: str, monkeypatch: pytest.MonkeyPatch, place: Path) -> dict[str, Any]:
    """Run all cells of an example, and give what they define."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    sys.modules.pop(name, None)
    _, defined = importlib.import_module(name).app.run()
    return dict(defined)


def check_story(found: dict[str, Any]) -> None:
    """Hold what every example must come to: people alone before, nobody after, and figures that analysts can use."""
    assert found["alone"] > 100
    assert found["verdict"].passed
    assert found["linked"].one_to_one == 0
    assert found["report"].is_file()
    assert {"manifest.json", "verify.py", "croissant.json"} <= {path.name for path in found["folder"].iterdir()}
    assert 0 <= found["error"] < 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pandas_visits", "polars_visits", "duckdb_visits"])
def test_an_example_tells_its_story(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip(name.partition("_")[0])
    check_story(run(name, monkeypatch, tmp_path))


@pytest.mark.slow
def test_the_example_of_spark_uses_the_session_that_is_there(
    spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = run("spark_visits", monkeypatch, tmp_path)
    assert found["spark"] is spark
    check_story(found)
    spark.sql("SELECT 1").collect()  # it was left running


def test_every_example_is_listed() -> None:
    text = (EXAMPLES / "README.md").read_text("utf-8")
    assert [path.name for path in EXAMPLES.glob("*_visits.py") if f"`{path.name}`" not in text] == []
