"""A made-up table of hospital visits shaped like Diabetes-130: some patients come again, a few very often."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import indistinct as ix

PATIENTS, VISITS, MOST_VISITS = 70_000, 100_000, 40
SHARES: dict[str, tuple[tuple[str, float], ...]] = {
    "race": (("white", 0.76), ("black", 0.19), ("hispanic", 0.02), ("asian", 0.006), ("other", 0.015), ("", 0.009)),
    "gender": (("female", 0.537), ("male", 0.463)),
    "admission": (("emergency", 0.53), ("urgent", 0.18), ("elective", 0.185), ("unknown", 0.1), ("newborn", 0.005)),
    "discharge": (("home", 0.59), ("nursing", 0.14), ("home care", 0.13), ("hospital", 0.08), ("died", 0.02)),
    "source": (("emergency", 0.57), ("physician", 0.29), ("transfer", 0.07), ("clinic", 0.05), ("court", 0.02)),
    "specialty": (("", 0.49), ("internal", 0.14), ("emergency", 0.08), ("family", 0.07), ("cardiology", 0.05)),
}
"""How often each value occurs; what is left goes to numbered rare ones."""
RARE = {"discharge": 15, "source": 6, "specialty": 60}
OF_PATIENT = ("race", "gender")
QUASI = ("race", "gender", "age", "admission", "discharge", "source", "days", "specialty")
ILLNESSES = ("circulatory", "respiratory", "digestive", "diabetes", "injury", "muscular", "genital", "cancer", "other")


def visits(patients: int = PATIENTS, rows: int = VISITS, seed: int = 130) -> pa.Table:
    """Draw visits of patients, most of whom come once and nobody more than forty times; ``visit`` numbers the rows."""
    rng = np.random.default_rng(seed)
    patient = _whose(rng, patients, rows)
    cells = {}
    for column in SHARES:
        values, shares = _values(column)
        drawn = rng.choice(len(values), patients if column in OF_PATIENT else rows, p=shares)
        cells[column] = np.array(values)[drawn[patient] if column in OF_PATIENT else _sticky(rng, drawn, patient)]
    decade = np.clip(rng.normal(6.6, 1.6, patients).round(), 0, 9).astype(int)
    start = 10 * decade[patient]
    cells["age"] = np.array([f"[{low}-{low + 10})" for low in range(0, 100, 10)])[start // 10]
    cells["days"] = np.clip(rng.gamma(2.2, 2.0, rows).round(), 1, 14).astype(int)
    illness = np.array(ILLNESSES)[_sticky(rng, rng.integers(0, len(ILLNESSES), rows), patient)]
    numbers = rng.permutation(10 * patients)[:patients]
    table = {"patient": pa.array(numbers[patient])} | {name: pa.array(cells[name]) for name in QUASI}
    shuffled = pa.table(table | {"illness": pa.array(illness)}).take(pa.array(rng.permutation(rows)))
    return shuffled.append_column("visit", pa.array(range(rows)))


def _whose(rng: np.random.Generator, patients: int, rows: int) -> np.ndarray:
    """Return the patient of each visit: everybody has one, and those who came often come again."""
    often = np.minimum(rng.pareto(1.5, patients), 4 * MOST_VISITS)
    more = rng.choice(patients, 4 * (rows - patients), p=often / often.sum())
    place = np.argsort(np.argsort(more, kind="stable"), kind="stable") - np.searchsorted(np.sort(more), more)
    more = more[place < MOST_VISITS - 1][: rows - patients]
    return np.concatenate([np.arange(patients), more])


def _values(column: str) -> tuple[list[str], np.ndarray]:
    values, shares = [value for value, _ in SHARES[column]], [share for _, share in SHARES[column]]
    rare = RARE.get(column, 0)
    weights = 1 / np.arange(1, rare + 1)
    shares += list((1 - sum(shares)) * weights / weights.sum()) if rare else []
    values += [f"{column} {number}" for number in range(1, rare + 1)]
    return values, np.array(shares) / sum(shares)


def _sticky(rng: np.random.Generator, drawn: np.ndarray, patient: np.ndarray) -> np.ndarray:
    """Let three of five visits of a patient repeat what her first one had."""
    first = np.zeros(int(patient.max()) + 1, np.int64)
    first[patient[::-1]] = drawn[::-1]
    return np.where(rng.random(len(drawn)) < 0.6, first[patient], drawn)


def policy(k: int, *, counts_people: bool = True, **more: object) -> ix.Policy:
    """Return a policy that counts patients, or their visits; the released ``visit`` tells the holder whose row it
    is.
    """
    said: dict[str, object] = {"person": "patient"} if counts_people else {"one_row_per_person": True}
    columns = {name: ix.quasi(ix.suppress()) for name in QUASI}
    roles = {"patient": ix.identifier(), **columns, "illness": ix.other(), "visit": ix.other()}
    return ix.Policy(columns=roles, privacy=[ix.KAnonymity(k)], **{"max_suppression": 0.02, **said, **more})  # type: ignore[arg-type]
