"""Write records/gpucast.record.schema.json from the models in gpucast.data.records.

Run it after any change of the records: python scripts/generate_record_schema.py
"""

from __future__ import annotations

import json
from pathlib import Path

from gpucast.data.records import json_schema

TARGET = Path(__file__).parents[1] / "records" / "gpucast.record.schema.json"


def schema_text() -> str:
    """The file's content."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(schema_text(), encoding="utf-8")
