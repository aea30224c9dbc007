"""The runner of conformance tables, on a table made here: expected positions come from NumPy, in double precision."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import dermis
from conftest import UNSEEN, Arm


def write_table(folder: Path, arm: Arm, off: float = 0.0) -> None:
    rig = arm.rig()
    poses = np.stack([arm.pose(*bend) for bend in UNSEEN])
    skins = np.stack([arm.blended(pose) for pose in poses])
    model = dermis.fit(rig, dermis.Examples(rig, poses, skins), method=dermis.OwnWeights(), folds=0).model
    model.save(folder / "arm.dermis")
    np.save(folder / "arm.transforms.npy", poses @ np.linalg.inv(arm.bind))
    np.save(folder / "arm.pose_matrices.npy", poses)
    skins[1, 7, 2] += off
    np.save(folder / "arm.expected.npy", skins)
    case = {
        "name": "arm",
        "model": "arm.dermis",
        "transforms": "arm.transforms.npy",
        "pose_matrices": "arm.pose_matrices.npy",
        "expected": "arm.expected.npy",
        "tolerance": 2e-6,
    }
    (folder / "table.json").write_text(json.dumps([case]))


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "dermis.conformance", folder], capture_output=True, text=True)


def test_a_table_that_agrees_passes(tmp_path: Path, arm: Arm) -> None:
    write_table(tmp_path, arm)
    ran = run(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.startswith("1 models, 3 poses: largest deviation ")


def test_a_deviation_is_named(tmp_path: Path, arm: Arm) -> None:
    write_table(tmp_path, arm, off=1e-3)
    ran = run(tmp_path)
    assert ran.returncode == 1
    lines = ran.stdout.splitlines()
    assert len(lines) == 4, "three ways to evaluate, and the sum"
    assert "arm, transforms, pose 1, vertex 7: 1.000e-03 m off; the tolerance is 2.000e-06 m" in lines[0]
