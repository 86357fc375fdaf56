"""Made-up tables in the shape of public ones, for whole rounds: stays of patients in hospitals, and exact earnings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Texts = NDArray[np.str_]

STAYS, PATIENTS = 100_000, 70_000
EARNERS = 15_691
SPECIALTIES = 72
DRUGS = [
    "metformin",
    "repaglinide",
    "nateglinide",
    "chlorpropamide",
    "glimepiride",
    "acetohexamide",
    "glipizide",
    "glyburide",
    "tolbutamide",
    "pioglitazone",
    "rosiglitazone",
    "acarbose",
    "miglitol",
    "troglitazone",
    "tolazamide",
    "examide",
    "citoglipton",
    "insulin",
    "glyburide-metformin",
    "glipizide-metformin",
    "glimepiride-pioglitazone",
    "metformin-rosiglitazone",
    "metformin-pioglitazone",
]
MONEY = ["gross_year", "gross_month", "overtime", "bonus", "allowances", "social_contributions", "tax"]


def stays(rows: int = STAYS, seed: int = 130) -> pa.Table:
    """Return stays of patients, some of whom come again: 50 columns, diagnoses of 700 codes, 23 drugs that few take."""
    rng = np.random.default_rng(seed)
    patients = max(1, rows * PATIENTS // STAYS)
    known = _patients(rng, patients)
    patient = rng.permutation(np.concatenate([np.arange(patients), rng.integers(0, patients, rows - patients)]))
    cells: dict[str, Texts] = {
        "encounter_id": (rng.permutation(4 * rows)[:rows] + 2_000_000).astype(str),
        "patient_nbr": known["number"][patient],
        **{name: known[name][patient] for name in ("race", "gender", "age")},
        "weight": _drawn(
            rng, rows, ["?", "[75-100)", "[50-75)", "[100-125)", "[0-25)"], [0.969, 0.013, 0.009, 0.006, 0.003]
        ),
        "admission_type_id": _falling(rng, rows, 8, 1.4),
        "discharge_disposition_id": _falling(rng, rows, 26, 1.8),
        "admission_source_id": _falling(rng, rows, 17, 1.7),
        "time_in_hospital": np.clip(rng.gamma(2.1, 2.1, rows).astype(int) + 1, 1, 14).astype(str),
        "payer_code": _missing(rng, _falling(rng, rows, 17, 1.1, "P"), 0.4),
        "medical_specialty": _missing(rng, _falling(rng, rows, SPECIALTIES, 1.3, "Specialty "), 0.49),
        "num_lab_procedures": np.clip(rng.normal(43, 20, rows).astype(int), 1, 132).astype(str),
        "num_procedures": _falling(rng, rows, 7, 1.0, start=0),
        "num_medications": np.clip(rng.gamma(4, 4, rows).astype(int) + 1, 1, 81).astype(str),
        **{
            f"number_{kind}": _falling(rng, rows, 20, 2.6, start=0) for kind in ("outpatient", "emergency", "inpatient")
        },
        **{f"diag_{place}": _diagnoses(rng, rows) for place in (1, 2, 3)},
        "number_diagnoses": np.clip(10 - rng.geometric(0.45, rows), 1, 16).astype(str),
        "max_glu_serum": _drawn(rng, rows, ["None", "Norm", ">200", ">300"], [0.947, 0.026, 0.015, 0.012]),
        "A1Cresult": _drawn(rng, rows, ["None", ">8", "Norm", ">7"], [0.833, 0.081, 0.049, 0.037]),
    }
    for place, drug in enumerate(DRUGS):
        taken = 0.53 if drug == "insulin" else 0.2 / (1 + place) ** 2
        doses = ["No", "Steady", "Up", "Down"]
        cells[drug] = _drawn(rng, rows, doses, [1 - taken, 0.8 * taken, 0.1 * taken, 0.1 * taken])
    cells |= {
        "change": _drawn(rng, rows, ["No", "Ch"], [0.54, 0.46]),
        "diabetesMed": _drawn(rng, rows, ["Yes", "No"], [0.77, 0.23]),
        "readmitted": _drawn(rng, rows, ["NO", ">30", "<30"], [0.54, 0.35, 0.11]),
    }
    return pa.table(cells)


def _patients(rng: np.random.Generator, patients: int) -> dict[str, Texts]:
    """Return what is the same in all stays of a patient."""
    races = ["Caucasian", "AfricanAmerican", "?", "Hispanic", "Other", "Asian"]
    decades = np.clip(rng.normal(66, 16, patients) // 10, 0, 9).astype(int) * 10
    return {
        "number": (rng.permutation(20 * patients)[:patients] + 100).astype(str),
        "race": _drawn(rng, patients, races, [0.75, 0.19, 0.022, 0.018, 0.013, 0.007]),
        "gender": _drawn(rng, patients, ["Female", "Male", "Unknown/Invalid"], [0.53775, 0.4622, 0.00005]),
        "age": np.array([f"[{decade}-{decade + 10})" for decade in range(0, 100, 10)])[decades // 10],
    }


def earnings(rows: int = EARNERS, seed: int = 27) -> pa.Table:
    """Return employees with seven amounts of money to the cent: 27 columns, nearly every amount another."""
    rng = np.random.default_rng(seed)
    skill = rng.standard_normal(rows)
    gross = np.exp(10.2 + 0.35 * skill + 0.25 * rng.standard_normal(rows))
    shares = {"gross_month": 1 / 12, "overtime": 0.03, "bonus": 0.06, "allowances": 0.02}
    shares |= {"social_contributions": 0.16, "tax": 0.21}
    money = {"gross_year": gross}
    money |= {name: gross * share * np.exp(0.2 * rng.standard_normal(rows)) for name, share in shares.items()}
    firms = rng.integers(0, max(1, rows // 20), rows)
    age = np.clip(rng.normal(42, 11, rows).astype(int), 16, 69)
    tenure = np.clip((rng.random(rows) * (age - 15)).astype(int), 0, 45)
    hours = np.clip(np.round(rng.normal(160, 25, rows), 1), 8, 260)
    return pa.table(
        {
            "employee_id": (rng.permutation(9 * rows)[:rows] + 10_000).astype(str),
            "firm": (firms + 1000).astype(str),
            "region": np.array([f"R{place}" for place in range(1, 22)])[firms % 21],
            "sector": np.array([*"BCDEFGHIJKLMNOPQRS"])[firms % 18],
            "firm_size": np.array(["10-49", "50-249", "250-499", "500-999", "1000+"])[firms % 5],
            "ownership": np.array(["private", "public"])[(firms % 7 == 0).astype(int)],
            "agreement": np.array(list("ABCDNX"))[firms % 6],
            "sex": _drawn(rng, rows, ["F", "M"], [0.48, 0.52]),
            "age": age.astype(str),
            "education": np.clip(np.round(3 + skill + rng.standard_normal(rows)), 1, 6).astype(int).astype(str),
            "occupation": (np.clip(50 - 18 * skill + 9 * rng.standard_normal(rows), 11, 96).astype(int)).astype(str),
            "tenure": tenure.astype(str),
            "contract": _drawn(rng, rows, ["permanent", "fixed", "apprentice"], [0.85, 0.13, 0.02]),
            "full_time": _drawn(rng, rows, ["FT", "PT"], [0.8, 0.2]),
            "share_of_full_time": np.where(rng.random(rows) < 0.8, 100, rng.integers(10, 96, rows)).astype(str),
            "hours_paid": hours.astype(str),
            "overtime_hours": np.round(rng.exponential(3, rows), 1).astype(str),
            "leave_days": np.clip(rng.normal(26, 4, rows).astype(int), 0, 45).astype(str),
            "shift_work": _drawn(rng, rows, ["no", "yes"], [0.84, 0.16]),
            "citizenship": _drawn(rng, rows, ["national", "EU", "other"], [0.88, 0.08, 0.04]),
            **{name: np.char.mod("%.2f", amounts) for name, amounts in money.items()},
        }
    )


def _drawn(rng: np.random.Generator, rows: int, values: Sequence[str], shares: Sequence[float]) -> Texts:
    """Return cells drawn with these shares."""
    return np.array(values)[rng.choice(len(values), rows, p=np.array(shares) / sum(shares))]


def _falling(
    rng: np.random.Generator, rows: int, values: int, steepness: float, prefix: str = "", start: int = 1
) -> Texts:
    """Return numbered cells whose shares fall with their number, as powers of it."""
    shares = np.arange(1, values + 1) ** -steepness
    drawn = rng.choice(values, rows, p=shares / shares.sum()) + start
    return np.char.add(prefix, drawn.astype(str))


def _missing(rng: np.random.Generator, cells: Texts, share: float) -> Texts:
    """Return cells of which a share is the code for not known."""
    return np.where(rng.random(len(cells)) < share, "?", cells)


def _diagnoses(rng: np.random.Generator, rows: int) -> Texts:
    """Return codes of ICD-9 with three digits, some with decimals, or V and E codes; few codes are frequent."""
    shares = np.arange(1, 751) ** -1.1
    codes = rng.permutation(np.concatenate([np.arange(1, 701), np.arange(701, 751)]))
    drawn = codes[rng.choice(750, rows, p=shares / shares.sum())]
    plain = np.char.zfill((drawn + 239).astype(str), 3)
    diabetic = np.char.add("250.", rng.integers(0, 94, rows).astype(str))
    rare = np.char.add("V", (drawn % 86 + 1).astype(str))
    return np.select([drawn > 700, rng.random(rows) < 0.12], [rare, diabetic], plain)
