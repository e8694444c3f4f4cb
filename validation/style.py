"""One look for every figure: legible at 17 cm in print and on a screen, safe for colour-blind readers.

Colours are those of Okabe and Ito (2008); a line style or marker always says the same as the colour.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

REFERENCE_COLOUR = "#000000"
MODEL_COLOUR = "#0072B2"

BEHIND: Any = {"color": "#000000", "lw": 3.2, "alpha": 0.3, "solid_capstyle": "butt"}
"""A reference that a model may match to the width of a line: broad and pale, so that both can be seen."""

_COLOURS = ("#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7", "#0072B2")
_LINES = ("-", (0, (6, 1.5)), (0, (4, 1.2, 1, 1.2)), (0, (1.5, 1)), (0, (8, 2)), (0, (3, 1)))

_RC: Any = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "legend.fontsize": 8.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#d8d8d8",
    "grid.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.3,
    "legend.frameon": False,
    "svg.hashsalt": "hsmdc",
    "figure.constrained_layout.use": True,
}


@contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib settings of the house, for the time of one figure; the user's own are untouched."""
    import matplotlib as mpl

    with mpl.rc_context(_RC):
        yield


def level_style(index: int) -> dict[str, Any]:
    """Colour and line style of the `index`-th level, always the same pair."""
    return {"color": _COLOURS[index % len(_COLOURS)], "linestyle": _LINES[index % len(_LINES)]}


def level_name(utilization: float) -> str:
    """A level in words: "60 %"; empty where the utilisation is not known."""
    return "" if utilization != utilization else f"{100 * utilization:.0f} %"


def at_level(what: str, utilization: float) -> str:
    """What is drawn and its level: "model 60 %", or "model" where the utilisation is not known."""
    return f"{what} {level_name(utilization)}".strip()
