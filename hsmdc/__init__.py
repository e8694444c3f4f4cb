"""Electrical load of AI data centres from first causes.

The public names live in the modules named here and are imported on first use, so that
`import hsmdc` and `hsmdc --help` stay instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "load_config": "hsmdc.config",
    "simulate": "hsmdc.simulation",
    "resolve": "hsmdc.transient",
    "stream": "hsmdc.transient",
    "simulate_node": "hsmdc.transient",
    "save_trace": "hsmdc.traces",
    "open_trace": "hsmdc.traces",
    "export_trace": "hsmdc.export",
    "read_jobs": "hsmdc.jobs",
    "schedule_fifo": "hsmdc.jobs",
    "ensemble": "hsmdc.montecarlo",
}

__all__ = [*_HOMES, "__version__"]

if TYPE_CHECKING:
    from hsmdc.config import load_config as load_config
    from hsmdc.export import export_trace as export_trace
    from hsmdc.jobs import read_jobs as read_jobs
    from hsmdc.jobs import schedule_fifo as schedule_fifo
    from hsmdc.montecarlo import ensemble as ensemble
    from hsmdc.simulation import simulate as simulate
    from hsmdc.traces import open_trace as open_trace
    from hsmdc.traces import save_trace as save_trace
    from hsmdc.transient import resolve as resolve
    from hsmdc.transient import simulate_node as simulate_node
    from hsmdc.transient import stream as stream


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'hsmdc' has no attribute {name!r}") from None
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
