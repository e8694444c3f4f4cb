"""Loading a case: shipped by name or a TOML file, from another case by `base`, profiles inline or from a file."""

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from hsmdc.config import validate_tree
from hsmdc.dispatch.case import Case, build_case, merge
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


def load_case(source: str | Path) -> Case:
    """Load a shipped case by name, or a case file by its path.

    A file may start from another case by `base = "name or path"` and give only the keys that differ. Its
    `[profiles]` may hold one value per slot, or name a CSV or netCDF `file` (see `profiles.py`).

    Parameters
    ----------
    source
        Name of a shipped case, such as `"aidc-2048"`, or a path that ends in `.toml`.

    Raises
    ------
    ConfigError
        If the file is missing or a key breaks a rule; the message names the key.
    InputError
        If a profile file cannot be used; the message names column and hour.
    """
    path = _case_file(source)
    raw = _read_toml(path)
    base = raw.pop("base", None)
    profiles = raw.get("profiles", {})
    from_file = isinstance(profiles, dict) and "file" in profiles
    if from_file:
        raw.pop("profiles")
    if base is not None:
        beside = path.parent / str(base)
        raw = merge(
            load_case(beside if beside.suffix == ".toml" else base).model_dump(exclude_none=True), raw
        )
    raw["name"] = path.stem
    if from_file:
        return _with_profile_file(raw, profiles, path)
    return build_case(raw, path.name)


def _with_profile_file(raw: dict[str, Any], table: dict[str, Any], path: Path) -> Case:
    source = validate_tree(table, ProfileFile, f"case {path.name}, profiles")
    site = raw.get("site", {})
    horizon = raw.setdefault("horizon", {})
    profiles, days = read_profiles(
        source.resolved(path.parent),
        pv_kw=site.get("pv_kw", 0.0),
        wind_kw=site.get("wind_kw", 0.0),
        slot_h=horizon.get("slot_h", 1.0),
    )
    if "profiles" in raw:
        return build_case(raw, path.name).with_profiles(profiles, days)
    horizon |= {"slots": sum(days), "day_slots": days}
    raw["profiles"] = profiles.model_dump()
    return build_case(raw, path.name)
