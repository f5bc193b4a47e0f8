"""Make a dataset that ships from what a campaign measured (``lab/gpu.sh dataset``).

    python lab/data/bundle_dataset.py build/dataset/dataset.jsonl --title "..." \\
        -o data/measured/NAME.jsonl

Records keep their order, which is that of time, and all that they say; of their samples at most so
many are kept, evenly spaced in time. Notes of what a machine cannot do, or of what a budget left
out, stay behind: what is not there was not measured.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from gpucast.data.thinning import evenly

SAMPLES = {"step": 21, "transfer": 12, "launch": 24, "overlap": 12, "skeleton": 6}
"""The most samples of a record of each kind: they settle a visit's median far better than visits
agree."""


def lean(record: dict[str, object]) -> dict[str, object]:
    """The record with fewer samples, to a nanosecond: what a clock can tell."""
    most = SAMPLES.get(record["kind"])
    if most is None:
        return record
    kept = {**record, "seconds": rounded(evenly(record["seconds"], most))}
    if "phases" in record:
        kept["phases"] = {
            name: rounded(evenly(seconds, most)) for name, seconds in record["phases"].items()
        }
    return kept


def rounded(seconds: list[float]) -> list[float]:
    """To a nanosecond."""
    return [round(each, 9) for each in seconds]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--title", required=True, help="what the dataset is, in a line")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    records = [json.loads(line) for line in options.data.read_text().splitlines()]
    about = {"text": options.title, "about": {"title": options.title}}
    title = {"schema": "gpucast.record/1", "kind": "note", **about}
    kept = [title, *(lean(record) for record in records if record["kind"] != "note")]
    lines = (json.dumps(each, separators=(",", ":"), ensure_ascii=False) for each in kept)
    options.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
