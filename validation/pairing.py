"""Which hours of a trace stand beside which hours of the reference.

Where both have the same time, only that time is compared, on the labels of the reference. Where they share none
(another year), the two are compared as laws, each over its own period.
"""

from typing import NamedTuple

import numpy as np

from hsmdc.errors import InputError

from .references import Reference
from .series import Series, as_series, averaged, common, step_words

SHORTEST_SHARE = 0.9
"""A trace shorter than this share of the reference's period says little of statistics over the whole of it."""

_DAY_S = 86400.0


class Pair(NamedTuple):
    """A trace beside the series of its reference, both at the reference's step.

    Attributes
    ----------
    ours, theirs : Series
        On the same labels when `shared`, a sample missing on one side missing on both.
    shared : bool
    """

    ours: Series
    theirs: Series
    shared: bool

    @property
    def words(self) -> str:
        """What is compared: the days and the number of steps that both have."""
        if not self.shared:
            return f"the trace and the reference share no time: {_span(self.ours)} and {_span(self.theirs)}"
        steps = int((~np.isnan(self.ours.values)).sum())
        return f"{_span(self.ours)}, {steps} steps of {step_words(self.ours.step_s)}"


def pair_with(power: Series, reference: Reference, level: float) -> Pair:
    """Put a trace beside the reference's series.

    Raises
    ------
    InputError
        The reference has no series at this level, the trace is too coarse for it, or both have the same time but
        no sample of it.
    """
    target = reference.series_at(level)
    if target is None:
        raise InputError(f"the reference has no series at utilization {level:g}")
    theirs = as_series(target, f"reference {reference.name}")
    ours = averaged(power, theirs.step_s, theirs.start)
    both = common(ours, theirs)
    if both is None:
        return Pair(ours, theirs, shared=False)
    missing = np.isnan(both[0].values) | np.isnan(both[1].values)
    if missing.all():
        raise InputError("the trace and the reference have no sample at the same time")
    ours, theirs = (one._replace(values=np.where(missing, np.nan, one.values)) for one in both)
    return Pair(ours, theirs, shared=True)


def too_short(power: Series, reference: Reference) -> str:
    """Why statistics over the reference's whole period cannot be asked of a trace; empty when they can."""
    days = power.values.shape[-1] * power.step_s / _DAY_S
    if days >= SHORTEST_SHARE * reference.days:
        return ""
    return f"the trace covers {days:.3g} days, the reference's statistics {reference.days}"


def _span(series: Series) -> str:
    first, last = series.times[[0, -1]].astype("datetime64[D]")
    return f"{first} to {last}"
