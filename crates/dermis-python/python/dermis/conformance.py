"""Runs a conformance table through the package: ``python -m dermis.conformance DIR``.

The table (``table.json``) lists models with poses and the positions that the scalar reference computes for them in double
precision. Every model is evaluated in every pose, from bone transforms and from joint matrices, one by one and together. Each
deviation beyond the table's tolerance is printed with model, pose and vertex, and the program ends with 1.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._dermis import Model


def deviations(folder: str | os.PathLike[str]) -> tuple[list[str], str]:
    """What deviates beyond its tolerance, and a line that sums up.

    Parameters
    ----------
    folder : path
        Where ``table.json`` and its files are.

    Returns
    -------
    list of str
        A line per model, pose and vertex that deviates.
    str
        How many models and poses there were, and the largest deviation in parts of its tolerance.
    """
    with open(os.path.join(folder, "table.json"), encoding="utf-8") as stream:
        table: list[dict[str, Any]] = json.load(stream)
    found: list[str] = []
    poses, largest = 0, 0.0
    for case in table:
        model = Model.open(os.path.join(folder, case["model"]))
        files = (case[key] for key in ("transforms", "pose_matrices", "expected"))
        transforms, matrices, expected = (np.load(os.path.join(folder, file)) for file in files)
        tolerance = float(case["tolerance"])
        poses += len(expected)
        ways: dict[str, NDArray[np.float32]] = {
            "transforms": model(transforms=transforms),
            "pose_matrices": model(matrices),
            "one by one": np.stack([model(matrix) for matrix in matrices]),
        }
        for way, skins in ways.items():
            apart = np.linalg.norm(skins.astype(np.float64) - expected, axis=2)
            # What is not a number deviates.
            beyond = ~(apart <= tolerance)
            finite = apart[np.isfinite(apart)]
            largest = max(largest, float(finite.max(initial=0.0)) / tolerance)
            for pose, vertex in zip(*np.nonzero(beyond)):
                found.append(
                    f"{case['name']}, {way}, pose {pose}, vertex {vertex}: {apart[pose, vertex]:.3e} m off; "
                    f"the tolerance is {tolerance:.3e} m"
                )
    return found, f"{len(table)} models, {poses} poses: largest deviation {largest:.3g} of its tolerance"


def main(arguments: Sequence[str]) -> int:
    """Runs the table in the folder that the arguments name; the exit code."""
    if len(arguments) != 1:
        print("usage: python -m dermis.conformance DIR", file=sys.stderr)
        return 2
    found, summary = deviations(arguments[0])
    for line in found:
        print(line)
    print(summary)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
