"""The minutes of a run: where it starts, how long it is, and what is simulated before it and thrown away."""

from typing import NamedTuple

import numpy as np

from hsmdc.config import Config
from hsmdc.errors import InputError
from hsmdc.timespan import Duration, Instant, parse_instant, parse_minutes

DEFAULT_START = "2018-01-01"
DEFAULT_DURATION = "365D"

_MINUTES_PER_DAY = 1440
_LONGEST_MIN = 100 * 366 * _MINUTES_PER_DAY  # 9 series of 8 bytes: 4 GB
# Labels are nanoseconds since 1970 in 64 bits: whole years that they can name.
_EARLIEST = np.datetime64("1678-01-01T00:00", "m")
_LATEST = np.datetime64("2262-01-01T00:00", "m")


class Span(NamedTuple):
    """The minutes simulated: `spin_up` of them come before `start` and are thrown away."""

    start: np.datetime64
    minutes: int
    spin_up: int

    @property
    def first(self) -> np.datetime64:
        """The first simulated minute, spin-up included, UTC."""
        return self.start - np.timedelta64(self.spin_up, "m")

    @property
    def total(self) -> int:
        """Minutes simulated, spin-up included."""
        return self.minutes + self.spin_up


def generated_span(config: Config, start: Instant | None = None, duration: Duration | None = None) -> Span:
    """The minutes of a generated run, with the configuration's spin-up before them.

    Raises
    ------
    InputError
    """
    first = parse_instant(start if start is not None else DEFAULT_START)
    minutes = parse_minutes(duration if duration is not None else DEFAULT_DURATION)
    return checked_span(first, minutes, round(config.scheduler.spin_up_days * _MINUTES_PER_DAY))


def checked_span(first: np.datetime64, minutes: int, spin_up: int = 0) -> Span:
    """A span on whole minutes, of a length and in years that a trace can hold.

    Raises
    ------
    InputError
    """
    if first != first.astype("datetime64[m]"):
        raise InputError(f"start = {first} must fall on a whole minute, the step of a facility run")
    span = Span(first.astype("datetime64[m]"), minutes, spin_up)
    if span.total > _LONGEST_MIN:
        raise InputError(
            f"a run of {minutes} minutes is longer than 100 years; shorten it, or ask an ensemble for many years"
        )
    if span.first < _EARLIEST or span.start + np.timedelta64(minutes, "m") > _LATEST:
        raise InputError(
            f"a run of {minutes} minutes from {span.start} leaves the years 1678 to 2261, which a trace's labels "
            "can name; shorten it or start elsewhere"
        )
    return span
