"""Power against frequency: spectral density, energy in a band, dominant period, distance of spectra.

Densities are one-sided Welch estimates (Hann window, half overlap, mean removed) in MW²/Hz. A spectrum
needs a series without gaps: fill or cut it first.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import signal

from hsmdc.errors import InputError

from .series import Floats, Integers

# Where forced oscillations of loads meet the inter-area and local modes of the grid.
GRID_BAND_HZ = (0.1, 2.5)


class Spectrum(NamedTuple):
    """One-sided spectral density.

    Attributes
    ----------
    frequency_hz : ndarray, shape (f,)
    density : ndarray, shape (..., f)
        [MW²/Hz]
    """

    frequency_hz: Floats
    density: Floats


def spectral_density(values: ArrayLike, step_s: float, segment_s: float | None = None) -> Spectrum:
    """Welch's estimate of the spectral density.

    Parameters
    ----------
    values : array, shape (..., n)
        Power [MW].
    step_s : float
        Step [s].
    segment_s : float, optional
        Length of a segment [s]; an eighth of the series if not given. Its inverse is the resolution.

    Raises
    ------
    InputError
        A sample is missing, or the series is shorter than eight samples or one segment.
    """
    x = np.asarray(values, dtype=np.float64)
    n = x.shape[-1]
    if np.isnan(x).any():
        raise InputError("a spectrum needs a series without gaps; fill or cut the missing samples first")
    samples = n // 8 if segment_s is None else round(segment_s / step_s)
    if not 8 <= max(samples, 8) <= n:
        raise InputError(f"a spectrum of segments of {samples} samples needs more than the {n} there are")
    frequency, density = signal.welch(
        x, fs=1.0 / step_s, nperseg=max(samples, 8), detrend="constant", axis=-1
    )
    return Spectrum(np.asarray(frequency), np.asarray(density))


def band_energy(spectrum: Spectrum, band_hz: tuple[float, float] = GRID_BAND_HZ) -> Floats:
    """Variance of power within a frequency band, in MW² (density summed over its frequencies).

    Raises
    ------
    InputError
        The spectrum has no frequency in the band: too coarse a step or too short a segment.
    """
    inside = _inside(spectrum, band_hz)
    resolution_hz = spectrum.frequency_hz[1] - spectrum.frequency_hz[0]
    return np.asarray(spectrum.density[..., inside].sum(axis=-1) * resolution_hz)


def dominant_period(spectrum: Spectrum, band_hz: tuple[float, float] = GRID_BAND_HZ) -> Floats:
    """Period of the strongest frequency within a band [s]."""
    inside = _inside(spectrum, band_hz)
    peak = np.argmax(spectrum.density[..., inside], axis=-1)
    return np.asarray(1.0 / spectrum.frequency_hz[inside][peak])


def _inside(spectrum: Spectrum, band_hz: tuple[float, float]) -> Integers:
    low, high = band_hz
    inside = (spectrum.frequency_hz >= low) & (spectrum.frequency_hz <= high) & (spectrum.frequency_hz > 0)
    if not inside.any():
        raise InputError(
            f"no frequency between {low:g} and {high:g} Hz: the spectrum runs to "
            f"{spectrum.frequency_hz[-1]:g} Hz in steps of {spectrum.frequency_hz[1]:g} Hz"
        )
    return np.flatnonzero(inside).astype(np.int64)


def spectrum_distance(first: Spectrum, second: Spectrum, bands: int = 30) -> Floats:
    """RMS difference in dB over frequency bands of equal logarithmic width.

    Bands keep the many high frequencies from drowning the few low ones; a band without a frequency is
    left out.

    Raises
    ------
    InputError
        The frequencies differ (use one step and one segment length for both), or one spectrum is zero.
    """
    f = first.frequency_hz
    if f.shape != second.frequency_hz.shape or not np.allclose(f, second.frequency_hz, rtol=1e-9):
        raise InputError("two spectra on different frequencies cannot be compared; use one step and segment")
    edges = np.geomspace(f[1], f[-1] * (1.0 + 1e-12), bands + 1)
    which = np.digitize(f[1:], edges)
    groups = [np.flatnonzero(which == band).astype(np.int64) + 1 for band in range(1, bands + 2)]
    levels_a = _band_levels(first.density, groups)
    levels_b = _band_levels(second.density, groups)
    return np.asarray(np.sqrt(np.mean((levels_a - levels_b) ** 2, axis=-1)))


def _band_levels(density: Floats, groups: list[Integers]) -> Floats:
    means = [density[..., group].mean(axis=-1) for group in groups if group.size]
    power = np.stack(means, axis=-1)
    if (power <= 0.0).any():
        raise InputError("the spectrum of a constant series is zero and has no level in dB")
    return np.asarray(10.0 * np.log10(power))
