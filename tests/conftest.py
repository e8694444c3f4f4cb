"""Shared fixtures. Tests never need the data beside the project: what they use is shipped or skipped visibly."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numba import config as numba_config

#: Public job logs and weather files that may not be shipped; HSMDC_TEST_DATA names another folder that holds them.
SHARED_DATA = Path(os.environ.get("HSMDC_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


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
        pytest.skip(f"no folder {SHARED_DATA} of real logs; HSMDC_TEST_DATA may name one")
    return SHARED_DATA
