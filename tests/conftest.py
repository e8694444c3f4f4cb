"""Shared fixtures. Tests never need the data beside the project: what they use is shipped or skipped visibly."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numba import config as numba_config

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def _wrapping_integers() -> Iterator[None]:
    """Keyed random numbers wrap modulo 2^64 by design; interpreted, NumPy warns of it."""
    if numba_config.DISABLE_JIT:
        with np.errstate(over="ignore"):
            yield
    else:
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real logs and traces that may not be shipped with the product."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real data folder ../shared/data is absent")
    return SHARED_DATA
