"""The one place where compile options live.

Numba keys its disk cache by the content of the file that holds the function only, so editing a function it calls
in another file would serve stale machine code. While the kernels are imported the cache folder therefore
carries a hash of every kernel file; where no folder can be written, the kernels compile without a cache.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba


def _fingerprint() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).resolve().parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _cache_root() -> Path:
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "hsmdc"


def _writable_cache_dir() -> str | None:
    folder = _cache_root() / f"kernels-{_fingerprint()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError):  # RuntimeError: no home folder to expand "~"
        return None
    return str(folder)


CACHE_DIR = _writable_cache_dir()

settings: Any = numba.config


F = TypeVar("F", bound=Callable[..., object])


def kernel(*, parallel: bool = False, contract: bool = False) -> Callable[[F], F]:
    """Compile a kernel: cached where possible, IEEE arithmetic unless `contract` allows fusing.

    `contract` is the only fastmath flag ever allowed: the others break NaN tests and compensated sums.
    """

    def compile_lazily(function: F) -> F:
        previous = settings.CACHE_DIR
        try:
            if CACHE_DIR is not None:
                settings.CACHE_DIR = CACHE_DIR
            compiled: Any = numba.njit(
                cache=CACHE_DIR is not None,
                parallel=parallel,
                nogil=True,
                error_model="numpy",
                fastmath={"contract"} if contract else False,
            )(function)
            return cast(F, compiled)
        finally:
            settings.CACHE_DIR = previous

    return compile_lazily
