"""The sections of a site configuration: what each number means, its unit and its source.

"paper" is the HSM-DC paper; equation numbers are its own.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hsmdc.config.base import Fraction, NonNegative, Pmf, Positive, PositiveInt, Section, factors


class Site(Section):
    """The node pool and its power anchors (paper eq. 7, table 3)."""

    nodes: PositiveInt
    rated_mw: Positive
    idle_w: NonNegative = Field(description="mean power of an unallocated node [W]")
    busy_w: Positive = Field(description="mean power of an allocated node [W]")
    tdp_w: Positive = Field(description="thermal design power of a node [W]")
    saturation: Annotated[float, Field(gt=0, le=1)] = Field(
        default=1.0, description="IT power is clipped at saturation · rated_mw"
    )
    utc_offset_h: Annotated[float, Field(ge=-14, le=14)] = Field(
        default=0.0, description="local time of the profiles minus UTC [h], fixed all year"
    )

    @model_validator(mode="after")
    def _ordered(self) -> "Site":
        if not self.idle_w < self.busy_w <= self.tdp_w:
            raise ValueError(
                "node powers must rise: idle_w < busy_w <= tdp_w, got "
                f"{self.idle_w:g}, {self.busy_w:g}, {self.tdp_w:g}"
            )
        floor_mw = self.nodes * self.idle_w * 1e-6
        if floor_mw >= self.saturation * self.rated_mw:
            raise ValueError(
                f"{self.nodes} idle nodes draw {floor_mw:.3g} MW, at or above the ceiling "
                f"saturation·rated_mw = {self.saturation * self.rated_mw:.3g} MW; raise rated_mw or saturation"
            )
        return self


class GeometricBatch(Section):
    """P(K = k) ∝ (1 − 1/mean)^(k−1), k ≥ 1."""

    law: Literal["geometric"] = "geometric"
    mean: Annotated[float, Field(ge=1, le=1000)] = 1.0


class ZetaBatch(Section):
    """P(K = k) ∝ k^(−exponent) for 1 ≤ k ≤ largest; real logs show exponents of 2.4–2.7."""

    law: Literal["zeta"]
    exponent: Annotated[float, Field(gt=1)]
    largest: Annotated[int, Field(ge=1, le=100_000)] = 1000


class EmpiricalBatch(Section):
    """P(K = k) = pmf[k − 1]."""

    law: Literal["empirical"]
    pmf: Pmf


Batch = Annotated[GeometricBatch | ZetaBatch | EmpiricalBatch, Field(discriminator="law")]


class Arrivals(Section):
    """λ(t) = λ0 · Π factors (paper eq. 2, extended), each normalised to unit mean over its period."""

    base_rate: Positive | None = Field(
        default=None,
        description="λ0, arrival events per minute; left out, it is found for a target utilisation",
    )
    interpolation: Literal["linear", "step"] = Field(
        default="step", description="how a factor runs between the centres of its cells"
    )
    hour_of_day: factors(24) | None = None  # type: ignore[valid-type]
    day_of_week: factors(7) | None = Field(default=None, description="Monday first")  # type: ignore[valid-type]
    month: factors(12) | None = None  # type: ignore[valid-type]
    hour_of_week: factors(168) | None = Field(default=None, description="Monday 00 h first")  # type: ignore[valid-type]
    week_of_year: factors(53) | None = Field(  # type: ignore[valid-type]
        default=None, description="weeks of seven days counted from 1 January"
    )
    annual_amplitude: Annotated[float, Field(ge=0, lt=1)] = 0.0
    annual_peak_day: Annotated[float, Field(ge=0, le=366)] = 0.0
    batch: Batch = GeometricBatch()
    shared_size: Fraction = Field(
        default=0.0, description="probability that all jobs of a batch have one node count"
    )


class ExponentialNodes(Section):
    """P(n = 2^k) ∝ exp(linear·k + quadratic·k²), k = 0 … log2(largest)."""

    law: Literal["exponential"]
    linear: float
    quadratic: float = 0.0
    largest: PositiveInt = 256

    @model_validator(mode="after")
    def _power_of_two(self) -> "ExponentialNodes":
        if self.largest & (self.largest - 1):
            raise ValueError(f"largest must be a power of two, got {self.largest}")
        return self


class EmpiricalNodes(Section):
    """P(n = sizes[i]) = pmf[i]."""

    law: Literal["empirical"]
    sizes: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    pmf: Pmf

    @model_validator(mode="after")
    def _paired(self) -> "EmpiricalNodes":
        if len(self.sizes) != len(self.pmf):
            raise ValueError(f"{len(self.sizes)} sizes but {len(self.pmf)} probabilities")
        if list(self.sizes) != sorted(set(self.sizes)):
            raise ValueError("sizes must rise without repeats")
        return self


Nodes = Annotated[ExponentialNodes | EmpiricalNodes, Field(discriminator="law")]


class LognormalDuration(Section):
    """Two lognormals (paper eq. 3), clipped to [shortest_h, longest_h]; held for whole ticks, rounded up."""

    law: Literal["lognormal"] = "lognormal"
    median_h: Positive
    sigma: Positive
    long_fraction: Fraction = 0.0
    long_median_h: Positive = 12.0
    long_sigma: Positive = 0.5
    shortest_h: Positive = 1.0 / 60.0
    longest_h: Annotated[float, Field(gt=0, le=8760)] = 48.0

    @model_validator(mode="after")
    def _ordered(self) -> "LognormalDuration":
        if self.shortest_h >= self.longest_h:
            raise ValueError(f"shortest_h {self.shortest_h:g} must be below longest_h {self.longest_h:g}")
        return self


class Jobs(Section):
    """What a job asks for."""

    nodes: Nodes
    duration: LognormalDuration
    rank_correlation: Annotated[float, Field(ge=-0.99, le=0.99)] = Field(
        default=0.0, description="Spearman correlation of node count and duration (Gaussian copula)"
    )


class Scheduler(Section):
    """Strict first-in-first-out, or EASY backfill beside it."""

    policy: Literal["fifo", "easy"] = "fifo"
    spin_up_days: Annotated[float, Field(ge=0, le=366)] = Field(
        default=7.0, description="simulated and thrown away before the start; 0 starts with an empty facility"
    )


class Residual(Section):
    """Minute-to-minute residual of the node layer: an Ornstein–Uhlenbeck process whose variance follows the
    nodes in use. sigma_mw is its standard deviation with every node busy; 0 gives eq. 7 to the bit."""

    sigma_mw: NonNegative = 0.0
    decorrelation_min: Positive = 5.0


class CoolingPart(Section):
    """One first-order cooling sub-system of paper eq. 8."""

    fraction: NonNegative = Field(description="α, of rated power at full IT load and γ = 1")
    tau_s: Positive = Field(description="τ, lag time constant [s]; an assumption, no public data gives it")


class Hvac(CoolingPart):
    """Air handling: α and τ unless given."""

    fraction: NonNegative = 0.12
    tau_s: Positive = 300.0


class Chiller(CoolingPart):
    """Chillers: α and τ unless given."""

    fraction: NonNegative = 0.18
    tau_s: Positive = 900.0


class Cooling(Section):
    """Cooling and auxiliary load (paper eqs. 8 and 9)."""

    hvac: Hvac = Hvac()
    chiller: Chiller = Chiller()
    dead_time_s: NonNegative = 90.0
    auxiliary_fraction: NonNegative = 0.05
    sensitivity: float = Field(default=0.25, description="β_T")
    reference_degc: float = Field(default=15.0, description="T_ref")
    swing_degc: Positive = Field(default=12.0, description="ΔT in γ(T)")
    floor: NonNegative = Field(default=0.1, description="free-cooling floor of γ")


class Weather(Section):
    """Ambient temperature: the annual cosine of paper eq. 9, or a file (EPW, TMY or CSV, hourly)."""

    source: Literal["cosine", "file"] = "cosine"
    mean_degc: float = 12.0
    amplitude_degc: NonNegative = 12.0
    peak_hour: Annotated[float, Field(ge=0, le=8784)] = 4680.0
    path: str | None = None

    @model_validator(mode="after")
    def _path_given(self) -> "Weather":
        if (self.source == "file") != (self.path is not None):
            raise ValueError('source = "file" needs a path, and a path needs source = "file"')
        return self
