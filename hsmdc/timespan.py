"""Instants and spans as users write them: "2018-07-04T12:00", "365D", "1h", "100ms"."""

import re

import numpy as np
import pandas as pd

from hsmdc.errors import InputError

_BARE = re.compile(r"\s*[+-]?[\d.]+\s*")
_MINUTE_NS = 60_000_000_000

Instant = str | np.datetime64 | pd.Timestamp
Duration = str | np.timedelta64 | pd.Timedelta


def parse_instant(value: Instant, name: str = "start") -> np.datetime64:
    """An instant as datetime64[ns], UTC without a zone.

    Raises
    ------
    InputError
        Not a date and time, or one that carries a time zone.
    """
    try:
        stamp = pd.Timestamp(value)
    except (ValueError, TypeError):
        stamp = None
    if stamp is None or pd.isna(stamp):
        raise InputError(f"{name} = {value!r} is not a date and time; write it like 2018-07-04T12:00")
    if stamp.tzinfo is not None:
        raise InputError(
            f"{name} = {value!r} has a time zone; traces are in UTC without one: give UTC, drop it"
        )
    try:
        return np.datetime64(stamp.as_unit("ns").asm8)
    except pd.errors.OutOfBoundsDatetime:
        raise InputError(f"{name} = {value!r} lies outside the years 1678 to 2261") from None


def parse_nanoseconds(value: Duration, name: str = "duration") -> int:
    """A positive span in whole nanoseconds.

    Raises
    ------
    InputError
        Not a span (a number without a unit is none: pandas would take it for nanoseconds), or not positive.
    """
    try:
        if isinstance(value, (int, float)) or (isinstance(value, str) and _BARE.fullmatch(value)):
            raise ValueError
        span = pd.Timedelta(value).as_unit("ns")
    except (ValueError, TypeError):
        span = None
    if span is None or pd.isna(span):
        raise InputError(f"{name} = {value!r} is not a span of time; write it like 365D, 1h, 10min or 100ms")
    if span <= pd.Timedelta(0):
        raise InputError(f"{name} = {value!r} must be longer than zero")
    return int(span.value)


def parse_seconds(value: Duration, name: str = "duration") -> float:
    """A positive span in seconds; raises as `parse_nanoseconds`."""
    return parse_nanoseconds(value, name) / 1e9


def parse_minutes(value: Duration, name: str = "duration") -> int:
    """A span of whole minutes.

    Raises
    ------
    InputError
        Not a span, or not whole minutes.
    """
    minutes, rest = divmod(parse_nanoseconds(value, name), _MINUTE_NS)
    if rest:
        raise InputError(f"{name} = {value!r} is not a whole number of minutes, the step of a facility run")
    return minutes
