"""Gates: limits stated beforehand, in a TOML file, that turn scores into verdicts."""

import math
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from hsmdc.errors import ConfigError, InputError

from .catalogue import SCORES

Kind = Literal["absolute", "relative", "at_most", "at_least", "share_of_mean"]

_ROUNDING = 1e-12
"""Share of the numbers compared that counts as their rounding error."""


class Gate(BaseModel):
    """One limit on one score, at some or all levels.

    Attributes
    ----------
    metric : str
        Name of a score (`catalogue.SCORES`).
    kind : str
        absolute: |value − reference| ≤ limit; relative: |value / reference − 1| ≤ limit; at_most: value ≤ limit;
        at_least: value ≥ limit; share_of_mean: value ≤ limit × mean load of the reference.
    limit : float
    utilization : tuple of float, optional
        Levels it applies to; all if not given.
    fitted : tuple of float, optional
        Levels whose reference value the calibration has used: agreement there shows a good fit, not a
        prediction. Left out when it is not known.
    paper : dict
        What the HSM-DC paper's model reached, by level ("0.2", or "all"), for the table.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str
    kind: Kind
    limit: float = Field(allow_inf_nan=False)
    utilization: tuple[float, ...] | None = None
    fitted: tuple[float, ...] | None = None
    paper: dict[str, str] = Field(default_factory=dict)

    @field_validator("metric")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in SCORES:
            raise ValueError(f"unknown score '{name}'; known: {', '.join(SCORES)}")
        return name

    @model_validator(mode="after")
    def _meaningful(self) -> Self:
        group = SCORES[self.metric].group
        if self.compares and group not in ("table", "queue"):
            raise ValueError(f"'{self.metric}' has no value in a reference; use at_most or at_least")
        if self.limit < 0.0 and self.kind not in ("at_most", "at_least"):
            raise ValueError(f"limit = {self.limit:g} must not be negative")
        if group == "levels" and self.utilization is not None:
            raise ValueError(f"'{self.metric}' is taken across all levels; leave utilization out")
        return self

    @property
    def compares(self) -> bool:
        """Whether the score is compared with the reference's value of the same name."""
        return self.kind in ("absolute", "relative")

    def applies(self, utilization: float) -> bool:
        """Whether the gate asks anything at this level."""
        return self.utilization is None or _among(utilization, self.utilization)

    def overlaps(self, other: Self) -> bool:
        """Whether some level falls under both gates."""
        if self.utilization is None or other.utilization is None:
            return True
        return any(_among(level, other.utilization) for level in self.utilization)

    def role(self, utilization: float) -> str:
        """'fitted' where the calibration has used the reference's value, else 'held_out'; 'mixed' across levels.

        Empty when the gate does not say.
        """
        if self.fitted is None:
            return ""
        if math.isnan(utilization) and self.fitted:
            return "mixed"
        return "fitted" if _among(utilization, self.fitted) else "held_out"

    def paper_figure(self, utilization: float) -> str:
        """The paper's own figure at this level, empty when it gives none."""
        return self.paper.get(f"{utilization:g}", self.paper.get("all", ""))

    def holds(self, value: float, reference: float, mean_mw: float) -> bool:
        """Whether the score meets the limit; a value on the limit does, whatever the last bit of it says."""
        sizes = (value, reference, mean_mw, self.limit)
        rounding = _ROUNDING * max(abs(size) for size in sizes if math.isfinite(size))
        if self.kind == "at_most":
            return value <= self.limit + rounding
        if self.kind == "at_least":
            return value >= self.limit - rounding
        if self.kind == "share_of_mean":
            return value <= self.limit * mean_mw + rounding
        scale = 1.0 if self.kind == "absolute" else abs(reference)
        return abs(value - reference) <= self.limit * scale + rounding

    @property
    def words(self) -> str:
        """The limit as a reader wants it: '± 1 %', '≤ 0.025'."""
        return {
            "absolute": f"± {self.limit:g}",
            "relative": f"± {100 * self.limit:g} %",
            "at_most": f"≤ {self.limit:g}",
            "at_least": f"≥ {self.limit:g}",
            "share_of_mean": f"≤ {100 * self.limit:g} % of mean",
        }[self.kind]


def _among(utilization: float, levels: tuple[float, ...]) -> bool:
    return any(math.isclose(utilization, level, abs_tol=1e-6) for level in levels)


class Gates(BaseModel):
    """A named set of gates."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    gate: tuple[Gate, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_gate_per_score(self) -> Self:
        for index, gate in enumerate(self.gate):
            for other in self.gate[:index]:
                if gate.metric == other.metric and gate.overlaps(other):
                    raise ValueError(f"two gates on '{gate.metric}' at the same level; keep one")
        return self

    def check_levels(self, levels: tuple[float, ...], reference: str) -> None:
        """Refuse a gate that names a level the reference has not.

        Raises
        ------
        InputError
        """
        for gate in self.gate:
            absent = [u for u in gate.utilization or () if not _among(u, levels)]
            if absent:
                known = ", ".join(f"{level:g}" for level in levels)
                raise InputError(
                    f"gates {self.name}: the gate on {gate.metric} names utilization {absent[0]:g}, but "
                    f"{reference} has {known}"
                )

    def find(self, metric: str, utilization: float) -> Gate | None:
        """The gate on this score at this level, if there is one."""
        return next((g for g in self.gate if g.metric == metric and g.applies(utilization)), None)


def shipped_gates() -> list[str]:
    """Names of the gates that come with the package."""
    folder = files("hsmdc.validation") / "gates"
    return sorted(
        entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")
    )


def load_gates(source: str | Path) -> Gates:
    """Read gates by the name of a shipped set or the path of a TOML file.

    Raises
    ------
    InputError
        No such set and no such file.
    ConfigError
        The file is no TOML, or breaks the schema.
    """
    shipped = files("hsmdc.validation") / "gates" / f"{source}.toml"
    path = Path(source)
    if str(source) in shipped_gates():
        text = shipped.read_text(encoding="utf-8")
    elif path.is_file():
        text = _text_of(path)
    else:
        raise InputError(
            f"no gates '{source}': give the path of a TOML file or one of {', '.join(shipped_gates())}"
        )
    return _parse(text, str(source))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"gates {path}: not text in UTF-8 (at byte {error.start}); gates are a TOML file"
        ) from None


def _parse(text: str, source: str) -> Gates:
    try:
        return Gates.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"gates {source}: not valid TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"gates {source}: {where}: {first['msg']} (given: {first['input']!r})") from error
