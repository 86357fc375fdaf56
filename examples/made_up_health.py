"""The tables of `examples/omop` and `examples/fhir`, made up: nobody in them exists.

`python examples/made_up_health.py FOLDER` writes them anew; they are always the same.
"""

from __future__ import annotations

import csv
import json
import random
import sys
from datetime import date, timedelta
from pathlib import Path

PEOPLE, EVENTS = 80, 3
CONDITIONS = {201826: "E11.9", 201254: "E10.9", 320128: "I10", 316139: "I50.9", 317009: "J45.909", 255573: "J44.9"}
"""Concepts, each with its code of ICD-10-CM."""
KINDS = {201826: 201820, 201254: 201820, 320128: 134057, 316139: 134057, 317009: 320136, 255573: 320136}
"""Diabetes, disorders of the circulation and of breathing, above the concepts."""
DRUGS = {1503297: 21600712, 1516766: 21600712, 1308216: 21601782, 1154343: 21603248}
"""Metformin, insulin, lisinopril and albuterol, below their classes of the ATC."""
VISITS, DIED = (9201, 9202, 9203), 9
FIRST = date(2023, 1, 1)


def omop() -> dict[str, list[dict[str, object]]]:
    """Return a few tables of the OMOP CDM 5.4, by their names."""
    chance = random.Random(11)
    people: list[dict[str, object]] = [
        {
            "person_id": number,
            "gender_concept_id": chance.choice([8507, 8532]),
            "year_of_birth": chance.randint(1940, 1999),
            "month_of_birth": chance.randint(1, 12),
            "race_concept_id": chance.choice([8527, 8527, 8527, 0]),
            "person_source_value": f"MRN{1000 + number}",
        }
        for number in range(1, PEOPLE + 1)
    ]
    visits, conditions, drugs = [], [], []
    for number in range(1, EVENTS * PEOPLE + 1):
        person, day = chance.randint(1, PEOPLE), FIRST + timedelta(chance.randint(0, 699))
        visits.append(
            {
                "visit_occurrence_id": number,
                "person_id": person,
                "visit_concept_id": chance.choice(VISITS),
                "visit_start_date": day,
                "visit_start_datetime": f"{day} {chance.randint(7, 18):02}:30:00",
                "visit_end_date": day + timedelta(chance.randint(0, 6)),
            }
        )
        concept = chance.choices(list(CONDITIONS), [6, 2, 8, 3, 5, 2])[0]
        about = {"person_id": person, "visit_occurrence_id": number}
        conditions.append(
            {
                "condition_occurrence_id": number,
                "condition_concept_id": concept,
                "condition_start_date": day,
                "condition_end_date": "" if chance.random() < 0.7 else day + timedelta(30),
                "condition_source_value": CONDITIONS[concept],
            }
            | about
        )
        if chance.random() < 0.5:
            taken = {"drug_exposure_id": number, "drug_concept_id": chance.choice(list(DRUGS))}
            drugs.append(taken | {"drug_exposure_start_date": day, "quantity": chance.choice([30, 60, 90])} | about)
    deaths = [
        {"person_id": person, "death_date": FIRST + timedelta(chance.randint(700, 900))}
        for person in sorted(chance.sample(range(1, PEOPLE + 1), DIED))
    ]
    return {
        "person": people,
        "visit_occurrence": visits,
        "condition_occurrence": conditions,
        "drug_exposure": drugs,
        "death": deaths,
        "concept_ancestor": _ancestors(),
    }


def fhir() -> dict[str, list[dict[str, object]]]:
    """Return the same people and half of their events as resources of FHIR R4, by the names of their files."""
    tables = omop()
    sex = {8507: "male", 8532: "female"}
    found: dict[str, list[dict[str, object]]] = {
        "Patient": [
            {
                "resourceType": "Patient",
                "id": f"p{row['person_id']}",
                "name": [{"family": f"Person {row['person_id']}"}],
                "gender": sex[int(str(row["gender_concept_id"]))],
                "birthDate": f"{row['year_of_birth']}-{row['month_of_birth']:02}",
            }
            for row in tables["person"]
        ]
    }
    kinds = dict(zip(VISITS, ("IMP", "AMB", "EMER"), strict=True))
    found["Encounter"] = [
        _event("Encounter", row)
        | {"class": {"code": kinds[int(str(row["visit_concept_id"]))]}, "period": {"start": f"{day}T{time}Z"}}
        for row in tables["visit_occurrence"][::2]
        for day, time in [str(row["visit_start_datetime"]).split()]
    ]
    found["Condition"] = [
        _event("Condition", row)
        | {
            "code": {"coding": [{"code": row["condition_source_value"]}]},
            "onsetDateTime": str(row["condition_start_date"]),
        }
        for row in tables["condition_occurrence"][::2]
    ]
    return found


def _event(kind: str, row: dict[str, object]) -> dict[str, object]:
    return {"resourceType": kind, "subject": {"reference": f"Patient/p{row['person_id']}"}}


def _ancestors() -> list[dict[str, object]]:
    pairs = [*KINDS.items(), *DRUGS.items()]
    return [
        {
            "ancestor_concept_id": above,
            "descendant_concept_id": below,
            "min_levels_of_separation": steps,
            "max_levels_of_separation": steps,
        }
        for one, kind in pairs
        for above, below, steps in ((one, one, 0), (kind, one, 1))
    ]


def write(folder: Path) -> None:
    """Write all tables below a folder."""
    (folder / "omop").mkdir(parents=True, exist_ok=True)
    for name, rows in omop().items():
        with open(folder / "omop" / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    (folder / "fhir").mkdir(exist_ok=True)
    for name, resources in fhir().items():
        lines = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in resources)
        (folder / "fhir" / f"{name}.ndjson").write_text(lines, "utf-8", newline="")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
