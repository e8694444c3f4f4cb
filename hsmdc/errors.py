"""The errors a user can meet. Each message says what was given, what is allowed and how to mend it."""


class HsmdcError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigError(HsmdcError, ValueError):
    """A configuration that breaks a rule: unknown key, wrong type, value out of range."""


class InputError(HsmdcError, ValueError):
    """Data or arguments that cannot be used: a damaged file, a window outside the trace."""


class CalibrationError(HsmdcError):
    """A fit that cannot reach its target, with the nearest it came."""


class SolverError(HsmdcError):
    """An optimisation that ended without a usable solution."""


class InfeasibleError(SolverError):
    """Requirements that are known not to be met together, with what is short and by how much."""
