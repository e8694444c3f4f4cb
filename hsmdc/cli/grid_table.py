"""What the grid feels of a resolved window, as a short table."""

from pathlib import Path


def check_grid_window(step: str, duration: str | None) -> None:
    """Refuse, before any work is done, a window too coarse or too short for grid oscillations."""
    from hsmdc.errors import InputError
    from hsmdc.timespan import parse_seconds
    from hsmdc.validation.grid import WINDOWS_S
    from hsmdc.validation.spectrum import GRID_BAND_HZ

    longest_s = 0.5 / GRID_BAND_HZ[1]
    if parse_seconds(step, "step") > longest_s:
        raise InputError(
            f"--metrics with --step {step}: oscillations up to {GRID_BAND_HZ[1]:g} Hz need a step of "
            f"{longest_s:g} s or less; shorten it or leave --metrics out"
        )
    if duration is not None and parse_seconds(duration) < max(WINDOWS_S):
        raise InputError(
            f"--metrics with --duration {duration}: needs {max(WINDOWS_S):g} s or more; "
            "lengthen it or leave --metrics out"
        )


def grid_table(path: Path) -> str:
    """Ramps, swing, dips, band energy and dominant period of a window's facility power.

    Raises
    ------
    InputError
        A window of less than a minute.
    """
    from hsmdc.traces import open_trace
    from hsmdc.validation.grid import grid_summary
    from hsmdc.validation.spectrum import GRID_BAND_HZ

    with open_trace(path) as window:
        found = grid_summary(window["facility_power"].values, float(window.attrs["step_s"]))
    lines = ["facility power as the grid feels it"]
    for horizon_s, tails in zip(found["horizon"].values, found["ramp_mw"].values, strict=True):
        low, high = (f"{tail:+.4f} MW" for tail in tails)
        lines.append(f"  ramp over {horizon_s:>4g} s            {low} (0.1 %)   {high} (99.9 %)")
    for window_s, swing_mw, dip in zip(
        found["window"].values, found["swing_mw"].values, found["dip_depth"].values, strict=True
    ):
        lines.append(
            f"  within {window_s:>4g} s, at most      swing (p99 - p1) {swing_mw:.4f} MW, "
            f"dip below the median {100 * dip:.1f} %"
        )
    energy_mw2 = float(found["band_energy_mw2"])
    lines.append(
        f"  {GRID_BAND_HZ[0]:g}-{GRID_BAND_HZ[1]:g} Hz                   "
        f"variance {energy_mw2:.3e} MW² ({energy_mw2**0.5:.4f} MW rms), "
        f"strongest at a period of {float(found['dominant_period_s']):.2f} s"
    )
    return "\n".join(lines)
