"""The report page: what it says, that it needs nothing outside itself, and that a browser draws all of it."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from hsmdc import report_parts, report_words
from hsmdc.config import load_config, to_toml
from hsmdc.errors import InputError
from hsmdc.report import Section, write_report
from hsmdc.validation import load_reference, score, validate

from .browser import Browser, available


@pytest.fixture(scope="module")
def nlr():
    return load_reference("nlr-colocation-10mw")


@pytest.fixture(scope="module")
def year(nlr) -> xr.Dataset:
    """A year of minutes with a cooling load, made from the reference's own hours."""
    power = np.repeat(nlr.series[0.6].values, 60)
    times = np.datetime64("2018-01-01", "ns") + np.arange(power.size) * np.timedelta64(60, "s")
    parts = {"it_power": power, "hvac_power": 0.1 * power, "chiller_power": 0.2 * power}
    parts["auxiliary_power"] = np.full(power.size, 0.5)
    parts["facility_power"] = sum(parts.values())
    attrs = {"utilization": 0.6034, "occupancy": 0.6034, "seed": "7", "title": "<made> & up"}
    attrs["config"] = to_toml(load_config("paper"))
    return xr.Dataset({name: ("time", values) for name, values in parts.items()}, {"time": times}, attrs)


@pytest.fixture(scope="module")
def page(nlr, year, tmp_path_factory) -> Path:
    member = score(year, nlr)
    return write_report(
        tmp_path_factory.mktemp("report") / "report.html",
        title="A year & its <gates>",
        scores=validate([member], nlr),
        members=[member],
        reference=nlr,
        trace=year,
        sections=[Section("Dispatch", ["Moved by <2 h>."], [("cost", "12 USD")], [(_figure(), "A line.")])],
        command="hsmdc validate year.nc",
    )


def _figure() -> Figure:
    figure = Figure(figsize=(3, 2))
    figure.subplots().plot([0, 1])
    return figure


def test_a_year_is_below_eight_megabytes(page):
    assert page.stat().st_size < 8_000_000


def test_nothing_is_fetched_from_outside(page):
    text = page.read_text(encoding="utf-8")
    sources = re.findall(r'(?:src|href)="([^"]{0,40})', text)
    assert sources
    assert all(source.startswith("data:") for source in sources)
    assert '<link rel="stylesheet"' not in text
    assert "@import" not in text
    assert "fetch(" not in text


def test_text_is_escaped(page):
    text = page.read_text(encoding="utf-8")
    assert "A year &amp; its &lt;gates&gt;" in text
    assert "Moved by &lt;2 h&gt;." in text
    assert "&lt;made&gt; &amp; up" in text


def test_the_summary_is_in_plain_words(page):
    text = page.read_text(encoding="utf-8")
    assert re.search(r"\d+ of \d+ gates pass; \d+ more could not be assessed\.", text)
    assert "no trace at utilization 0.2" in text
    assert "load factor" in text
    assert "hsmdc validate year.nc" in text


def test_the_summary_explains_itself(page):
    text = page.read_text(encoding="utf-8")
    assert "A gate is a limit, stated beforehand" in text
    assert re.search(r"Largest gap to the reference at any level: mean \d\.\d %", text)
    assert "itself a simulation, driven by measured node power" in text
    assert text.index("What could not be assessed:") < text.index("no trace at utilization 0.2")
    assert not re.search(r"needs \w+_\w+ at every level", text)  # words, not names of variables


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.37884, "2.3788"),
        (0.00751, "0.0075"),
        (82.5887, "82.589"),
        (-318.2, "−318.20"),
        (2529.0, "2529.0"),
        (593992.3, "593992"),
        (float("nan"), ""),
        (0.0, "0.0000"),
    ],
)
def test_numbers_of_a_table_show_five_figures(value, text):
    assert report_parts.number(value) == text


def test_the_page_is_not_overwritten_unasked(page, year):
    with pytest.raises(InputError, match="exists; pass force=True"):
        write_report(page, trace=year)


def test_an_empty_report_is_refused(tmp_path):
    with pytest.raises(InputError, match="nothing to report"):
        write_report(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_load_facts_by_hand():
    power = np.array([2.0, 4.0, 10.0, 4.0])
    times = np.datetime64("2018-01-01", "ns") + np.arange(4) * np.timedelta64(900, "s")
    trace = xr.Dataset({"it_power": ("time", power)}, {"time": times})
    facts = dict(report_words.load_facts(trace))
    assert facts["peak"] == "10.000 MW at 2018-01-01 00:30"
    assert facts["mean"] == "5.000 MW (5 MWh)"
    assert facts["load factor"] == "0.500"
    assert facts["largest change over 15 min"] == "+6.000 / -6.000 MW"
    assert "largest change over 1 min" not in facts
    assert "PUE, energy-weighted" not in facts


@pytest.mark.parametrize("minutes", [2, 60, 1440, 3 * 1440, 9 * 1440])
def test_a_short_trace_has_a_report_too(year, nlr, tmp_path, minutes):
    trace = year.isel(time=slice(0, minutes))
    member = score(trace, nlr)
    scores = validate([member], nlr)
    page = write_report(tmp_path / "r.html", scores=scores, members=[member], reference=nlr, trace=trace)
    text = page.read_text(encoding="utf-8")
    assert ("Not drawn: Daily range" in text) == (minutes <= 1440)
    assert ("Not drawn: Autocorrelation" in text) == (minutes <= 168 * 60)
    assert "Load-duration curves" in text


def payload(html: str) -> dict:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html)[1])


def test_the_zoomable_samples_are_exact_to_their_stated_step():
    rng = np.random.default_rng(1)
    power = rng.uniform(1.0, 9.0, 1000)
    power[[5, 77]] = np.nan
    times = np.datetime64("2020-02-29T12:00", "ns") + np.arange(1000) * np.timedelta64(100, "ms")
    data = payload(report_parts.zoomable(xr.Dataset({"it_power": ("time", power)}, {"time": times})))
    assert data["start_ms"] == 1582977600000
    assert data["step_s"] == pytest.approx(0.1)
    (series,) = data["series"]
    codes = np.frombuffer(base64.b64decode(series["data"]), dtype="<u2")
    again = np.where(codes == 65535, np.nan, series["low"] + series["scale"] * codes)
    np.testing.assert_allclose(again, power, atol=8.0 / 65534)


def test_a_constant_trace_can_be_drawn():
    times = np.datetime64("2020-01-01", "ns") + np.arange(10) * np.timedelta64(60, "s")
    data = payload(
        report_parts.zoomable(xr.Dataset({"it_power": ("time", np.full(10, 3.0))}, {"time": times}))
    )
    assert data["series"][0]["low"] == 3.0


def test_a_long_trace_is_averaged_and_says_so(monkeypatch):
    monkeypatch.setattr(report_parts, "MOST_SAMPLES", 100)
    times = np.datetime64("2020-01-01", "ns") + np.arange(250) * np.timedelta64(60, "s")
    html = report_parts.zoomable(xr.Dataset({"it_power": ("time", np.arange(250.0))}, {"time": times}))
    data = payload(html)
    assert (data["count"], data["step_s"]) == (83, 180.0)
    assert "means over 180 s" in html


@pytest.fixture(scope="module")
def browser(page, tmp_path_factory):
    if not available():
        pytest.skip("no chromium and chromedriver on PATH")
    with Browser(tmp_path_factory.mktemp("profile")) as window:
        window.open(page)
        yield window


def test_a_browser_shows_it_without_an_error(browser):
    assert browser.run("return document.documentElement.dataset.ready") == "true"
    assert browser.console() == []


def test_a_browser_draws_every_figure(browser):
    widths = browser.run("return [...document.images].map(image => image.naturalWidth)")
    assert len(widths) == 10
    assert all(width > 100 for width in widths)


COLOURS = """
const drawn = document.querySelector('.zoom canvas');
const canvas = Object.assign(document.createElement('canvas'), {width: drawn.width, height: drawn.height});
const copy = canvas.getContext('2d', {willReadFrequently: true});
copy.drawImage(drawn, 0, 0);
const pixels = copy.getImageData(0, 0, canvas.width, canvas.height).data;
let blue = 0, orange = 0;
for (let i = 0; i < pixels.length; i += 4) {
  if (pixels[i] < 40 && pixels[i + 2] > 150) blue++;
  if (pixels[i] > 200 && pixels[i + 1] > 120 && pixels[i + 1] < 190 && pixels[i + 2] < 40) orange++;
}
return [blue, orange];
"""


def test_the_zoomable_year_is_drawn_and_zooms(browser):
    whole = browser.run(COLOURS)
    assert min(whole) > 1000
    browser.run("document.querySelector('.zoom').scrollIntoView()")
    browser.drag(".zoom canvas", -100, -60)
    near = browser.run(COLOURS)
    assert min(near) > 200
    assert near != whole
    browser.run("document.querySelector('.zoom button').click()")
    assert browser.run(COLOURS) == whole
    assert browser.console() == []


def test_a_series_can_be_switched_off(browser):
    browser.run("document.querySelector('.zoom .legend input').click()")
    blue, orange = browser.run(COLOURS)
    browser.run("document.querySelector('.zoom .legend input').click()")
    assert blue == 0
    assert orange > 1000


def test_the_page_prints(browser):
    document = browser.pdf()
    assert document.startswith(b"%PDF")
    assert browser.console() == []


def test_a_sub_second_trace_says_what_the_grid_feels():
    t = 0.1 * np.arange(1200)
    times = np.datetime64("2018-01-01", "ns") + np.arange(1200) * np.timedelta64(100, "ms")
    power = 5.0 + 0.5 * np.sin(2 * np.pi * t)
    facts = dict(report_words.load_facts(xr.Dataset({"it_power": ("time", power)}, {"time": times})))
    assert facts["oscillation, 0.1 to 2.5 Hz"].endswith("MW RMS, period 1.00 s")
    assert facts["oscillation, 0.1 to 2.5 Hz"].startswith("0.35")
    assert "MW in 0.1 s" in facts["changes exceeded 0.1 % of the time"]
    assert facts["deepest dip within 10 s"].startswith("9.")
