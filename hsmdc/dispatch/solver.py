"""A thin adapter to HiGHS: columns, rows and entries in; a checked solution with its proof out.

Arrays go straight to highspy; a modelling layer takes a hundred times longer to build. Presolve is off (2.1 s
against 5.5 s on the 2048-GPU case), and gap, seed and thread count are set explicitly. HiGHS keeps one pool of
threads per process: a later solve with another count came back "Not Set" with an empty solution, so the pool
is made anew when the count changes.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array

from hsmdc.errors import ConfigError, SolverError

Array = npt.NDArray[Any]
Status = Literal["optimal", "time limit", "infeasible", "no solution"]


MOST_SEED = 2**31 - 1  # HiGHS keeps it in 32 bits


@dataclass(frozen=True)
class Options:
    """Solver settings; `gap` is relative, `time_limit_s` wall seconds.

    Raises
    ------
    ConfigError
        A setting the solver would refuse, or take for another without a word.
    """

    gap: float = 1e-5
    time_limit_s: float | None = None
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        if not self.gap >= 0:
            raise ConfigError(f"gap = {self.gap} must be 0 or more, such as 1e-4")
        if self.time_limit_s is not None and not self.time_limit_s >= 0:
            raise ConfigError(f"time_limit_s = {self.time_limit_s} must be 0 or more seconds")
        if not 0 <= self.seed <= MOST_SEED:
            raise ConfigError(f"seed = {self.seed} must lie in 0 … {MOST_SEED} for the solver")
        if self.threads < 1:
            raise ConfigError(f"threads = {self.threads} must be 1 or more")


def check_choice(name: str, value: str, allowed: Iterable[str]) -> None:
    """Refuse a word that names none of the choices.

    Raises
    ------
    ConfigError
    """
    choices = tuple(allowed)
    if value not in choices:
        raise ConfigError(f"{name} = {value!r} is unknown; take {' or '.join(map(repr, choices))}")


class Outcome(NamedTuple):
    """Solution `x` (empty if none was found) and its proof."""

    status: Status
    x: Array
    objective: float
    bound: float
    seconds: float
    nodes: int
    columns: int
    rows: int


class Problem:
    """A mixed-integer program under construction: minimise cost·x, lower ≤ A·x ≤ upper."""

    def __init__(self) -> None:
        self.offset = 0.0
        self._cost: list[Array] = []
        self._lower: list[Array] = []
        self._upper: list[Array] = []
        self._integer: list[Array] = []
        self._row_lower: list[Array] = []
        self._row_upper: list[Array] = []
        self._entries: list[tuple[Array, Array, Array]] = []
        self.n_columns = 0
        self.n_rows = 0

    def columns(
        self,
        n: int,
        *,
        lower: object = 0.0,
        upper: object = np.inf,
        cost: object = 0.0,
        integer: bool = False,
    ) -> Array:
        """Add `n` columns; bounds and costs are scalars or arrays. Returns their numbers."""
        for store, values in ((self._cost, cost), (self._lower, lower), (self._upper, upper)):
            store.append(np.broadcast_to(np.asarray(values, dtype=float), (n,)))
        self._integer.append(np.full(n, integer))
        self.n_columns += n
        return np.arange(self.n_columns - n, self.n_columns)

    def rows(self, n: int, *, lower: object = -np.inf, upper: object = np.inf) -> Array:
        """Add `n` rows; returns their numbers."""
        self._row_lower.append(np.broadcast_to(np.asarray(lower, dtype=float), (n,)))
        self._row_upper.append(np.broadcast_to(np.asarray(upper, dtype=float), (n,)))
        self.n_rows += n
        return np.arange(self.n_rows - n, self.n_rows)

    def put(self, rows: object, columns: object, values: object) -> None:
        """Add coefficients; the three broadcast against each other, repeats add up."""
        r, c, v = np.broadcast_arrays(
            np.asarray(rows, dtype=np.int64),
            np.asarray(columns, dtype=np.int64),
            np.asarray(values, dtype=float),
        )
        self._entries.append((r.ravel(), c.ravel(), v.ravel()))

    def add_cost(self, columns: Array, cost: object) -> None:
        """Add to the cost of columns that exist; repeats add up."""
        total = np.concatenate(self._cost)
        np.add.at(total, columns, np.broadcast_to(np.asarray(cost, dtype=float), columns.shape))
        self._cost = [total]

    def clear_cost(self) -> None:
        """Make every column that exists free of cost."""
        self._cost = [np.zeros(self.n_columns)]
        self.offset = 0.0

    def solve(self, options: Options) -> Outcome:
        """Solve; see `Outcome`.

        Raises
        ------
        SolverError
            If HiGHS refuses the model or ends in a way that is neither a solution, a limit nor a proof of
            infeasibility.
        """
        import highspy

        # The plain class below highspy.Highs: that one prints a banner before output can be turned off.
        highs = highspy._core._Highs()
        _renew_threads(highs, options.threads)
        settings: dict[str, bool | float | int | str] = {
            "output_flag": False,
            "presolve": "off",
            "mip_rel_gap": float(options.gap),
            "random_seed": int(options.seed),
            "threads": int(options.threads),
            "parallel": "off" if options.threads == 1 else "choose",
            "time_limit": float("inf") if options.time_limit_s is None else float(options.time_limit_s),
        }
        for key, value in settings.items():
            _require(highs.setOptionValue(key, value), f"option {key} = {value}")
        _require(highs.passModel(self._lp()), "the model; is a number of the case beyond 1e15?")
        begun = time.perf_counter()
        _require(highs.run(), "the run")
        seconds = time.perf_counter() - begun
        return self._outcome(highs, seconds)

    def _lp(self) -> Any:
        import highspy

        matrix = coo_array(
            (
                np.concatenate([v for _, _, v in self._entries]),
                (
                    np.concatenate([r for r, _, _ in self._entries]),
                    np.concatenate([c for _, c, _ in self._entries]),
                ),
            ),
            shape=(self.n_rows, self.n_columns),
        ).tocsc()
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_, lp.offset_ = self.n_columns, self.n_rows, self.offset
        lp.col_cost_ = np.concatenate(self._cost)
        lp.col_lower_, lp.col_upper_ = np.concatenate(self._lower), np.concatenate(self._upper)
        lp.row_lower_, lp.row_upper_ = np.concatenate(self._row_lower), np.concatenate(self._row_upper)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
        lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
        lp.a_matrix_.value_ = matrix.data
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(flag)] for flag in np.concatenate(self._integer)]
        return lp

    def _outcome(self, highs: Any, seconds: float) -> Outcome:
        import highspy

        status = highs.getModelStatus()
        info = highs.getInfo()
        ends = highspy.HighsModelStatus
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        x = np.array(highs.getSolution().col_value) if found else np.empty(0)
        found = found and len(x) == self.n_columns
        is_mip = bool(np.concatenate(self._integer).any())
        bound = info.mip_dual_bound if is_mip else info.objective_function_value
        if status == ends.kOptimal and found:
            word: Status = "optimal"
        elif status in (ends.kInfeasible, ends.kUnboundedOrInfeasible):
            word = "infeasible"
        elif status in (ends.kTimeLimit, ends.kIterationLimit, ends.kSolutionLimit, ends.kInterrupt):
            word = "time limit" if found else "no solution"
        else:
            raise SolverError(
                f"HiGHS ended with {highs.modelStatusToString(status)!r} and no usable solution; "
                "please report the case"
            )
        objective = float(info.objective_function_value) if found else np.inf
        nodes = int(info.mip_node_count) if is_mip else 0
        return Outcome(
            word,
            x if found else np.empty(0),
            objective,
            float(bound),
            seconds,
            nodes,
            self.n_columns,
            self.n_rows,
        )


_threads_of_pool: list[int] = []


def _renew_threads(highs: Any, threads: int) -> None:
    if _threads_of_pool and _threads_of_pool != [threads]:
        highs.resetGlobalScheduler(True)
    _threads_of_pool[:] = [threads]


def _require(status: object, what: str) -> None:
    import highspy

    if status == highspy.HighsStatus.kError:
        raise SolverError(f"HiGHS refused {what}")
