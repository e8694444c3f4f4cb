"""Configuration: strict TOML, presets with inheritance, and the resolved echo that every output carries."""

from hsmdc.config.load import dump_toml, from_toml, load_config, preset_names, to_toml, validate_tree
from hsmdc.config.model import Config

__all__ = ["Config", "dump_toml", "from_toml", "load_config", "preset_names", "to_toml", "validate_tree"]
