"""Loading a case: shipped by name or a TOML file, from another case by `base`, profiles inline or from a file."""

import tomllib
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Any

from hsmdc.config import validate_tree
from hsmdc.dispatch.case import Case, Horizon, Site, build_case, merge
from hsmdc.dispatch.profiles import ProfileFile, read_profiles
from hsmdc.errors import ConfigError


def preset_names() -> list[str]:
    """Names of the shipped cases."""
    folder = resources.files("hsmdc.dispatch") / "cases"
    return sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml"))


def _case_file(source: str | Path) -> Path:
    path = Path(source)
    if path.suffix == ".toml":
        if not path.is_file():
            raise ConfigError(f"case file {path} does not exist; shipped cases: {', '.join(preset_names())}")
        return path
    shipped = Path(str(resources.files("hsmdc.dispatch") / "cases" / f"{source}.toml"))
    if not shipped.is_file():
        raise ConfigError(
            f"no shipped case is named {str(source)!r}; there are: {', '.join(preset_names())}. "
            "Give a path that ends in .toml for a case of your own"
        )
    return shipped


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"case file {path} is not valid TOML: {error}") from None


def load_case(source: str | Path, *, day: date | str | None = None) -> Case:
    """Load a shipped case by name, or a case file by its path.

    A file may start from another case by `base = "name or path"` and give only the keys that differ. Its
    `[profiles]` may hold one value per slot, or name a CSV or netCDF `file` (see `profiles.py`).

    Parameters
    ----------
    source
        Name of a shipped case, such as `"aidc-2048"`, or a path that ends in `.toml`.
    day
        First day to read from the profile file, in place of the one the case names.

    Raises
    ------
    ConfigError
        If the file is missing or a key breaks a rule; the message names the key.
    InputError
        If a profile file cannot be used; the message names column and hour.
    """
    return _load(_case_file(source), day, ())


def is_shipped(case: Case) -> bool:
    """Whether the case is one of the shipped ones, with nothing altered."""
    return case.name in preset_names() and case == load_case(case.name)


def _load(path: Path, day: date | str | None, seen: tuple[Path, ...]) -> Case:
    if path in seen:
        raise ConfigError(f"case {path.name}: base leads back to itself; break the circle")
    raw = _read_toml(path)
    base = raw.pop("base", None)
    profiles = raw.get("profiles", {})
    from_file = isinstance(profiles, dict) and "file" in profiles
    if from_file:
        del raw["profiles"]
        profiles |= {} if day is None else {"day": str(day)}
    elif day is not None and base is None:
        raise ConfigError(
            f"case {path.name} names no profile file to take {day} from; its profiles are one day's"
        )
    if base is not None:
        below = _load(_base_file(path, base), None if from_file else day, (*seen, path))
        raw = merge(below.model_dump(exclude_none=True), raw)
    raw["name"] = path.stem
    if from_file:
        return _with_profile_file(raw, profiles, path)
    return build_case(raw, path.name)


def _base_file(path: Path, base: Any) -> Path:
    if not isinstance(base, str):
        raise ConfigError(
            f"case {path.name}: base must be the name of a shipped case or a path, got {base!r}"
        )
    beside = path.parent / base
    return _case_file(beside if beside.suffix == ".toml" else base)


def _with_profile_file(raw: dict[str, Any], table: dict[str, Any], path: Path) -> Case:
    where = f"case {path.name}"
    source = validate_tree(table, ProfileFile, f"{where}, profiles")
    site = validate_tree(raw.get("site", {}), Site, f"{where}, site")
    horizon = validate_tree({"slots": 24} | raw.get("horizon", {}), Horizon, f"{where}, horizon")
    profiles, days = read_profiles(
        source.resolved(path.parent), pv_kw=site.pv_kw, wind_kw=site.wind_kw, slot_h=horizon.slot_h
    )
    if "profiles" in raw:
        return build_case(raw, path.name).with_profiles(profiles, days)
    raw["horizon"] = raw.get("horizon", {}) | {"slots": sum(days), "day_slots": days}
    raw["profiles"] = profiles.model_dump()
    return build_case(raw, path.name)
