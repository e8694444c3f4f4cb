"""Agreement across utilisation levels, where one number per level is compared."""

import numpy as np
from numpy.typing import ArrayLike

from hsmdc.errors import InputError


def r_squared(reference: ArrayLike, model: ArrayLike) -> float:
    """Coefficient of determination of the model's values against the reference's, across levels.

    1 − Σ(model − reference)² / Σ(reference − mean)²: 1 when every level agrees, negative when the
    reference's own mean would serve better.

    Raises
    ------
    InputError
        Fewer than two levels, a missing value, or a reference that does not vary.
    """
    y = np.asarray(reference, dtype=np.float64)
    f = np.asarray(model, dtype=np.float64)
    if y.shape != f.shape or y.size < 2:
        raise InputError("R² across levels needs the same two or more levels on both sides")
    if np.isnan(y).any() or np.isnan(f).any():
        raise InputError("R² across levels needs a value at every level")
    spread = float(((y - y.mean()) ** 2).sum())
    if spread == 0.0:
        raise InputError("R² is not defined: the reference has the same value at every level")
    return 1.0 - float(((f - y) ** 2).sum()) / spread


def steepest_rise(utilization: ArrayLike, values: ArrayLike) -> float:
    """Largest change from one level to the next higher one; negative when the values fall throughout.

    Raises
    ------
    InputError
        Fewer than two levels.
    """
    level = np.asarray(utilization, dtype=np.float64)
    ordered = np.asarray(values, dtype=np.float64)[np.argsort(level)]
    if ordered.size < 2:
        raise InputError("a trend across levels needs at least two levels")
    return float(np.diff(ordered).max())
