"""Every gate of the shipped set is decided at its own limit, on both sides of it."""

import math

import numpy as np
import pytest
import xarray as xr

from hsmdc.validation import load_gates, load_reference, validate
from hsmdc.validation.catalogue import SCORES
from hsmdc.validation.gates import Gate
from hsmdc.validation.references import Reference

NLR = load_reference("nlr-colocation-10mw")
GATES = load_gates("nlr-colocation-10mw")
PLACES = [
    (gate, level)
    for gate in GATES.gate
    if SCORES[gate.metric].group != "levels"
    for level in NLR.levels
    if gate.applies(level)
]


def perfect(metric: str, level: float) -> float:
    """The score of a trace that is the reference."""
    target = NLR.statistic(metric, level)
    if not math.isnan(target):
        return target
    return 1.0 if metric == "correlation" else 0.0


def verdicts(changed: tuple[str, float], value: float) -> dict[tuple[str, float], str]:
    """Verdicts of a battery that agrees in everything but one score."""
    names = [name for name, info in SCORES.items() if info.group != "levels"]
    members = []
    for level in NLR.levels:
        values = [value if (name, level) == changed else perfect(name, level) for name in names]
        nothing = np.full(len(names), np.nan)
        columns = {
            "value": values,
            "note": [""] * len(names),
            "failed": [False] * len(names),
            "target": nothing,
        }
        members.append(
            xr.Dataset(
                {name: ("metric", column) for name, column in columns.items()},
                {"metric": names},
                {"utilization": level, "seed": "1", "period": "", "occupancy": math.nan},
            )
        )
    frame = validate(members, NLR, GATES).to_dataframe()
    judged = frame[frame["limit"] != ""]
    return dict(
        zip(zip(judged["metric"], judged["utilization"], strict=True), judged["verdict"], strict=True)
    )


def edges(gate: Gate, level: float, reference: Reference) -> tuple[list[float], list[float]]:
    """Scores on the limit, and one part in ten thousand of it beyond."""
    target = reference.statistic(gate.metric, level)
    if gate.kind in ("at_most", "at_least"):
        sign = 1.0 if gate.kind == "at_most" else -1.0
        return [gate.limit], [gate.limit + sign * 1e-4 * gate.limit]
    width = gate.limit * (1.0 if gate.kind == "absolute" else target)
    sides = (1.0, -1.0) if target - width > 0.0 else (1.0,)
    return [target + side * width for side in sides], [target + side * 1.0001 * width for side in sides]


@pytest.mark.parametrize(("gate", "level"), PLACES, ids=lambda part: getattr(part, "metric", str(part)))
def test_a_gate_passes_on_its_limit_and_fails_beyond(gate, level):
    on, beyond = edges(gate, level, NLR)
    for value in on:
        assert verdicts((gate.metric, level), value)[gate.metric, level] == "pass"
    for value in beyond:
        found = verdicts((gate.metric, level), value)
        assert [place for place, verdict in found.items() if verdict != "pass"] == [(gate.metric, level)]


def test_the_set_is_as_long_as_it_says():
    across = [gate for gate in GATES.gate if SCORES[gate.metric].group == "levels"]
    assert len(PLACES) + len(across) == 39
