# Types that the stub generator cannot see in values.
_core.(GPU_TERMS|CPU_TERMS|COM_TERMS):
    \1: dict[str, Term]

_core.ROUTES:
    ROUTES: list[str]
