#!/usr/bin/env python3
"""Execute the gallery: python tools/gallery.py [--check] [NAME ...]

Every script NAME.py of the folder gallery in percent format becomes the executed notebook NAME.ipynb, which must end in a picture.
With --check nothing is written, and a stored notebook must hold the cells of its script. Needs dermis, matplotlib, nbformat,
nbclient and ipykernel.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "gallery"
HELPERS = {"draw"}
LARGEST = 200_000  # bytes of a notebook: pictures are kept small


def cells(script: str) -> list[nbformat.NotebookNode]:
    """The cells of a script in percent format."""
    made = []
    for part in re.split(r"^# %%", script, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        body = body.strip("\n")
        if "[markdown]" in head:
            text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.splitlines())
            made.append(nbformat.v4.new_markdown_cell(text))
        else:
            made.append(nbformat.v4.new_code_cell(body))
    for at, cell in enumerate(made):
        cell["id"] = f"cell-{at}"
    return made


def executed(name: str) -> nbformat.NotebookNode:
    """The notebook of a script, executed in its folder."""
    notebook = nbformat.v4.new_notebook(cells=cells((FOLDER / f"{name}.py").read_text()))
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    client = NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}})
    client.execute()
    for cell in notebook.cells:
        cell.metadata.clear()  # times of execution differ from run to run
    notebook.metadata.pop("language_info", None)
    outputs = [cell for cell in notebook.cells if cell.cell_type == "code"][-1].outputs
    if not any("image/png" in output.get("data", {}) for output in outputs):
        raise SystemExit(f"{name}: the notebook does not end in a picture")
    return notebook


def stored_cells_agree(name: str) -> bool:
    """Whether the stored notebook holds the cells of its script."""
    path = FOLDER / f"{name}.ipynb"
    if not path.exists():
        return False
    stored = nbformat.read(path, as_version=4)
    sources = [(cell.cell_type, cell.source) for cell in stored.cells]
    return sources == [(cell.cell_type, cell.source) for cell in cells((FOLDER / f"{name}.py").read_text())]


def main() -> None:
    arguments = sys.argv[1:]
    check = "--check" in arguments
    names = [name for name in arguments if name != "--check"]
    names = names or sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in HELPERS)
    for name in names:
        notebook = executed(name)
        if check:
            if not stored_cells_agree(name):
                raise SystemExit(f"{name}.ipynb does not hold the cells of {name}.py: python tools/gallery.py {name}")
        else:
            nbformat.write(notebook, FOLDER / f"{name}.ipynb")
            size = (FOLDER / f"{name}.ipynb").stat().st_size
            if size > LARGEST:
                raise SystemExit(f"{name}.ipynb has {size} bytes, more than {LARGEST}")
        print(f"{name}: executed", flush=True)


if __name__ == "__main__":
    main()
