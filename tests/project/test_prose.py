"""The check of prose finds what it counts, and nothing else."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "prose.py"


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("a.py", "x = 1  # Of all sizes.\n", ["of"]),
        ("a.py", '"""Says it.\n\nOf none.\n"""\n', ["of"]),
        ("a.py", "# The sizes. Of few.\n# most of them, 'Of x'\n", ["of"]),
        ("a.py", "said = [each for each in ()]\nfor found, n in (): pass\n", ["names"] * 3),
        ("a.py", 'f(each=1)\ns = "# Of a string"\n', []),
        ("a.cpp", "/// Of a copy.\nconst auto& found = find();\nreturn found;\n", ["of", "names"]),
        ("a.js", "for (const each of all) use(each);\n", ["names"]),
        ("a.sh", "echo # Of it\n", ["of"]),
    ],
)
def test_prose_is_counted(tmp_path: Path, name: str, source: str, expected: list[str]) -> None:
    spec = importlib.util.spec_from_file_location("prose", SCRIPT)
    prose = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(prose)
    (tmp_path / name).write_text(source)
    assert [kind for kind, _ in prose.findings(tmp_path / name)] == expected
