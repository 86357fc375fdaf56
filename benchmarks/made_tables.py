"""Made-up tables in the shape of public ones that no package carries: their columns, codes and habits."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import date, timedelta

import pyarrow as pa

Cells = dict[str, list[str | None]]


def _words(text: str) -> list[str]:
    return text.split()


ROWS = 2_000
INCOMES = _words(
    "5000-7499 7500-9999 10000-12499 15000-19999 20000-24999 30000-34999 40000-49999 60000-74999 75000-99999"
)
FIRST = [
    "Ann",
    "Bob",
    "Cara",
    "Dan",
    "Eve",
    "Finn",
    "Gus",
    "Hana",
    "Ira",
    "Jo",
    "Kim",
    "Lee",
    "Mia",
    "Ned",
    "Oda",
    "Pam",
    "Quin",
    "Ray",
    "Sue",
    "Tom",
    "Uma",
    "Vic",
    "Wes",
    "Xia",
    "Yan",
    "Zoe",
]
LAST = _words("Abel Berg Cole Dorn Ekman Falk Gray Hahn Ives Jung Koch Lind Moor Nash Otto Park Quist Reed Senn Thorn")
CITIES = [
    "Albany",
    "Boston",
    "Camden",
    "Dayton",
    "Easton",
    "Fargo",
    "Gary",
    "Helena",
    "Ithaca",
    "Juneau",
    "Keene",
    "Laredo",
    "Macon",
    "Newark",
    "Orono",
    "Provo",
]


def crashes(rows: int = ROWS, seed: int = 1) -> pa.Table:
    """Occupants in fatal crashes, as the FARS files code them: integers for kinds, nines for unknown."""
    chance = random.Random(seed)
    cells: Cells = {name: [] for name in CRASHES}
    case = 0
    while len(cells["caseid"]) < rows:
        case += 1
        state, year = chance.randint(1, 56), chance.randint(1998, 2010)
        for seat in range(1, chance.choice([1, 1, 1, 2, 2, 3]) + 1):
            row = (
                f"{state}:{case}:{seat}",
                state,
                chance.choice([999, *[max(0, min(97, round(chance.gauss(38, 19)))) for _ in range(40)]]),
                chance.choice([0, 1, 1, 7, 8, 20, 28, 31, 99]),
                chance.choice([0, 1, 2, 3, 4, 4, 4, 9]),
                chance.choice([0, 3, 3, 3, 8, 13, 99]),
                chance.choice([1, 1, 1, 2, 2, 9]),
                chance.choice([0, 1, 3, 6, 9, 11, 12, 12, 12, 99]),
                chance.choice([9999, *[year - chance.randint(0, 20) for _ in range(60)]]),
                year,
                seat,
            )
            for name, cell in zip(CRASHES, row, strict=True):
                cells[name].append(str(cell))
    return _table(cells, rows)


CRASHES = _words("caseid state age airbag injury restraint sex inimpact modelyr year seat_position")


def community_survey(rows: int = ROWS, seed: int = 2) -> pa.Table:
    """People as the excerpts of the American Community Survey code them: PUMAs, N for not applicable, a density."""
    chance = random.Random(seed)
    pumas = {f"25-{number:05}": round(chance.uniform(100, 15000), 1) for number in range(503, 523)}
    cells: Cells = {name: [] for name in SURVEY}
    for _ in range(rows):
        puma, age = chance.choice(list(pumas)), max(0, min(96, round(chance.gauss(41, 23))))
        is_grown = age >= 16
        income = max(0, round(chance.lognormvariate(10.3, 1.1), -1)) if is_grown else None
        cells_of_row = (
            puma, age, chance.randint(1, 2), chance.choice([1, 1, 4, 6]) if is_grown else "N",
            chance.choice([0, 0, 0, 1, 2, 3]), chance.choice([1, 1, 1, 2, 6, 8, 9]), chance.choice([0, 0, 1, 2, 3]),
            chance.choice(["N", 2, 3, 4, 5]), chance.randint(1, 3), chance.choice([0, 1, 2]), pumas[puma],
            chance.choice([770, 4970, 7860, 8190, 8680, 9590, 9370]) + chance.randint(0, 9) if is_grown else "N",
            chance.randint(0, 18) if is_grown else "N", chance.randint(1, 12) if age > 3 else "N",
            "N" if income is None else int(income), "N" if income is None else chance.randint(0, 9),
            chance.randint(0, 501), chance.choice(["N", 1, 2]), chance.choice([1, 2, 2, 2, 2]),
            chance.choice([1, 2, 2, 2]), chance.choice([1, 2, 2, 2, 2]), chance.choice([1, 2, 2, 2]),
            chance.randint(1, 320), chance.randint(1, 310),
        )  # fmt: skip
        for name, cell in zip(SURVEY, cells_of_row, strict=True):
            cells[name].append(str(cell))
    return _table(cells, rows)


SURVEY = _words(
    "PUMA AGEP SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT DENSITY INDP INDP_CAT EDU PINCP PINCP_DECILE POVPIP "
    "DVET DREM DPHY DEYE DEAR PWGTP WGTP"
)


def encounters(rows: int = ROWS, seed: int = 3) -> pa.Table:
    """Stays of diabetic patients, some of whom come again, as in the table of 130 US hospitals: ? for missing."""
    chance = random.Random(seed)
    cells: Cells = {name: [] for name in ENCOUNTERS}
    people: list[tuple[int, str, str, str]] = []
    for row in range(rows):
        if people and chance.random() < 0.3:
            person = chance.choice(people)
        else:
            age = 10 * max(0, min(9, round(chance.gauss(6.6, 1.6))))
            race = chance.choice(["Caucasian"] * 7 + ["AfricanAmerican"] * 2 + ["?", "Hispanic", "Asian", "Other"])
            person = (chance.randint(10**5, 10**8), race, chance.choice(["Female", "Male"]), f"[{age}-{age + 10})")
            people.append(person)
        dose = ["No", "No", "No", "Steady", "Steady", "Up", "Down"]
        cells_of_row = (
            10**7 + 7919 * row + chance.randint(0, 7000), *person,
            chance.choice(["?"] * 30 + ["[75-100)", "[50-75)", "[100-125)"]), chance.randint(1, 8),
            chance.choice([1, 1, 1, 3, 6, 2, 11, 18, 25]), chance.choice([1, 7, 7, 7, 4, 17, 20]),
            chance.randint(1, 14), chance.choice(["?", "MC", "HM", "SP", "BC", "MD", "UN"]),
            chance.choice(["?", "InternalMedicine", "Cardiology", "Surgery-General", "Family/GeneralPractice"]),
            chance.randint(1, 110), chance.randint(0, 6), chance.randint(1, 60), chance.choice([0, 0, 0, 1, 2, 5]),
            chance.choice([0, 0, 0, 1, 3]), chance.choice([0, 0, 1, 2, 7]), _icd(chance), _icd(chance), _icd(chance),
            chance.randint(1, 16), chance.choice(["None", "Norm", ">200", ">300"]),
            chance.choice(["None", "Norm", ">7", ">8"]), *[chance.choice(dose) for _ in range(6)],
            chance.choice(["No", "Ch"]), chance.choice(["Yes", "No"]), chance.choice(["NO", "NO", ">30", "<30"]),
        )  # fmt: skip
        for name, cell in zip(ENCOUNTERS, cells_of_row, strict=True):
            cells[name].append(str(cell))
    return _table(cells, rows)


ENCOUNTERS = _words(
    "encounter_id patient_nbr race gender age weight admission_type_id discharge_disposition_id admission_source_id "
    "time_in_hospital payer_code medical_specialty num_lab_procedures num_procedures num_medications "
    "number_outpatient number_emergency number_inpatient diag_1 diag_2 diag_3 number_diagnoses max_glu_serum "
    "A1Cresult metformin repaglinide glimepiride glipizide pioglitazone insulin change diabetesMed readmitted"
)


def synthetic_patients(rows: int = ROWS, seed: int = 4) -> pa.Table:
    """Patients as a generator of health records writes them, with everything that names them."""
    chance = random.Random(seed)
    cells: Cells = {name: [] for name in PATIENTS}
    for row in range(rows):
        sex = chance.choice("MF")
        born = date(1920, 1, 1) + timedelta(days=chance.randint(0, 37000))
        city = chance.choice(CITIES)
        cells_of_row = (
            str(uuid.UUID(int=chance.getrandbits(128))), born.isoformat(),
            (born + timedelta(days=chance.randint(20000, 33000))).isoformat() if chance.random() < 0.1 else None,
            f"999-{chance.randint(10, 99)}-{chance.randint(1000, 9999)}", f"S{99900000 + row}",
            f"X{chance.randint(10**7, 10**8)}X", chance.choice(["Mr.", "Mrs.", "Ms."]),
            f"{chance.choice(FIRST)}{chance.randint(1, 999)}", f"{chance.choice(LAST)}{chance.randint(1, 999)}",
            f"{chance.choice(LAST)}{chance.randint(1, 999)}" if sex == "F" and chance.random() < 0.5 else None,
            chance.choice(["M", "S", "D", "W", None]), chance.choice(["white", "white", "black", "asian", "native"]),
            chance.choice(["nonhispanic", "nonhispanic", "hispanic"]), sex,
            f"{chance.choice(CITIES)}  Massachusetts  US",
            f"{chance.randint(1, 999)} {chance.choice(LAST)} Street Unit {chance.randint(1, 99)}", city,
            "Massachusetts",
            f"{chance.choice(['Suffolk', 'Norfolk', 'Essex', 'Bristol'])} County",
            f"0{chance.randint(1001, 2790)}", f"{chance.uniform(41, 43):.14f}", f"{chance.uniform(-73, -70):.14f}",
            f"{chance.lognormvariate(11, 1):.2f}", f"{chance.lognormvariate(9, 2):.2f}",
            chance.randint(5000, 300000),
        )  # fmt: skip
        for name, cell in zip(PATIENTS, cells_of_row, strict=True):
            cells[name].append(None if cell is None else str(cell))
    return _table(cells, rows)


PATIENTS = _words(
    "Id BIRTHDATE DEATHDATE SSN DRIVERS PASSPORT PREFIX FIRST LAST MAIDEN MARITAL RACE ETHNICITY GENDER BIRTHPLACE "
    "ADDRESS CITY STATE COUNTY ZIP LAT LON HEALTHCARE_EXPENSES HEALTHCARE_COVERAGE INCOME"
)


def time_use(rows: int = ROWS, seed: int = 5) -> pa.Table:
    """Respondents of a time use survey with what an earlier survey knew: case numbers as decimals, income as ranges."""
    chance = random.Random(seed)
    incomes = INCOMES
    cells: Cells = {name: [] for name in TIME_USE}
    for row in range(rows):
        cells_of_row = (
            f"{20030100000000 + 13280 + 77 * row}.0", 1, chance.choice(["northeast", "midwest", "south", "west"]),
            chance.choice(["MA", "TX", "CA", "NY", "OH", "FL", "WA"]), chance.choice(["male", "female"]),
            chance.randint(15, 85), chance.choice(["HS", "some college", "BA", "MA", "less than HS", "PhD"]),
            chance.choice(["white", "white", "black", "asian"]), chance.choice(["yes", "no", "no", "no"]),
            chance.choice(["married", "never married", "divorced", "widowed"]), chance.choice(incomes),
            chance.choice([None, *range(1, 23)]), chance.choice([-1, *range(5, 80, 5)]),
            chance.choice(["1998-1999", "2000-2001", "2002-2003", "2004-2005"]),
            f"{chance.uniform(500000, 2.5e7):.4f}", chance.randint(0, 1440), chance.randint(0, 600),
        )  # fmt: skip
        for name, cell in zip(TIME_USE, cells_of_row, strict=True):
            cells[name].append(None if cell is None else str(cell))
    return _table(cells, rows)


TIME_USE = _words(
    "tucaseid tulineno region state sex age edu race hispanic marital_status famincome occ_code usual_hours "
    "survey_period finalweight minutes_sleeping minutes_working"
)


def discharges(rows: int = ROWS, seed: int = 6) -> pa.Table:
    """Discharges of hospitals as a state publishes them: bands of ages, parts of ZIP codes, long stays as 120 +."""
    chance = random.Random(seed)
    cells: Cells = {name: [] for name in DISCHARGES}
    for _ in range(rows):
        stay = chance.choice([1, 1, 2, 2, 3, 4, 5, 7, 9, 14, 21, 40, "120 +"])
        illness = chance.choice(["HEART FAILURE", "PNEUMONIA", "SEPSIS", "ASTHMA", "LIVEBORN", "KIDNEY DISEASE"])
        cells_of_row = (
            chance.choice(["Western", "Central", "Capital", "Long Island"]), chance.choice(CITIES[:6]),
            f"{chance.randint(1, 12):06}", f"{chance.choice(CITIES)} Memorial Hospital",
            chance.choice(["0 to 17", "18 to 29", "30 to 49", "50 to 69", "70 or Older"]),
            chance.choice(["100", "104", "112", "117", "148", "OOS"]), chance.choice("MF"),
            chance.choice(["White", "Black/African American", "Other Race"]),
            chance.choice(["Not Span/Hispanic", "Spanish/Hispanic", "Unknown"]), stay,
            chance.choice(["Emergency", "Elective", "Urgent", "Newborn"]),
            chance.choice(["Home", "Skilled Nursing", "Expired", "Left Against Medical Advice"]), 2019, illness,
            chance.choice(["Minor", "Moderate", "Major", "Extreme"]),
            chance.choice(["Medicare", "Medicaid", "Self-Pay"]),
            chance.choice(["Y", "N"]), f"{chance.lognormvariate(9.5, 1):.2f}", f"{chance.lognormvariate(8.5, 1):.2f}",
        )  # fmt: skip
        for name, cell in zip(DISCHARGES, cells_of_row, strict=True):
            cells[name].append(str(cell))
    return _table(cells, rows)


DISCHARGES = [
    "Health Service Area", "Hospital County", "Facility Id", "Facility Name", "Age Group", "Zip Code - 3 digits",
    "Gender", "Race", "Ethnicity", "Length of Stay", "Type of Admission", "Patient Disposition", "Discharge Year",
    "CCS Diagnosis Description", "APR Severity of Illness", "Payment Typology 1", "Emergency Department Indicator",
    "Total Charges", "Total Costs",
]  # fmt: skip


def customers(rows: int = ROWS, seed: int = 7) -> pa.Table:
    """Customers of a German insurer, in German, with a few typing errors among their ages."""
    chance = random.Random(seed)
    cells: Cells = {name: [] for name in CUSTOMERS}
    for row in range(rows):
        born = date(1935, 1, 1) + timedelta(days=chance.randint(0, 26000))
        cells_of_row = (
            70000 + 3 * row, chance.choice(FIRST), chance.choice(LAST), born.strftime("%d.%m.%Y"),
            chance.choice("mwd"), f"{chance.randint(1000, 99000):05}", chance.choice(CITIES),
            chance.choice(["Bayern", "Hessen", "Saarland", "Sachsen", "Bremen"]),
            chance.choice(["ledig", "verheiratet", "geschieden", "verwitwet"]), chance.choice([0, 0, 1, 2, 3]),
            chance.choice(["Lehrer", "Maurer", "Arzt", "Koch", "Rentner", "Student"]),
            chance.choice(["deutsch", "deutsch", "polnisch"]), round(chance.lognormvariate(10.5, 0.5), -2),
            chance.choice(["keine", "Asthma", "Diabetes", "Rücken", "Herz"]),
            "unklar" if row == 77 else 2026 - born.year,
            f"0{chance.randint(30, 999)} {chance.randint(100000, 9999999)}", f"kunde{row}@beispiel.de",
            chance.choice(["rk", "ev", "ohne", "isl"]),
        )  # fmt: skip
        for name, cell in zip(CUSTOMERS, cells_of_row, strict=True):
            cells[name].append(str(cell))
    return _table(cells, rows)


CUSTOMERS = _words(
    "Kundennummer Vorname Nachname Geburtsdatum Geschlecht PLZ Wohnort Bundesland Familienstand Kinderzahl Beruf "
    "Staatsangehörigkeit Jahreseinkommen Vorerkrankung Alter Telefon Mailadresse Konfession"
)


def _icd(chance: random.Random) -> str:
    return chance.choice(
        [f"{chance.randint(1, 999)}", f"250.{chance.randint(0, 93):02}", f"V{chance.randint(1, 85)}", "?"]
    )


def _table(cells: Cells, rows: int) -> pa.Table:
    return pa.table({name: pa.array(own[:rows], pa.string()) for name, own in cells.items()})


MADE: dict[str, Callable[..., pa.Table]] = {
    "crash records": crashes,
    "community survey": community_survey,
    "encounters": encounters,
    "synthetic patients": synthetic_patients,
    "time use": time_use,
    "discharges": discharges,
    "customers": customers,
}
"""The tables that are made, by name; each takes how many rows it has."""
