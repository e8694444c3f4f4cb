"""Configurations that cannot be used: one line that names file, key and value, and says what is allowed."""

from pathlib import Path

import pytest

FACTORS = ", ".join(["-1.0"] * 168)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[site]\nndoes = 3", ("site.toml: unknown key 'site.ndoes'", "did you mean 'nodes'?")),
        ("[arivals]\nbase_rate = 1.0", ("unknown key 'arivals'", "did you mean 'arrivals'?")),
        ("[jobs.duration]\nmedain_h = 1.0", ("'jobs.duration.medain_h'", "did you mean 'median_h'?")),
        ("[arrivals]\nbase_rate = -1.0", ("arrivals.base_rate = -1.0", "greater than 0")),
        ("[arrivals]\nbase_rate = nan", ("arrivals.base_rate = nan", "finite")),
        ("[site]\nidle_w = inf", ("site.idle_w = inf", "finite")),
        (
            '[arrivals.batch]\nlaw = "empirical"\npmf = [0.5, 0.4]',
            ("arrivals.batch.pmf", "sum to 0.9", "must sum to 1"),
        ),
        (
            '[jobs.nodes]\nlaw = "empirical"\nsizes = [1, 2]\npmf = [0.7, 0.7]',
            ("jobs.nodes.pmf", "sum to 1.4", "must sum to 1"),
        ),
        ('[jobs.nodes]\nlaw = "zipf"', ("jobs.nodes", "'zipf'", "'exponential', 'empirical'")),
        ("[arrivals]\nhour_of_day = [1.0, 2.0]", ("arrivals.hour_of_day has 2 entries", "needs 24")),
        (f"[arrivals]\nhour_of_week = [{FACTORS}]", ("arrivals.hour_of_week.0 = -1.0", " more")),
        ("[site]\nidle_w = 3000.0", ("site: node powers must rise: idle_w < busy_w", "3000")),
        ("[site]\nnodes = 0", ("site.nodes = 0", "greater than or equal to 1")),
        ("site = 3", ("site = 3",)),
        ("[site", ("site.toml: not valid TOML",)),
    ],
)
def test_a_wrong_key_or_value(mistake, site, text: str, words: tuple[str, ...]) -> None:
    mistake("check", site(text), words=("site.toml", *words))


@pytest.mark.parametrize("content", [bytes(range(256)), "name = 'café'".encode("latin-1")])
def test_what_is_no_utf_8_text(mistake, content: bytes) -> None:
    Path("site.toml").write_bytes(content)
    mistake("check", "site.toml", words=("site.toml: not text in UTF-8", "at byte"))


def test_a_folder(mistake) -> None:
    Path("site").mkdir()
    mistake("check", "site", words=("site is a folder", "give the configuration file"))


def test_a_name_that_is_neither_preset_nor_file(mistake) -> None:
    mistake(
        "check", "nlr-colocation", words=("did you mean 'nlr-colocation-10mw'?", "presets: liquid-cooled")
    )


def test_an_empty_file_says_what_is_missing(mistake) -> None:
    Path("site.toml").touch()
    mistake("check", "site.toml", words=("key 'site' is missing", "key 'jobs' is missing"))


def test_a_base_that_is_absent_or_leads_back(mistake) -> None:
    Path("site.toml").write_text('base = "nope"')
    mistake("check", "site.toml", words=("site.toml: base: no preset or file 'nope'",))
    Path("site.toml").write_text('base = "site.toml"')
    mistake("check", "site.toml", words=("leads back to itself; break the circle",))


def test_jobs_wider_than_the_cluster_by_configuration(mistake, site) -> None:
    narrow = site("[site]\nnodes = 100\nrated_mw = 1.0")
    mistake(
        *("simulate", narrow, "--base-rate", "1", "--duration", "1h", "-o", "x.nc"),
        words=(
            "jobs of 256 nodes can never run on 100 nodes",
            "lower jobs.nodes.largest or raise site.nodes",
        ),
    )
    assert not Path("x.nc").exists()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (None, ("cannot read weather file hours.csv",)),
        (["10"] * 100, ("hours.csv: 100 rows", "8760, or 8784")),
        (["10"] * 8759 + ["nan"], ("hours.csv, line 8761", "missing or out of range")),
    ],
)
def test_weather_that_cannot_be_used(mistake, site, rows: list[str] | None, words: tuple[str, ...]) -> None:
    if rows is not None:
        Path("hours.csv").write_text("\n".join(["temperature_degc", *rows, ""]))
    name = site('[weather]\nsource = "file"\npath = "hours.csv"')
    mistake("simulate", name, "--base-rate", "1", "--duration", "1h", "-o", "x.nc", words=words)


def test_a_leap_year_with_8760_hours_of_weather_runs_and_says_the_rule(hsmdc, site) -> None:
    import hsmdc as package

    Path("hours.csv").write_text("\n".join(["temperature_degc", *(f"{h % 24}" for h in range(8760)), ""]))
    name = site('[weather]\nsource = "file"\npath = "hours.csv"')
    arguments = ("--base-rate", "1", "--start", "2028-02-28", "--duration", "3D", "-o", "leap.nc")
    assert hsmdc("simulate", name, *arguments).status == 0
    with package.open_trace("leap.nc") as trace:
        assert "29 February" in trace.attrs["weather"]
        days = trace["ambient_temperature"].values.reshape(3, -1)
    assert (days[1] == days[0]).all(), "29 February repeats the day before"
