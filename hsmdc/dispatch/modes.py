"""3D-parallel execution modes: enumerate, screen with the reason for each rejection, prune by dominance."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hsmdc.dispatch.case import Case, Task
from hsmdc.dispatch.workload import tranche
from hsmdc.errors import ConfigError

Array = npt.NDArray[Any]

# Bytes per parameter that are replicated and sharded over the data-parallel group, of 16: half-precision weights 2,
# gradients 2, and 12 of optimizer state.
_SHARDING: dict[str, Callable[[Array], Array]] = {
    "none": lambda d: np.ones_like(d),
    "zero1": lambda d: 16 / (4 + 12 / d),
    "zero2": lambda d: 16 / (2 + 14 / d),
    "zero3": lambda d: d,
}


def memory_gb(case: Case, task: Task, p: Array, q: Array, d: Array) -> Array:
    """Memory of one GPU [GB] in modes (p, q, d): states, activations, a fixed part and a surcharge.

    The paper's memory equation (Section III-C), in bytes, with `state_sharding` as its ζ.
    """
    m = case.memory
    states = m.bytes_per_parameter * task.parameters / (p * q * _SHARDING[m.state_sharding](d))
    tokens = task.batch / d * task.sequence / q
    per_layer = (
        m.lambda_hidden * task.hidden
        + m.lambda_ffn * task.ffn
        + m.lambda_attention * task.sequence * task.heads
    )
    ends = m.lambda_output * task.hidden + m.lambda_vocabulary * task.vocabulary
    activations = m.recomputation * task.layers / p * per_layer * tokens + ends * tokens
    return m.fixed_gb + (1 + m.other_fraction) * (states + activations) / 1e9


def relative_efficiency(case: Case, task: Task, p: Array, q: Array, d: Array) -> Array:
    """Efficiency of modes (p, q, d) over that of the task's baseline mode, dimensionless.

    A product of linear losses in p − 1, q − 1 and √d − 1, floored at 0. The paper (Section III-C) names an efficiency
    of the mode without giving its form; this one is the project's own.

    Raises
    ------
    ConfigError
        The losses leave the baseline mode nothing.
    """
    loss = case.efficiency

    def shape(p: Array, q: Array, d: Array) -> Array:
        return (
            np.maximum(1 - loss.pipeline * (p - 1), 0)
            * np.maximum(1 - loss.tensor * (q - 1), 0)
            * np.maximum(1 - loss.data * (np.sqrt(d) - 1), 0)
        )

    base = shape(*(np.asarray(size, dtype=float) for size in task.baseline))
    if base <= 0:
        raise ConfigError(
            f"task {task.name}: the efficiency of baseline {list(task.baseline)} is 0; "
            "lower the losses in [efficiency]"
        )
    return shape(p, q, d) / base


def screened_modes(case: Case, task: "str | int | Task") -> pd.DataFrame:
    """Every candidate mode with the reason it is rejected, or `""` where it is feasible.

    Candidates are p ≤ max_pipeline, q ≤ max_tensor and d any divisor of the batch.

    Parameters
    ----------
    case
        The case.
    task
        A task, its name or its position.

    Returns
    -------
    pandas.DataFrame
        Columns `pipeline tensor data gpus memory_gb efficiency pace throughput_tflops power_kw reason`. `pace` is
        in baseline GPU-hours per hour, `power_kw` the IT power of the mode.
    """
    task = case.task_named(task)
    divisors = [d for d in range(1, task.batch + 1) if task.batch % d == 0]
    grid = np.meshgrid(
        np.arange(1, case.memory.max_pipeline + 1),
        np.arange(1, case.memory.max_tensor + 1),
        divisors,
        indexing="ij",
    )
    p, q, d = (axis.ravel() for axis in grid)
    pf, qf, df = (axis.astype(float) for axis in (p, q, d))
    gpus = p * q * d
    relative = relative_efficiency(case, task, pf, qf, df)
    efficiency = relative * tranche(case, task).baseline_efficiency
    table = pd.DataFrame(
        {
            "pipeline": p,
            "tensor": q,
            "data": d,
            "gpus": gpus,
            "memory_gb": memory_gb(case, task, pf, qf, df),
            "efficiency": efficiency,
            "pace": gpus * relative,
            "throughput_tflops": gpus * efficiency * case.site.gpu_peak_tflops,
            "power_kw": gpus * case.site.gpu_power_kw,
        }
    )
    table["reason"] = _reasons(case, task, table)
    return table


def _reasons(case: Case, task: Task, table: pd.DataFrame) -> list[str]:
    p, q, n, memory = (table[key].to_numpy() for key in ("pipeline", "tensor", "gpus", "memory_gb"))
    rules: list[tuple[Array, Callable[[int], str]]] = [
        (task.layers % p != 0, lambda i: f"pipeline {p[i]} does not divide {task.layers} layers"),
        (task.heads % q != 0, lambda i: f"tensor {q[i]} does not divide {task.heads} heads"),
        (task.hidden % q != 0, lambda i: f"tensor {q[i]} does not divide hidden {task.hidden}"),
        (task.ffn % q != 0, lambda i: f"tensor {q[i]} does not divide ffn {task.ffn}"),
        (n > case.site.gpu_total, lambda i: f"needs {n[i]} GPUs, the pool has {case.site.gpu_total}"),
        (
            memory > case.memory.usable_gb,
            lambda i: f"needs {memory[i]:.1f} GB per GPU, usable are {case.memory.usable_gb:g}",
        ),
    ]
    reasons = [""] * len(table)
    for broken, words in reversed(rules):
        for i in np.flatnonzero(broken).tolist():
            reasons[i] = words(i)
    return reasons


def feasible_modes(case: Case, task: "str | int | Task") -> pd.DataFrame:
    """Modes that divide the model, fit the memory and fit the pool; columns as in `screened_modes`.

    Wide data parallelism may leave a mode no throughput at all (`pace` 0): it is feasible and of no use.
    """
    table = screened_modes(case, task)
    return table[table["reason"] == ""].drop(columns="reason").reset_index(drop=True)


def effective_modes(case: Case, task: "str | int | Task") -> pd.DataFrame:
    """Feasible modes that no other dominates: more GPUs only for more pace; of equals one is kept.

    Power is GPUs times a constant, so dominance in GPUs and pace is the paper's in GPUs, power and
    throughput. Sorted by GPUs.
    """
    table = feasible_modes(case, task).sort_values(["gpus", "pace"], ascending=[True, False], kind="stable")
    best_before = table["pace"].cummax().shift(fill_value=0.0)
    return table[table["pace"] > best_before * (1 + 1e-12)].reset_index(drop=True)


def baseline_mode(case: Case, task: "str | int | Task") -> pd.DataFrame:
    """The baseline mode alone, as a table of one row; empty if the site cannot run it."""
    task = case.task_named(task)
    table = feasible_modes(case, task)
    p, q, d = task.baseline
    chosen = (table["pipeline"] == p) & (table["tensor"] == q) & (table["data"] == d)
    return table[chosen].reset_index(drop=True)


def smallest_memory(case: Case, task: Task) -> pd.Series:
    """Of the candidates that divide the model and fit the pool, the one with the least memory per GPU."""
    table = screened_modes(case, task)
    divides = ~table["reason"].str.contains("does not divide")
    return table[divides & (table["gpus"] <= case.site.gpu_total)].nsmallest(1, "memory_gb").iloc[0]
