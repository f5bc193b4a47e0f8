# Types that the stub generator cannot see in values.
_core.(GPU_TERMS|CPU_TERMS|COM_TERMS):
    \1: dict[str, Term]

_core.SCALING_TERMS:
    SCALING_TERMS: dict[str, tuple[str, str]]

_core.ALL_PAIRS:
    ALL_PAIRS: Workload

_core.TRANSFER_PRIORS:
    TRANSFER_PRIORS: list[tuple[float, float]]

_core.ROUTES:
    ROUTES: list[str]

_core.AMPLITUDES:
    AMPLITUDES: list[str]

_core.REPLAY_(ASKED|TAKES|MESSAGES):
    REPLAY_\1: tuple[str, ...]
