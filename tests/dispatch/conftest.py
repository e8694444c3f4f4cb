"""Shared cases: the published one, its six schedules, and small random ones that can be enumerated."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from hsmdc.dispatch import SCENARIOS, load_case, solve
from hsmdc.dispatch.case import Case


@pytest.fixture(scope="session")
def aidc() -> Case:
    return load_case("aidc-2048")


@pytest.fixture(scope="session")
def schedules(aidc: Case) -> dict[str, xr.Dataset]:
    """All six scenarios of the published case, solved once."""
    return {name: solve(aidc, name) for name in SCENARIOS}


@pytest.fixture(scope="session")
def small_case(aidc: Case) -> Callable[..., Case]:
    """A random site of 4 to 12 GPUs with one or two tiny models, over a few slots."""

    def make(seed: int, *, slots: int = 6, segments: int = 3, tasks: int = 2, **tables: object) -> Case:
        rng = np.random.default_rng(seed)
        template = aidc.task[0].model_dump(exclude_none=True)
        specs = [
            template
            | {
                "name": f"T{i}",
                "parameters": 1e6,
                "tokens": 1e9,
                "batch": 4,
                "layers": 4,
                "hidden": 8,
                "ffn": 8,
                "heads": 2,
                "baseline": [1, 1, int(rng.choice([1, 2]))],
                "segments": segments,
                "deadline_slot": slots,
            }
            for i in range(tasks)
        ]
        base = {
            "horizon": {"slots": slots, "slot_h": 1.0, "day_slots": (slots,)},
            "graph": {"edges": "all"},
            "site": {"gpu_total": int(rng.integers(4, 13)), "base_it_kw": float(rng.uniform(0, 2))},
            "battery": {"power_kw": 1.0, "energy_kwh": 3.0},
            "efficiency": {
                "pipeline": float(rng.uniform(0.01, 0.1)),
                "tensor": float(rng.uniform(0.01, 0.1)),
                "data": float(rng.uniform(0.01, 0.2)),
            },
            "task": specs,
            "profiles": {
                "pv_kw": tuple(rng.uniform(0, 4, slots)),
                "wind_kw": tuple(rng.uniform(0, 2, slots)),
                "price_usd_per_mwh": tuple(rng.uniform(-20, 80, slots)),
            },
        }
        return aidc.replace(**base).replace(**tables)

    return make
