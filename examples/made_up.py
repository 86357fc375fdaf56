"""A table of visits to a hospital, made up: nobody in it exists. Every example works on it."""

from __future__ import annotations

import random

ILLNESSES = {"asthma": 5, "back pain": 6, "diabetes": 4, "flu": 9, "fracture": 3, "HIV": 1}


def visits(number: int = 240) -> list[dict[str, object]]:
    """Give visits, each of another person: who it was, what others may know of her, and what nobody should learn."""
    chance = random.Random(7)
    names, weights = list(ILLNESSES), list(ILLNESSES.values())
    return [
        {
            "name": f"Person {place:03}",
            "born": chance.randint(1940, 2005),
            "sex": chance.choice(["f", "m"]),
            "zip": f"0{chance.choice([2138, 2139, 2141, 2142, 2451, 2452])}",
            "illness": chance.choices(names, weights)[0],
            "days": chance.randint(1, 14),
        }
        for place in range(number)
    ]


def voters(people: list[dict[str, object]]) -> list[dict[str, object]]:
    """Give a public list that names most of the same people: whom an attacker links with."""
    return [{name: person[name] for name in ("name", "born", "sex", "zip")} for person in people[:200]]
