"""The shipped measurement of node power and the sensor a model is seen through."""

import numpy as np
import pytest

from hsmdc.validation.node_power import measured_node_power, sensor_density


def test_the_measured_histogram_is_a_density_with_the_known_plateaus():
    measured = measured_node_power()
    width = np.diff(measured.edges)
    centres = measured.edges[:-1] + width / 2
    assert np.sum(measured.density * width) == pytest.approx(1.0)
    assert np.sum(measured.density * width * centres) == pytest.approx(0.766, abs=0.005)
    # Plateaus of the job as published: 2387 and 3006 W of 3520 W.
    low, high = centres < 0.75, centres >= 0.75
    assert centres[low][np.argmax(measured.density[low])] == pytest.approx(2387 / 3520, abs=0.015)
    assert centres[high][np.argmax(measured.density[high])] == pytest.approx(3006 / 3520, abs=0.015)


def test_the_sensor_fills_dips_shorter_than_its_window():
    power = np.full(1000, 3520.0)
    power[::20] = 0.0  # one tenth of a second in every two seconds
    edges = np.linspace(0.0, 1.05, 22)
    seen = sensor_density(power, 0.1, 3520.0, edges)
    assert seen[edges[:-1] < 0.85].sum() == 0.0
    assert np.sum(seen * np.diff(edges)) == pytest.approx(1.0)


def test_data_at_the_sensors_own_step_are_left_alone():
    edges = np.linspace(0.0, 1.0, 11)
    seen = sensor_density([1760.0, 3200.0], 2.0, 3520.0, edges)
    assert np.flatnonzero(seen).tolist() == [5, 9]
