"""Pieces of the report page: figures, tables and the zoomable trace, as HTML that needs nothing outside it."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from hsmdc.validation.series import Floats, as_series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SAMPLES = 700_000
"""A longer trace is averaged to fewer steps: two series of this length are 3.7 MB of page."""

_MISSING = 65535
_SERIES = (("facility_power", "facility", "#0072B2", 1.1), ("it_power", "IT", "#E69F00", 1.1))
_BUTTONS = (
    ("All", ""),
    ("Month", 'data-days="30"'),
    ("Week", 'data-days="7"'),
    ("Day", 'data-days="1"'),
    ("◀", 'data-pan="-0.5" aria-label="earlier"'),
    ("▶", 'data-pan="0.5" aria-label="later"'),
    ("+", 'data-zoom="0.5" aria-label="zoom in"'),
    ("−", 'data-zoom="2" aria-label="zoom out"'),
)


def paragraphs(lines: Iterable[str]) -> str:
    """Plain text as paragraphs."""
    return "\n".join(f"<p>{escape(line)}</p>" for line in lines)


def bullets(lines: Iterable[str]) -> str:
    """Plain text as a list; empty for no line."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def section(title: str, *parts: str) -> str:
    """A headed section."""
    return f"<section>\n<h2>{escape(title)}</h2>\n" + "\n".join(parts) + "\n</section>"


def figure_image(figure: Figure, caption: str) -> str:
    """A matplotlib figure as an inline SVG image with its caption."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    code = base64.b64encode(buffer.getvalue()).decode("ascii")
    text = escape(caption)
    return (
        f'<figure><img alt="{text}" src="data:image/svg+xml;base64,{code}">'
        f"<figcaption>{text}</figcaption></figure>"
    )


def score_table(scores: xr.Dataset, verdicts: Sequence[str]) -> str:
    """The rows of a battery with one of these verdicts; empty when there is none."""
    frame = scores.to_dataframe()
    rows = frame[frame["verdict"].isin(verdicts)].to_dict("records")
    if not rows:
        return ""
    head = ("Score", "Level", "Reference", "Value", "95 % band", "Limit", "Paper's model", "Basis", "Verdict")
    numeric = {1, 2, 3, 4}
    cells = [f"<th{_numeric_class(i in numeric)}>{escape(name)}</th>" for i, name in enumerate(head)]
    body = "\n".join(
        _score_row(row, previous) for row, previous in zip(rows, [None, *rows[:-1]], strict=True)
    )
    return f'<div class="wide"><table><thead><tr>{"".join(cells)}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _score_row(row: dict[object, object], previous: dict[object, object] | None) -> str:
    first = previous is None or previous["metric"] != row["metric"]
    unit = "" if row["unit"] == "1" else f" [{row['unit']}]"
    level = float(str(row["utilization"]))
    low, high = float(str(row["low"])), float(str(row["high"]))
    band = "" if math.isnan(low) else f"{number(low)} … {number(high)}"
    verdict = str(row["verdict"])
    note = f" ({row['note']})" if row["note"] else ""
    texts = [
        (f"{row['title']}{unit}" if first else "", ""),
        ("all" if math.isnan(level) else f"{100 * level:.0f} %", "number"),
        (number(float(str(row["reference"]))), "number"),
        (number(float(str(row["value"]))), "number"),
        (band, "number"),
        (str(row["limit"]), "whole"),
        (str(row["paper"]), ""),
        (str(row["role"]).replace("_", " "), "whole"),
        (verdict + note, verdict if verdict in ("pass", "fail") else ""),
    ]
    cells = "".join(f"<td{_class(name)}>{escape(text)}</td>" for text, name in texts)
    return f"<tr{_class('first' if first else '')}>{cells}</tr>"


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _numeric_class(numeric: bool) -> str:
    return _class("number" if numeric else "")


def number(value: float) -> str:
    """Five figures or whole numbers; four decimals at most, a true minus sign; empty for NaN."""
    if math.isnan(value):
        return ""
    whole = len(f"{abs(value):.0f}") if abs(value) >= 1.0 else 1
    return f"{value:.{max(0, min(4, 5 - whole))}f}".replace("-", "−")


def fact_table(facts: Iterable[tuple[str, str]]) -> str:
    """Two columns: name and value."""
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in facts
    )
    return f'<div class="wide"><table><tbody>{rows}</tbody></table></div>'


def zoomable(trace: xr.Dataset) -> str:
    """The trace as an interactive chart; values are kept to 1/65534 of their range.

    A trace of more than `MOST_SAMPLES` steps is averaged; the caption says so.
    """
    payload, step_s = _payload(trace)
    buttons = "".join(f'<button type="button" {data}>{name}</button>' for name, data in _BUTTONS)
    shorter = (
        f" The chart shows means over {step_s:g} s; the file has every step." if _averaged(trace) else ""
    )
    return (
        f'<div class="zoom"><div class="bar">{buttons}<span class="legend bar"></span></div>'
        '<canvas tabindex="0" role="img" aria-label="Power against time"></canvas><output></output>'
        f'<script type="application/json">{json.dumps(payload)}</script></div>'
        '<p class="note">Drag over a stretch to zoom in, double-click for the whole; Ctrl + wheel zooms, Shift + '
        f"wheel and the arrow keys move. Every pixel shows the lowest and highest value in it.{shorter}</p>"
    )


def _averaged(trace: xr.Dataset) -> bool:
    return bool(trace.sizes["time"] > MOST_SAMPLES)


def _payload(trace: xr.Dataset) -> tuple[dict[str, object], float]:
    names = [entry for entry in _SERIES if entry[0] in trace]
    columns = [as_series(trace[entry[0]]) for entry in names]
    factor = -(-columns[0].values.size // MOST_SAMPLES)
    step_s = columns[0].step_s * factor
    values = [_coarser(column.values, factor) for column in columns]
    return {
        "start_ms": int(columns[0].start.astype("datetime64[ms]").astype(np.int64)),
        "step_s": step_s,
        "count": values[0].size,
        "series": [
            {"name": label, "colour": colour, "width": width, **_coded(column)}
            for (_, label, colour, width), column in zip(names, values, strict=True)
        ],
    }, step_s


def _coarser(values: Floats, factor: int) -> Floats:
    count = values.size // factor
    return np.asarray(values[: count * factor].reshape(count, factor).mean(axis=1))


def _coded(values: Floats) -> dict[str, object]:
    """Sixteen-bit codes, little endian, in base 64; the highest code means missing."""
    there = ~np.isnan(values)
    low = float(values[there].min())
    scale = (float(values[there].max()) - low) / (_MISSING - 1) or 1.0
    codes = np.full(values.size, _MISSING, dtype="<u2")
    codes[there] = np.rint((values[there] - low) / scale)
    return {"low": low, "scale": scale, "data": base64.b64encode(codes.tobytes()).decode("ascii")}
