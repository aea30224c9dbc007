"""The page docs/python.md: what it shows runs, and prints what it says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import dermis
from conftest import ROOT

PAGE = (ROOT / "docs/python.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_first_lines_print_what_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    script = tmp_path / "first.py"
    script.write_text(blocks("python")[0])
    assert len(blocks("python")[0].strip().splitlines()) <= 12
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == blocks("text")[0]
    assert (tmp_path / "body.dermis").exists()


def test_the_lines_of_the_readme_print_the_error_of_the_program(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    [lines] = re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    script = tmp_path / "readme.py"
    script.write_text(lines + "print(repr(fit.errors.held_out.rms))\n")
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    shown, exact = ran.stdout.splitlines()
    body = "assets/body/body_exercise.npz"
    options = ["--examples", body, "--hold-out", "assets/body/body_walk.npz", "-o", "other.dermis", "--json"]
    program = subprocess.run(
        [sys.executable, "-m", "dermis", "fit", body, *options], capture_output=True, text=True, cwd=tmp_path
    )
    assert program.returncode == 0, program.stderr
    rms = json.loads(program.stdout)["held_out"]["rms"]
    assert float(exact) == rms, "equal to the last digit"
    assert shown == f"held out {1e3 * rms:.3f} mm rms"


def test_every_python_block_can_be_parsed() -> None:
    for block in blocks("python"):
        compile(block, "docs/python.md", "exec")


def test_the_page_names_what_there_is() -> None:
    for name in dermis.__all__:
        if name not in ("__version__", "Errors", "ErrorStats", "FitReport", "Evaluation", "Decomposition", "Inversion"):
            assert re.search(rf"\b{name}\b", PAGE), f"{name} is not on the page"
