"""Parameters from data: base rate, whole profile, job log, node telemetry. Names are imported on first use."""

if not __name__.startswith("hsmdc."):
    raise ImportError(
        "this folder is the package 'hsmdc.calibration'; install the project (pip install -e .) and "
        "import it by that name"
    )

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "fit_occupancy": "hsmdc.calibration.occupancy",
    "fit_profile": "hsmdc.calibration.profile",
    "fit_jobs": "hsmdc.calibration.jobs",
    "fit_telemetry": "hsmdc.calibration.telemetry",
}

__all__ = [*_HOMES]

if TYPE_CHECKING:
    from hsmdc.calibration.jobs import fit_jobs as fit_jobs
    from hsmdc.calibration.occupancy import fit_occupancy as fit_occupancy
    from hsmdc.calibration.profile import fit_profile as fit_profile
    from hsmdc.calibration.telemetry import fit_telemetry as fit_telemetry


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hsmdc.calibration' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
