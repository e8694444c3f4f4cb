"""Reading a configuration: a preset name or a TOML file, `base =` inheritance, errors in plain words."""

import difflib
import re
import textwrap
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import tomli_w
from pydantic import BaseModel, ValidationError

from hsmdc.config.model import Config
from hsmdc.errors import ConfigError

_PRESETS = resources.files("hsmdc") / "presets"
_DISCRIMINATOR = "law"
_MOST_SHOWN = 5  # mistakes told at once
_NUMBERS = re.compile(r"\[\n((?:\s+[-+.\de]+,\n)+)(\s*)\]")

Model = TypeVar("Model", bound=BaseModel)


def preset_names() -> list[str]:
    """The shipped site presets."""
    return sorted(Path(p.name).stem for p in _PRESETS.iterdir() if p.name.endswith(".toml"))


def load_config(source: "str | Path | Mapping[str, Any] | Config") -> Config:
    """Read a site configuration.

    Parameters
    ----------
    source : preset name, path to a TOML file, mapping, or a Config (returned as it is)
        A file or mapping may name `base = "preset or path"`; its own keys then replace those of the base,
        table by table.

    Raises
    ------
    ConfigError
        Naming the file, the key, the value, and what is allowed.
    """
    if isinstance(source, Config):
        return source
    where, tree = _read(source)
    return validate_tree(_resolved(where, tree, seen=()), Config, where)


def to_toml(config: BaseModel) -> str:
    """The resolved configuration as TOML; `load_config` of it gives the same configuration."""
    return dump_toml(config.model_dump(mode="json", exclude_none=True))


def dump_toml(tree: Mapping[str, Any]) -> str:
    """A mapping as TOML, with arrays of numbers filled into lines instead of one number a line."""
    return _NUMBERS.sub(_filled, tomli_w.dumps(tree, multiline_strings=True))


def _filled(array: re.Match[str]) -> str:
    numbers = " ".join(array[1].split()).removesuffix(",")
    if len(numbers) < 90:
        return f"[{numbers}]"
    indent = array[2] + "    "
    return f"[\n{textwrap.fill(numbers, 100, initial_indent=indent, subsequent_indent=indent)},\n{array[2]}]"


def from_toml(text: str) -> Config:
    """The configuration written by `to_toml`, as traces carry it."""
    return validate_tree(_parse(text, "the trace's configuration"), Config, "the trace's configuration")


def _read(source: "str | Path | Mapping[str, Any]") -> tuple[str, dict[str, Any]]:
    if isinstance(source, Mapping):
        return "the given mapping", dict(source)
    text = str(source)
    if text in preset_names():
        return f"preset {text}", _parse((_PRESETS / f"{text}.toml").read_text("utf-8"), text)
    path = Path(text)
    if path.is_dir():
        raise ConfigError(f"{text} is a folder; give the configuration file in it")
    if not path.is_file():
        raise ConfigError(
            f"no preset or file {text!r}{_nearest(text, preset_names())}; "
            f"presets: {', '.join(preset_names())}"
        )
    return text, _parse(_text_of(path), text)


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: not text in UTF-8 (at byte {error.start}); a configuration is a TOML file in UTF-8"
        ) from None
    except OSError as error:
        raise ConfigError(f"cannot read configuration {path}: {error.strerror or error}") from None


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: not valid TOML: {error}") from None


def _resolved(where: str, tree: dict[str, Any], seen: tuple[str, ...]) -> dict[str, Any]:
    tree = dict(tree)
    base = tree.pop("base", None)
    if base is None:
        return tree
    if not isinstance(base, str):
        raise ConfigError(f"{where}: base must be a preset name or a path, got {base!r}")
    candidate = Path(where).parent / base
    name = base if base in preset_names() else str(candidate if candidate.is_file() else base)
    if name in seen:
        raise ConfigError(f"{where}: base {base!r} leads back to itself; break the circle")
    try:
        base_where, base_tree = _read(name)
    except ConfigError as error:
        raise ConfigError(f"{where}: base: {error}") from None
    below = _resolved(base_where, base_tree, (*seen, name))
    if "name" in tree:  # a site of its own is not what the base's description describes
        below.pop("description", None)
    return _overlay(below, tree)


def _overlay(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping) and not _another_law(old, value):
            merged[key] = _overlay(old, value)
        else:
            merged[key] = value
    return merged


def _another_law(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    # Parameters of one law mean nothing to another: the new table replaces the old whole.
    return _DISCRIMINATOR in new and new[_DISCRIMINATOR] != old.get(_DISCRIMINATOR)


def validate_tree(tree: Mapping[str, Any], model: type[Model], where: str) -> Model:
    """Build `model` from parsed TOML, turning every violation into one `ConfigError` line each."""
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        details = [d for d in error.errors(include_url=False) if not _follows(d)]
        lines = list(dict.fromkeys(_in_words(detail, model) for detail in details))
        if len(lines) > _MOST_SHOWN:
            lines = [*lines[:_MOST_SHOWN], f"and {len(lines) - _MOST_SHOWN} more"]
        raise ConfigError(f"{where}: " + "; ".join(lines)) from None


def _follows(detail: Any) -> bool:
    """Whether it only follows from another: pydantic calls a tuple too short when one of its entries is wrong."""
    return bool(detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"])


def _in_words(detail: Any, model: type[BaseModel]) -> str:
    path, siblings = _walk(model, detail["loc"], own_last=detail["type"] in ("extra_forbidden", "missing"))
    key = ".".join(path)
    given = detail.get("input")
    match detail["type"]:
        case "extra_forbidden":
            return f"unknown key {key!r}{_nearest(path[-1], siblings)}"
        case "missing":
            return f"key {key!r} is missing"
        case "too_short" | "too_long":
            limits = detail["ctx"]
            return f"{key} has {len(given)} entries; it needs {limits.get('min_length', limits.get('max_length'))}"
    message = detail["msg"].removeprefix("Value error, ")
    shown = "" if isinstance(given, (dict, list, tuple, BaseModel)) else f" = {given!r}"
    return f"{key or 'configuration'}{shown}: {message}"


def _walk(
    model: type[BaseModel], location: tuple[Any, ...], *, own_last: bool
) -> tuple[list[str], list[str]]:
    """An error's location as the user wrote it, and the names allowed where it ends.

    Pydantic puts the chosen law of a union into the location; nobody wrote that, so it is left out. `own_last`: the
    last part is a key, whether or not any model has it.
    """
    path: list[str] = []
    models: list[type[BaseModel]] = [model]
    for position, part in enumerate(location):
        fields = [m.model_fields[part] for m in models if part in m.model_fields]
        last = position == len(location) - 1
        if fields or isinstance(part, int) or (last and own_last):
            path.append(str(part))
        if last:
            break
        if fields:
            models = [inner for field in fields for inner in _models_in(field.annotation)]
        elif isinstance(part, str):
            models = [m for m in models if _has_law(m, part)] or models
    return path, sorted({name for m in models for name in m.model_fields})


def _has_law(model: type[BaseModel], law: str) -> bool:
    field = model.model_fields.get(_DISCRIMINATOR)
    return field is not None and law in getattr(field.annotation, "__args__", ())


def _models_in(annotation: Any) -> Iterable[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _models_in(argument)


def _nearest(name: str, allowed: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
