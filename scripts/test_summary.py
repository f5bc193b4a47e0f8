"""Prints what scripts/test.sh ran and what was skipped, with each reason.

    python scripts/test_summary.py RESULTS_DIR

Reads the steps that scripts/test.sh noted and the JUnit files of CTest and
pytest beside them.
"""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path


def rows(path: Path) -> list[list[str]]:
    if not path.exists():
        return []
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def why_skipped(case: ElementTree.Element) -> str:
    """The program's own words where it printed some (CTest), else pytest's reason."""
    printed = (line.strip() for line in (case.findtext("system-out") or "").splitlines())
    own_words = [line for line in printed if line and not line.startswith("[")]  # not GoogleTest's
    reasons = [skipped.get("message") or "no reason given" for skipped in case.iter("skipped")]
    return [*reasons, *own_words][-1]


def main(results: Path) -> None:
    total: Counter[str] = Counter()
    skipped = [f"{heading}: {why}" for heading, why in rows(results / "skipped.tsv")]

    print("\n== summary")
    for seconds, what_came_of_it, heading in rows(results / "steps.tsv"):
        print(f"{seconds:>5} s  {what_came_of_it}  {heading}")
    for junit in sorted(results.glob("*.xml")):
        counts: Counter[str] = Counter()
        for case in ElementTree.parse(junit).iter("testcase"):
            counts[outcome(case)] += 1
            if outcome(case) == "skipped":
                skipped.append(f"{case.get('name')}: {why_skipped(case)}")
        total += counts
        print(f"{junit.stem}: {counts['passed']} passed, {counts['skipped']} skipped")
    for line in skipped:
        print(f"skipped  {line}")
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
