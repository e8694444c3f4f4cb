"""Master seeds: what is one."""

import numpy as np

from hsmdc.errors import InputError


def check_seed(seed: int) -> None:
    """Refuse what is no master seed.

    Raises
    ------
    InputError
        Not a whole number from 0 to 2^64 - 1.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**64:
        raise InputError(f"seed = {seed!r} must be a whole number from 0 to 2^64 - 1")
