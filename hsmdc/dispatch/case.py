"""The case: a site, its battery, its training tasks and the profiles of the day to be planned."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field, field_validator, model_validator

from hsmdc.config import to_toml, validate_tree
from hsmdc.config.base import Fraction, NonNegative, Positive, PositiveInt, Section
from hsmdc.errors import ConfigError

Efficiency = Annotated[float, Field(gt=0, le=1)]
Name = Annotated[str, Field(min_length=1)]
# A checkpoint a minute is the most: the model grows with the segments, and pruning with their square.
Segments = Annotated[int, Field(ge=1, le=1440)]
Values = tuple[float, ...]
SHORTEST_SLOT_H = 1 / 60
Array = npt.NDArray[np.float64]


class Horizon(Section):
    """Planned time: `slots` of `slot_h` hours, cut into days of `day_slots` slots each."""

    slots: PositiveInt
    slot_h: Positive = 1.0
    day_slots: tuple[PositiveInt, ...] = ()

    @model_validator(mode="after")
    def _days_fill_horizon(self) -> Self:
        per_day = self.slots_per_day
        if self.day_slots and sum(self.day_slots) != self.slots:
            raise ValueError(f"day_slots add up to {sum(self.day_slots)}, but slots is {self.slots}")
        if not self.day_slots and self.hours > 25 and self.slots % per_day:
            raise ValueError(
                f"{self.slots} slots are not whole days of {per_day}; give day_slots, the slots of each day"
            )
        return self

    @field_validator("slot_h")
    @classmethod
    def _divides_a_day(cls, value: float) -> float:
        if value < SHORTEST_SLOT_H:
            raise ValueError(f"slots of {value:g} h are too short; a minute (1/60 h) is the least")
        if abs(24 / value - round(24 / value)) > 1e-9:
            raise ValueError(f"24 h are not a whole number of slots of {value} h; use 1, 0.5 or 0.25")
        return value

    @property
    def slots_per_day(self) -> int:
        """Slots of an ordinary 24-hour day."""
        return round(24 / self.slot_h)

    @property
    def hours(self) -> float:
        """Length of the horizon [h]."""
        return self.slots * self.slot_h

    @property
    def days(self) -> tuple[int, ...]:
        """Slots of each day; one day of 23 to 25 hours, or several."""
        if self.day_slots:
            return self.day_slots
        if self.hours <= 25:
            return (self.slots,)
        return (self.slots_per_day,) * (self.slots // self.slots_per_day)


class Graph(Section):
    """How training work becomes edges between slots (see `graph.py`)."""

    partial_slot: Literal["full", "average", "last"] = "last"
    edges: Literal["all", "pruned"] = "all"
    modes: Literal["effective", "feasible"] = "effective"
    transitions: Literal["any", "data-only"] = "any"


class Site(Section):
    """The data centre: GPU pool, base load, renewables and what their use costs."""

    gpu_total: PositiveInt
    gpu_power_kw: Positive
    gpu_peak_tflops: Positive
    gpu_memory_gb: Positive
    gpus_per_node: PositiveInt = 4
    base_it_kw: NonNegative
    pue: Annotated[float, Field(ge=1)]
    pv_kw: NonNegative = 0.0
    wind_kw: NonNegative = 0.0
    power_max_kw: Positive | None = None
    curtailment_usd_per_mwh: NonNegative = 0.0
    idle_gpu_usd_per_h: NonNegative = 0.0


class Battery(Section):
    """Storage at the site; throughput cost counts charged plus discharged energy."""

    power_kw: NonNegative
    energy_kwh: NonNegative
    efficiency_charge: Efficiency
    efficiency_discharge: Efficiency
    throughput_usd_per_mwh: NonNegative = 0.0
    soc_initial: Fraction = 0.5
    soc_min: Fraction = 0.0
    soc_max: Fraction = 1.0

    @model_validator(mode="after")
    def _charge_within_bounds(self) -> Self:
        if not self.soc_min <= self.soc_initial <= self.soc_max:
            raise ValueError(
                f"soc_initial {self.soc_initial} lies outside soc_min {self.soc_min} … soc_max {self.soc_max}"
            )
        return self


class Memory(Section):
    """Constants of the memory model, bytes per element; the paper's ω, ζ, λ, ρ, δ and M0."""

    bytes_per_parameter: Positive
    state_sharding: Literal["none", "zero1", "zero2", "zero3"] = "zero1"
    lambda_hidden: NonNegative = 0.0
    lambda_ffn: NonNegative = 0.0
    lambda_attention: NonNegative = 0.0
    lambda_output: NonNegative = 0.0
    lambda_vocabulary: NonNegative = 0.0
    recomputation: NonNegative = 1.0
    fixed_gb: NonNegative = 0.0
    other_fraction: NonNegative = 0.0
    usable_gb: Positive
    max_tensor: PositiveInt = 8
    max_pipeline: PositiveInt = 16


class Losses(Section):
    """Loss of efficiency: linear in p − 1 and q − 1, by the square root of d."""

    pipeline: NonNegative
    tensor: NonNegative
    data: NonNegative


class Task(Section):
    """A pre-training task: what the model is, what a day of it must achieve."""

    name: Name
    parameters: Positive
    tokens: Positive
    batch: PositiveInt
    sequence: PositiveInt
    layers: PositiveInt
    hidden: PositiveInt
    ffn: PositiveInt
    heads: PositiveInt
    vocabulary: PositiveInt
    flops_factor: Positive = 96.0
    baseline: tuple[PositiveInt, PositiveInt, PositiveInt]
    baseline_efficiency: Efficiency | None = None
    daily_ratio: Annotated[float, Field(gt=0, le=1)]
    segments: Segments
    deadline_slot: PositiveInt | None = None

    @model_validator(mode="after")
    def _baseline_divides(self) -> Self:
        p, q, d = self.baseline
        misfits = [
            f"{axis} {size} does not divide {whole} {what}"
            for axis, size, whole, what in (
                ("pipeline", p, self.layers, "layers"),
                ("tensor", q, self.heads, "heads"),
                ("tensor", q, self.hidden, "hidden"),
                ("tensor", q, self.ffn, "ffn"),
                ("data", d, self.batch, "sequences of the batch"),
            )
            if whole % size
        ]
        if misfits:
            raise ValueError(f"baseline {list(self.baseline)} is no mode of {self.name}: {misfits[0]}")
        return self


class Inference(Section):
    """Serving load that must run as it comes: GPUs held per slot (one value serves all slots)."""

    name: Name
    gpus: tuple[NonNegative, ...]
    utilization: Fraction = 1.0


class Deferrable(Section):
    """Fine-tuning as many small jobs: GPU-hours to be served at any time from `release_slot` to `deadline_slot`."""

    name: Name
    gpu_hours: NonNegative
    gpus_max: Positive
    release_slot: Annotated[int, Field(ge=0)] = 0
    deadline_slot: PositiveInt | None = None
    utilization: Fraction = 1.0


class Profiles(Section):
    """One value per slot. Base load and PUE, where given, replace the constants of the site.

    `start` is the ISO time of the first slot, with its UTC offset where known; `source` says where the
    values are from.
    """

    pv_kw: Values
    wind_kw: Values
    price_usd_per_mwh: Values
    base_it_kw: Values = ()
    pue: Values = ()
    cooling_share: Values = ()
    start: str = ""
    source: str = ""

    @field_validator("pv_kw", "wind_kw", "base_it_kw", "cooling_share")
    @classmethod
    def _non_negative(cls, values: Values) -> Values:
        bad = [f"{value} in slot {slot}" for slot, value in enumerate(values) if value < 0]
        if bad:
            raise ValueError(f"{bad[0]} is negative; power must be at least 0")
        return values

    @field_validator("pue")
    @classmethod
    def _pue_at_least_one(cls, values: Values) -> Values:
        bad = [f"{value} in slot {slot}" for slot, value in enumerate(values) if value < 1]
        if bad:
            raise ValueError(f"{bad[0]} is below 1; facility power includes the IT power")
        return values

    @field_validator("start")
    @classmethod
    def _is_a_time(cls, value: str) -> str:
        try:
            if value:
                datetime.fromisoformat(value)  # pandas alone would take "now"
                pd.Timestamp(value).as_unit("ns")
        except ValueError:
            raise ValueError(
                "no ISO time of the years 1678 to 2261; write it as 2022-04-14T00:00-07:00"
            ) from None
        return value


class Case(Section):
    """A dispatch case, complete and checked; `load_case` makes one."""

    name: str = ""
    horizon: Horizon
    graph: Graph = Graph()
    site: Site
    battery: Battery | None = None
    memory: Memory
    efficiency: Losses
    task: tuple[Task, ...] = ()
    inference: tuple[Inference, ...] = ()
    deferrable: tuple[Deferrable, ...] = ()
    profiles: Profiles

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _check_profile_lengths(self)
        _check_names(self)
        _check_deadlines(self)
        _check_memory(self)
        if not self.task and not self.deferrable:
            raise ValueError("nothing to plan; give at least one [[task]] or [[deferrable]]")
        return self

    @property
    def slots(self) -> int:
        """Number of slots of the horizon."""
        return self.horizon.slots

    @property
    def day_ends(self) -> tuple[int, ...]:
        """Slot boundary at which each day ends."""
        return tuple(int(end) for end in np.cumsum(self.horizon.days))

    @property
    def renewable_kw(self) -> Array:
        """Available wind plus PV [kW], per slot."""
        total: Array = np.add(self.profiles.pv_kw, self.profiles.wind_kw)
        return total

    @property
    def price_usd_per_kwh(self) -> Array:
        """Grid price [USD/kWh], per slot."""
        return np.asarray(self.profiles.price_usd_per_mwh, dtype=float) * 1e-3

    @property
    def base_it_kw(self) -> Array:
        """IT power that is not training [kW], per slot; inference blocks are not in it."""
        return np.asarray(self.profiles.base_it_kw or (self.site.base_it_kw,) * self.slots, dtype=float)

    @property
    def pue(self) -> Array:
        """Facility power over IT power, per slot."""
        return np.asarray(self.profiles.pue or (self.site.pue,) * self.slots, dtype=float)

    def task_named(self, task: "str | int | Task") -> Task:
        """The task of that name or position; a task passes through.

        Raises
        ------
        ConfigError
            No such task.
        """
        if isinstance(task, Task):
            return task
        for index, candidate in enumerate(self.task):
            if task in (index, candidate.name):
                return candidate
        names = ", ".join(t.name for t in self.task) or "none"
        raise ConfigError(f"case {self.name or '(unnamed)'} has no task {task!r}; it has: {names}")

    def deadline(self, task: Task | Deferrable, day: int = 0) -> int:
        """Slot boundary by which a day's tranche of `task` must be finished."""
        length = self.horizon.days[day]
        start = self.day_ends[day] - length
        return start + (task.deadline_slot if task.deadline_slot is not None else length)

    def to_toml(self) -> str:
        """The resolved case as TOML, without the keys that are unset."""
        return to_toml(self)

    def replace(self, **tables: Any) -> "Case":
        """A copy with tables or keys replaced and everything checked again.

        Parameters
        ----------
        **tables
            `table={"key": value}` merges into a table; any other value replaces the field.

        Raises
        ------
        ConfigError
            If the result breaks a rule.
        """
        return build_case(merge(self.model_dump(exclude_none=True), tables), self.name)

    def with_slot_h(self, slot_h: float) -> "Case":
        """The same case in finer slots: profiles are held, deadlines keep their clock time.

        Raises
        ------
        ConfigError
            If the present slot is not a whole number of new ones.
        """
        factor = round(self.horizon.slot_h / slot_h) if slot_h > 0 else 0
        if factor < 1 or abs(factor * slot_h - self.horizon.slot_h) > 1e-9:
            raise ConfigError(
                f"slots of {self.horizon.slot_h} h cannot be cut into slots of {slot_h} h; "
                "use a whole fraction, such as 0.5 or 0.25"
            )
        raw = self.model_dump(exclude_none=True)
        raw["horizon"] = {
            "slots": self.slots * factor,
            "slot_h": slot_h,
            "day_slots": [n * factor for n in self.horizon.days],
        }
        raw["profiles"] = {
            key: value if isinstance(value, str) else np.repeat(value, factor).tolist()
            for key, value in raw["profiles"].items()
        }
        for block in (*raw["task"], *raw["deferrable"]):
            for key in ("deadline_slot", "release_slot"):
                if key in block:
                    block[key] *= factor
        for block in raw["inference"]:
            if len(block["gpus"]) > 1:
                block["gpus"] = np.repeat(block["gpus"], factor).tolist()
        return build_case(raw, self.name)

    def with_profiles(self, profiles: Profiles, day_slots: Iterable[int]) -> "Case":
        """The same site and tasks on other days; a deadline at the day's end stays at the day's end."""
        days = tuple(day_slots)
        old_length = self.horizon.days[0]
        raw = self.model_dump(exclude_none=True)
        raw["horizon"] |= {"slots": sum(days), "day_slots": days}
        raw["profiles"] = profiles.model_dump()
        for block in (*raw["task"], *raw["deferrable"]):
            if block.get("deadline_slot") == old_length:
                del block["deadline_slot"]
        return build_case(raw, self.name)


def _check_profile_lengths(case: Case) -> None:
    for key in ("pv_kw", "wind_kw", "price_usd_per_mwh", "base_it_kw", "pue", "cooling_share"):
        values = getattr(case.profiles, key)
        optional = key in ("base_it_kw", "pue", "cooling_share")
        if len(values) != case.slots and not (optional and not values):
            raise ValueError(
                f"profiles.{key} has {len(values)} values, but the horizon has {case.slots} slots"
            )
    for block in case.inference:
        if len(block.gpus) not in (1, case.slots):
            raise ValueError(
                f"inference {block.name}: gpus has {len(block.gpus)} values; give one, or one for each of "
                f"the {case.slots} slots"
            )


def _check_names(case: Case) -> None:
    blocks: tuple[Task | Inference | Deferrable, ...] = (*case.task, *case.inference, *case.deferrable)
    names = [block.name for block in blocks]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise ValueError(f"the name {double[0]!r} is used twice; tasks and blocks need names of their own")


def _check_deadlines(case: Case) -> None:
    shortest = min(case.horizon.days)
    blocks: tuple[Task | Deferrable, ...] = (*case.task, *case.deferrable)
    for block in blocks:
        if block.deadline_slot is not None and block.deadline_slot > shortest:
            raise ValueError(
                f"{block.name}: deadline_slot {block.deadline_slot} lies beyond the day's {shortest} slots; "
                "leave it out for the end of the day"
            )
    for work in case.deferrable:
        end = case.deadline(work, len(case.horizon.days) - 1)
        if work.gpu_hours and work.release_slot >= end:
            raise ValueError(
                f"{work.name}: release_slot {work.release_slot} leaves no slot before its deadline, slot {end}"
            )


def _check_memory(case: Case) -> None:
    if case.memory.usable_gb > case.site.gpu_memory_gb:
        raise ValueError(
            f"memory.usable_gb {case.memory.usable_gb} exceeds site.gpu_memory_gb {case.site.gpu_memory_gb}"
        )


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the tables of `over` merged in key by key; lists and values are replaced."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def build_case(raw: Mapping[str, Any], source: str) -> Case:
    """Check a raw table and make it a `Case`.

    Raises
    ------
    ConfigError
        Naming the key, the value and what is allowed.
    """
    return validate_tree(raw, Case, f"case {source or '(unnamed)'}")
