"""Published figures of a shipped case, each marked fitted or held out."""

from importlib import resources

import pandas as pd
import xarray as xr

from hsmdc.dispatch.case import Case
from hsmdc.dispatch.loading import is_shipped


def published_scenarios(case: Case | str) -> pd.DataFrame:
    """Published scenario figures: columns `scenario variable published basis`; empty if the case has none.

    A `Case` has them only as it is shipped: a file of the same name, or an altered copy, is another case.

    `basis` is "fitted" where the figure took part in the reconstruction of the case's profiles and constants, or
    follows from such figures and the case's tables; "held out" where it did not.
    """
    name = case if isinstance(case, str) else case.name if is_shipped(case) else ""
    return _read(f"{name}.published.csv", ["scenario", "variable", "published", "basis"])


def published_sensitivities(table: xr.Dataset) -> pd.DataFrame:
    """Published figures for a sweep: columns `parameter value variable published basis`; empty if there are none.

    They were published for scenario S6 of the case as it is shipped.
    """
    columns = ["parameter", "value", "variable", "published", "basis"]
    known = _read(f"{table.attrs['shipped_case']}.sensitivity.csv", columns)
    matches = (known["parameter"] == table.attrs["parameter"]) & (table.attrs["scenario"] == "S6")
    rows: pd.DataFrame = known[matches]
    return rows


def _read(name: str, columns: list[str]) -> pd.DataFrame:
    file = resources.files("hsmdc.dispatch") / "cases" / name
    if not file.is_file():
        return pd.DataFrame(columns=columns)
    with file.open(encoding="utf-8") as text:
        return pd.read_csv(text)
