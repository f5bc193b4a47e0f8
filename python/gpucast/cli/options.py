"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    list[str],
    typer.Argument(help="Bundled datasets (gpucast data list) or files of records."),
]
PathName = Annotated[
    str | None, typer.Option("--path", help="Path, where there are several.", show_default=False)
]
Schedule = Annotated[str | None, typer.Option(help="Schedule, where there are several.")]
Kernel = Annotated[str | None, typer.Option(help="Kernel, where there are several.")]
Machine = Annotated[str | None, typer.Option(help="Machine id, where there are several.")]
Memory = Annotated[
    str | None, typer.Option(help="Host memory of transfers and steps, where there are several.")
]
Method = Annotated[
    str | None,
    typer.Option(help="How transfers were timed, where both: call (blocking) or gated (queued)."),
]
Block = Annotated[int | None, typer.Option(min=1, help="Threads a block, where several.")]
Graph = Annotated[
    bool | None,
    typer.Option("--graph/--no-graph", help="Steps as CUDA graphs or not, where there are both."),
]
Boundary = Annotated[
    str | None, typer.Option(help="Boundary of the box (open, ...), where there are several.")
]
Sizes = Annotated[
    str, typer.Option("-n", help="Particles: 1000,1e5 or a range 512..1e6:9 (9 values).")
]
Gpus = Annotated[str, typer.Option(help="GPU counts: 1-4,8.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing output.")]
Output = Annotated[Path, typer.Option("-o", help="Where to write.")]
OptionalOutput = Annotated[
    Path | None, typer.Option("-o", help="Where to write the model file.", show_default=False)
]
