"""Published figures of a shipped case, each marked fitted or held out."""

from importlib import resources

import pandas as pd
import xarray as xr


def published_scenarios(case_name: str) -> pd.DataFrame:
    """Published scenario figures: columns `scenario variable published basis`; empty if the case has none.

    `basis` is "fitted" where the figure took part in the reconstruction of the case's profiles and constants, or
    follows from such figures and the case's tables; "held out" where it did not.
    """
    return _read(f"{case_name}.published.csv", ["scenario", "variable", "published", "basis"])


def published_sensitivities(table: xr.Dataset) -> pd.DataFrame:
    """Published figures for a sweep: columns `parameter value variable published basis`; empty if there are none.

    They were published for scenario S6.
    """
    columns = ["parameter", "value", "variable", "published", "basis"]
    known = _read(f"{table.attrs['case_name']}.sensitivity.csv", columns)
    matches = (known["parameter"] == table.attrs["parameter"]) & (table.attrs["scenario"] == "S6")
    rows: pd.DataFrame = known[matches]
    return rows


def _read(name: str, columns: list[str]) -> pd.DataFrame:
    file = resources.files("hsmdc.dispatch") / "cases" / name
    if not file.is_file():
        return pd.DataFrame(columns=columns)
    with file.open(encoding="utf-8") as text:
        return pd.read_csv(text)
