"""Traces held against references: metrics, scores, gates, verdicts and figures."""

if not __name__.startswith("hsmdc."):
    raise ImportError(
        "this folder is the package 'hsmdc.validation'; install the project (pip install -e .) and "
        "import it by that name"
    )

from . import metrics
from .battery import validate
from .gates import Gates, load_gates
from .references import Reference, load_reference, reference_from_series
from .scoring import score

__all__ = [
    "Gates",
    "Reference",
    "load_gates",
    "load_reference",
    "metrics",
    "reference_from_series",
    "score",
    "validate",
]
