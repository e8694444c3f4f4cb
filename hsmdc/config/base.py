"""The rules every configuration section obeys: frozen, strict keys, finite numbers."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A frozen section with strict keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, str_strip_whitespace=True, validate_default=True
    )


Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
PositiveInt = Annotated[int, Field(ge=1)]

PMF_TOLERANCE = 1e-9


def _sums_to_one(pmf: tuple[float, ...]) -> tuple[float, ...]:
    total = sum(pmf)
    if abs(total - 1.0) > PMF_TOLERANCE:
        raise ValueError(f"the probabilities sum to {total:.12g}; they must sum to 1 (± {PMF_TOLERANCE:g})")
    return pmf


def _some_mass(factors: tuple[float, ...]) -> tuple[float, ...]:
    if sum(factors) <= 0:
        raise ValueError("all factors are zero; at least one must be positive")
    return factors


Pmf = Annotated[tuple[NonNegative, ...], Field(min_length=1), AfterValidator(_sums_to_one)]


def factors(length: int) -> object:
    """The type of a periodic factor with `length` entries; its mean is normalised to one when used."""
    return Annotated[
        tuple[NonNegative, ...], Field(min_length=length, max_length=length), AfterValidator(_some_mass)
    ]
