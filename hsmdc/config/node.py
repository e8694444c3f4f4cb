"""The node layer of a configuration: what an allocated node does between its job's start and end.

A *workload* is one five-state chain with its job phases; presets of workloads are TOML files of their own
(`hsmdc/presets/nodes/`). The node layer says which jobs run which workload.
"""

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from hsmdc.config.base import NonNegative, Positive, PositiveInt, Section

STATE_NAMES = ("ps", "lc", "ba", "ci", "ar")
_ALLOWED = {"ps": ("ar",), "lc": ("ps", "ar"), "ba": ("lc", "ar"), "ci": ("ba",), "ar": ("ba", "ci")}
ROW_TOLERANCE = 1e-9
LONGEST_SOJOURN_S = 1000.0

_WORKLOADS = resources.files("hsmdc") / "presets" / "nodes"

Range = tuple[NonNegative, NonNegative]
Row = Annotated[tuple[NonNegative, ...], Field(min_length=5, max_length=5)]


def _rising(name: str, pair: Range) -> None:
    if pair[0] > pair[1]:
        raise ValueError(
            f"{name} = [{pair[0]:g}, {pair[1]:g}]: the first value is the smaller one; swap them"
        )


class State(Section):
    """One state: uniform deviation from the busy mean, uniform sojourn, noise (paper eq. 6, table 2)."""

    deviation: Range = Field(description="|δ|, share of the mean power; the state gives the sign")
    sojourn_s: Range
    noise: Annotated[NonNegative, Field(le=1)] = Field(
        default=0.0, description="σ of the noise, share of the mean power per √s"
    )

    @model_validator(mode="after")
    def _ordered(self) -> "State":
        _rising("deviation", self.deviation)
        _rising("sojourn_s", self.sojourn_s)
        low, high = self.sojourn_s
        if not low >= 0.001 or high > LONGEST_SOJOURN_S:
            raise ValueError(
                f"sojourn_s = [{low:g}, {high:g}] must lie within 0.001 … {LONGEST_SOJOURN_S:g} s"
            )
        return self


class Phase(Section):
    """A stretch of constant power before the chain starts or after it ends."""

    name: str
    duration_s: Range
    level_tdp: Annotated[float, Field(ge=0, le=1)] = Field(description="node power, share of TDP")

    @model_validator(mode="after")
    def _ordered(self) -> "Phase":
        _rising("duration_s", self.duration_s)
        return self


class JobPhases(Section):
    """What a job does around its training: set-up and loading, a linear ramp, and shut-down."""

    before: tuple[Phase, ...] = ()
    ramp_s: NonNegative = Field(default=0.0, description="linear rise from the last phase to the mean power")
    after: tuple[Phase, ...] = ()


class Workload(Section):
    """One five-state chain. Its stationary mean is `mean_tdp`, or the site's busy_w if that is left out."""

    name: str
    description: str = ""
    provenance: str = ""
    mean_tdp: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="stationary mean power, share of TDP; left out: the site's busy_w"
    )
    transitions: Annotated[tuple[Row, ...], Field(min_length=5, max_length=5)] = Field(
        description="embedded transition matrix, rows and columns ps, lc, ba, ci, ar"
    )
    ps: State
    lc: State
    ba: State
    ci: State
    ar: State
    phases: JobPhases = JobPhases()

    @property
    def states(self) -> tuple[State, State, State, State, State]:
        """The five states in the order of `STATE_NAMES`."""
        return self.ps, self.lc, self.ba, self.ci, self.ar

    @model_validator(mode="after")
    def _admissible(self) -> "Workload":
        for name, row in zip(STATE_NAMES, self.transitions, strict=True):
            total = sum(row)
            if abs(total - 1.0) > ROW_TOLERANCE:
                raise ValueError(f"transitions: row {name} sums to {total:.12g}; it must sum to 1")
            for target, chance in zip(STATE_NAMES, row, strict=True):
                if chance > 0 and target not in _ALLOWED[name]:
                    raise ValueError(
                        f"transitions: {name} → {target} = {chance:g} breaks the mask; "
                        f"{name} may lead to {' or '.join(_ALLOWED[name])} only"
                    )
        return self

    @model_validator(mode="after")
    def _reference_level(self) -> "Workload":
        if self.ba.deviation != (0.0, 0.0):
            raise ValueError("ba is the reference level: its deviation must be [0, 0]")
        return self


def workload_names() -> list[str]:
    """The shipped workload presets."""
    return sorted(Path(p.name).stem for p in _WORKLOADS.iterdir() if p.name.endswith(".toml"))


def load_workload(name: str) -> Workload:
    """A shipped workload preset; raises ValueError for a name that is none."""
    return Workload.model_validate(_preset(name))


def _preset(name: str) -> dict[str, Any]:
    if name not in workload_names():
        raise ValueError(f"no workload preset {name!r}; there are: {', '.join(workload_names())}")
    return tomllib.loads((_WORKLOADS / f"{name}.toml").read_text("utf-8"))


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            value = _merged(old, value)
        merged[key] = value
    return merged


def _from_preset(value: Any) -> Any:
    """A preset's name stands for its table; a table may build on one with `base = "name"`."""
    if isinstance(value, str):
        return _preset(value)
    if isinstance(value, Mapping) and isinstance(value.get("base"), str):
        own = {key: item for key, item in value.items() if key != "base"}
        return _merged(_preset(value["base"]), own)
    return value


AnyWorkload = Annotated[Workload, BeforeValidator(_from_preset)]


class JobClass(Section):
    """Jobs of some sizes that run one workload."""

    share: Positive = Field(default=1.0, description="weight among the classes that take a job's size")
    smallest: PositiveInt = 1
    largest: PositiveInt | None = None
    workload: AnyWorkload

    @model_validator(mode="after")
    def _ordered(self) -> "JobClass":
        if self.largest is not None and self.smallest > self.largest:
            raise ValueError(f"smallest {self.smallest} must not exceed largest {self.largest}")
        return self


def _pretraining() -> tuple[JobClass, ...]:
    return (JobClass(workload=load_workload("pretraining")),)


class NodeLayer(Section):
    """Which workloads run, and how the nodes of one job hang together."""

    synchrony: Literal["job", "node"] = Field(
        default="job",
        description='"job": barriers hold all nodes of a job to one state path; "node": none do',
    )
    theta_per_s: Annotated[float, Field(ge=0.01, le=1000)] = Field(
        default=0.8, description="θ, mean-reversion rate of the noise (paper section II-C)"
    )
    mix: Annotated[tuple[JobClass, ...], Field(min_length=1)] = Field(default_factory=_pretraining)

    @model_validator(mode="after")
    def _complete(self) -> "NodeLayer":
        reach = 0
        for job_class in sorted(self.mix, key=lambda c: c.smallest):
            if job_class.smallest > reach + 1:
                break
            if job_class.largest is None:
                return self
            reach = max(reach, job_class.largest)
        raise ValueError(
            f"mix: no class takes jobs of {reach + 1} nodes; the size ranges must cover every size from 1 up "
            "(leave `largest` out in the last class)"
        )
