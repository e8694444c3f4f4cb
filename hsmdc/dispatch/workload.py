"""From a task's descriptor to the work of a day: FLOPs, iterations, tranche, segments.

Work is counted in *baseline GPU-hours*: what one GPU does in an hour at the efficiency of the task's
baseline mode. A mode's pace in the same unit per hour is its GPUs times its efficiency relative to the
baseline, so the peak rate of the GPU cancels from the schedule and only enters the reported FLOPs.
"""

import math
from typing import NamedTuple

from hsmdc.dispatch.case import Case, Task
from hsmdc.errors import ConfigError


class Tranche(NamedTuple):
    """The work of a task within the horizon."""

    flops: float
    gpu_hours: float
    baseline_efficiency: float
    segments: int

    @property
    def segment_gpu_hours(self) -> float:
        """Work between two checkpoints [baseline GPU-hours]."""
        return self.gpu_hours / self.segments


def flops_per_iteration(task: Task) -> float:
    """FLOPs of one training iteration of a transformer.

    χ·B·s·l·h²·(1 + s/(6h) + V/(16·l·h)), the paper's Section III-B; χ = 96 counts activation recomputation.
    """
    attention = task.sequence / (6 * task.hidden)
    logits = task.vocabulary / (16 * task.layers * task.hidden)
    size = task.batch * task.sequence * task.layers * task.hidden**2
    return task.flops_factor * size * (1 + attention + logits)


def iterations(task: Task) -> int:
    """Iterations of the whole training: tokens over tokens per batch, rounded up."""
    return math.ceil(task.tokens / (task.batch * task.sequence))


def daily_iterations(task: Task) -> int:
    """Iterations due per 24 hours, rounded up."""
    return math.ceil(task.daily_ratio * iterations(task))


def baseline_gpus(task: Task) -> int:
    """GPUs of the baseline mode."""
    return math.prod(task.baseline)


def tranche(case: Case, task: Task) -> Tranche:
    """The work due within the horizon, prorated to its hours.

    With `baseline_efficiency` the FLOPs of the descriptor set the GPU-hours. Without it a day's work is *defined*
    as 24 hours of the baseline mode and the efficiency follows: the rounded daily ratio of a published case
    would otherwise make a baseline segment a shade longer than its slots. A day of 23 or 25 hours is due 23
    or 25 hours of work, so the pace of the training is kept.

    Raises
    ------
    ConfigError
        If the baseline would have to run above the peak rate of its GPUs.
    """
    flops = flops_per_iteration(task) * daily_iterations(task) * case.horizon.hours / 24
    flops_per_gpu_hour = case.site.gpu_peak_tflops * 1e12 * 3600
    if task.baseline_efficiency is None:
        gpu_hours = baseline_gpus(task) * case.horizon.hours
        efficiency = flops / (gpu_hours * flops_per_gpu_hour)
        if efficiency > 1:
            raise ConfigError(
                f"task {task.name}: a day of {task.daily_ratio:.2%} would need its baseline to run at "
                f"{efficiency:.0%} of the GPUs' peak; lower daily_ratio, or give baseline_efficiency"
            )
    else:
        efficiency = task.baseline_efficiency
        gpu_hours = flops / (efficiency * flops_per_gpu_hour)
    return Tranche(flops, gpu_hours, efficiency, task.segments * len(case.horizon.days))
