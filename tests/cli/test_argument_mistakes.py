"""Arguments that cannot be used, over the commands that draw jobs."""

import pytest

NLR = "nlr-colocation-10mw"
HOUR = ("--duration", "1h", "-o", "x.nc")


@pytest.mark.parametrize("value", ["0", "1", "1.2", "-0.1", "nan"])
@pytest.mark.parametrize(
    "command", [("simulate",), ("ensemble", "--members", "2"), ("calibrate", "occupancy")]
)
def test_utilization_outside_0_and_1(mistake, command: tuple[str, ...], value: str) -> None:
    output = () if command[0] == "calibrate" else ("-o", "x.nc")
    mistake(
        *(*command, NLR, "--utilization", value, "--duration", "1D", *output),
        words=(f"utilization = {value}", "must lie between 0 and 1"),
    )


@pytest.mark.parametrize("value", ["-1", "0", "nan", "inf"])
@pytest.mark.parametrize("command", ["simulate", "ensemble"])
def test_a_base_rate_that_is_none(mistake, command: str, value: str) -> None:
    words = (f"base_rate = {value}", "positive number of arrival events per minute")
    mistake(command, NLR, "--base-rate", value, *HOUR, words=words)


def test_a_base_rate_beyond_any_memory(mistake) -> None:
    mistake("simulate", NLR, "--base-rate", "1e12", *HOUR, words=("base_rate = 1e+12", "200 million at most"))


@pytest.mark.parametrize("seed", ["-1", "18446744073709551616"])
@pytest.mark.parametrize("command", ["simulate", "ensemble", "occupancy", "node"])
def test_a_seed_that_is_none(mistake, command: str, seed: str) -> None:
    arguments = {
        "simulate": ("simulate", NLR, "--base-rate", "1", *HOUR),
        "ensemble": ("ensemble", NLR, "--base-rate", "1", *HOUR),
        "occupancy": ("calibrate", "occupancy", NLR, "--utilization", "0.5", "--duration", "1D"),
        "node": ("node", NLR, "--duration", "1s", "-o", "x.nc"),
    }[command]
    mistake(*arguments, "--seed", seed, words=(f"seed = {seed}", "whole number from 0 to 2^64 - 1"))


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--duration", "0", ("duration = '0'", "365D")),
        ("--duration", "0D", ("duration = '0D'", "longer than zero")),
        ("--duration", "-1D", ("longer than zero",)),
        ("--duration", "a year", ("duration = 'a year'", "write it like 365D")),
        ("--duration", "90s", ("duration = '90s'", "whole number of minutes")),
        ("--duration", "1000000D", ("is not a span of time",)),
        ("--duration", "40000D", ("longer than 100 years", "ensemble")),
        ("--start", "2018-13-01", ("start = '2018-13-01'", "write it like 2018-07-04T12:00")),
        ("--start", "2018-01-01T00:00:30", ("whole minute",)),
        ("--start", "2018-01-01T00:00+02:00", ("time zone", "UTC")),
        ("--start", "0001-01-01", ("outside the years 1678 to 2261",)),
    ],
)
def test_times_that_cannot_be(mistake, option: str, value: str, words: tuple[str, ...]) -> None:
    mistake("simulate", NLR, "--base-rate", "1", option, value, "-o", "x.nc", words=words)


def test_a_run_beyond_the_last_label(mistake) -> None:
    arguments = (
        "simulate",
        NLR,
        "--base-rate",
        "1",
        "--start",
        "2261-12-31",
        "--duration",
        "3D",
        "-o",
        "x.nc",
    )
    mistake(*arguments, words=("leaves the years 1678 to 2261",))


@pytest.mark.parametrize("command", ["simulate", "ensemble"])
def test_two_sources_of_jobs_or_none(mistake, command: str) -> None:
    both = ("--utilization", "0.5", "--base-rate", "1")
    mistake(command, NLR, *both, *HOUR, words=("utilization and base_rate", "give one source of jobs"))
    mistake(command, NLR, *HOUR, words=("has no arrivals.base_rate", "utilization", "base_rate"))


def test_an_occupancy_out_of_reach(mistake) -> None:
    arguments = ("calibrate", "occupancy", NLR, "--utilization", "0.9999", "--duration", "1D")
    mistake(*arguments, words=("no base rate gives an occupancy of 0.9999", "nearest", "lower the target"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--members", "0"), ("members = 0", "1 or more")),
        (("--threads", "-1"), ("threads = -1", "1 or more")),
    ],
)
def test_ensembles_of_nobody(mistake, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    mistake("ensemble", NLR, "--base-rate", "1", *arguments, *HOUR, words=words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("simulate", NLR), "Missing option '--output'"),
        (("simulate", "-o", "x.nc"), "Missing argument"),
        (("simulate", NLR, "-o", "x.nc", "--bogus"), "No such option: --bogus"),
        (("simulate", NLR, "-o", "x.nc", "--seed", "1.5"), "Invalid value for '--seed'"),
        (("simulate", NLR, "-o", "x.nc", "--base-rate", "abc"), "Invalid value for '--base-rate'"),
        (("simulat",), "No such command 'simulat'"),
        (("calibrate", "bogus"), "No such command 'bogus'"),
    ],
)
def test_wrong_usage_is_status_2_too(hsmdc, arguments: tuple[str, ...], words: str) -> None:
    done = hsmdc(*arguments)
    assert done.status == 2
    assert words in done.err
    assert "Traceback" not in done.err
