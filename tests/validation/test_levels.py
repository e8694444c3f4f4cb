"""Agreement across utilisations, by hand."""

import numpy as np
import pytest

from hsmdc.errors import InputError
from hsmdc.validation import metrics


def test_r_squared_by_hand():
    assert metrics.r_squared([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == 1.0
    assert metrics.r_squared([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]) == pytest.approx(0.5)
    assert metrics.r_squared([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]) == pytest.approx(-3.0)


@pytest.mark.parametrize(
    ("reference", "model", "message"),
    [
        ([1.0], [1.0], "two or more"),
        ([1.0, 1.0], [1.0, 2.0], "same value"),
        ([1.0, np.nan], [1.0, 2.0], "every level"),
    ],
)
def test_r_squared_refuses_what_has_none(reference, model, message):
    with pytest.raises(InputError, match=message):
        metrics.r_squared(reference, model)


def test_the_trend_is_read_in_the_order_of_the_levels():
    assert metrics.steepest_rise([0.8, 0.2, 0.4], [1.2, 2.5, 2.0]) == pytest.approx(-0.5)
    assert metrics.steepest_rise([0.2, 0.4, 0.8], [2.5, 2.0, 2.1]) == pytest.approx(0.1)
    with pytest.raises(InputError, match="two levels"):
        metrics.steepest_rise([0.2], [1.0])
