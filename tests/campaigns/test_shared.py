"""What all campaigns share: cases that repeat, faults that are told and kept, and a page that says what was found."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from campaigns.__main__ import CAMPAIGNS, main  # noqa: E402
from campaigns.running import Options, Outcome  # noqa: E402

from campaigns import page, running  # noqa: E402


def test_a_case_draws_the_same_whatever_ran_before():
    options = Options("fuzz", seed=3, inputs=4)
    first = [options.dice(case).random() for case in options.cases()]
    assert len(set(first)) == 4
    alone = Options("fuzz", seed=3, case=2)
    assert [alone.dice(case).random() for case in alone.cases()] == [first[2]]
    assert Options("recount", seed=3).dice(2).random() != first[2]


def test_a_signal_ends_a_campaign_after_the_case_at_hand(monkeypatch):
    monkeypatch.setattr(running, "_asked_to_stop", [])
    seen = []
    for case in Options("fuzz", inputs=9).cases():
        seen.append(case)
        if case == 2:
            running.stop(2, None)
    assert seen == [0, 1, 2]


def test_a_fault_says_how_to_run_it_again_and_keeps_its_inputs(tmp_path, capsys):
    outcome = Outcome(Options("fuzz", seed=3, failures=tmp_path))
    outcome.add(17, "it broke", {"table.csv": b"a\n1\n"})
    assert "python -m campaigns fuzz --seed 3 --case 17" in capsys.readouterr().out
    assert (tmp_path / "fuzz-3-17" / "table.csv").read_bytes() == b"a\n1\n"


def test_the_outcome_is_written_under_its_name_and_faults_give_an_exit_code(tmp_path, monkeypatch):
    class Found:
        @staticmethod
        def run(options):
            outcome = Outcome(options, cases=2)
            outcome.figures["tables"] += 2
            if options.more.get("broken"):
                outcome.add(1, "it broke")
            return outcome

    monkeypatch.setattr("campaigns.__main__.import_module", lambda name: Found)
    out = tmp_path / "results.json"
    out.write_text('{"load": {"kept": 1}}', "utf-8")
    assert main(["fuzz", "--inputs", "2", "--out", str(out)]) == 0
    written = json.loads(out.read_text("utf-8"))
    assert written["load"] == {"kept": 1}
    assert written["fuzz"]["figures"] == {"tables": 2}
    assert main(["fuzz", "--inputs", "2", "--set", "broken=yes"]) == 1


def test_outcomes_of_several_seeds_add_up_and_none_counts_twice(tmp_path):
    def piece(seed, cases, faults):
        counted = {"seed": seed, "cases": cases, "faults": faults, "figures": {"tables": cases}, "notes": {}}
        path = tmp_path / f"{seed}.json"
        more = {"date": f"2026-11-{seed}", "cpu_seconds": 1.5, "wall_seconds": 2.0}
        path.write_text(json.dumps({"recount": more | counted}))
        return path

    pieces = [piece(17, 5, []), piece(18, 7, ["case 3: wrong"]), piece(19, 1, [])]
    (found,) = running.add_up(pieces).values()
    assert (found["seed"], found["cases"], found["cpu_seconds"], found["date"]) == ([17, 18, 19], 13, 4.5, "2026-11-19")
    assert (found["faults"], found["figures"]) == (["case 3: wrong"], {"tables": 13})
    assert "--seed 17` and 2 seeds more: 13 cases" in page.figures("recount", found)
    assert running.add_up(pieces[:1])["recount"]["seed"] == 17
    with pytest.raises(ValueError, match="counted already"):
        running.add_up([pieces[0], pieces[0]])


def test_the_page_has_the_figures_of_the_last_recorded_run():
    """Else run ``python -m campaigns page``."""
    text = page.PAGE.read_text("utf-8")
    results = json.loads(page.RESULTS.read_text("utf-8"))
    assert page.with_figures(text, results) == text
    readme = page.README.read_text("utf-8")
    assert page.SCORE.search(readme)
    assert page.with_score(readme, results) == readme
    assert [name for name in CAMPAIGNS if f"<!-- figures: {name} -->" not in text] == []


def test_modules_of_campaigns_are_short_and_say_what_they_are():
    for path in sorted((ROOT / "campaigns").glob("*.py")):
        text = path.read_text("utf-8")
        assert len(text.splitlines()) <= 400, path.name
        assert ast.get_docstring(ast.parse(text)), path.name
