# Types that the stub generator cannot see in values.
_core.(GPU_TERMS|CHAINED_GPU_TERMS|CPU_TERMS|COM_TERMS|ROUTES):
    \1: list[str]
