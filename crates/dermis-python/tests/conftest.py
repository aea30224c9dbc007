"""Characters that the tests share: a small arm made here, and the bundled body."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import dermis

# A shell that starts a program in the background lets it ignore Ctrl-C, and Python then leaves it so.
signal.signal(signal.SIGINT, signal.default_int_handler)

Floats = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[3]
EXERCISE = ROOT / "assets/body/body_exercise.npz"
WALK = ROOT / "assets/body/body_walk.npz"


@dataclass(frozen=True)
class Arm:
    """A tube of three bones along x whose skin bulges where it bends."""

    rest: Floats
    faces: NDArray[np.int64]
    names: list[str]
    parents: list[int]
    bind: Floats
    weights: Floats

    def arrays(self) -> dict[str, object]:
        return dict(
            rest_vertices=self.rest,
            faces=self.faces,
            bone_names=self.names,
            bone_parents=self.parents,
            bind_matrices=self.bind,
            weights=self.weights,
        )

    def rig(self, **changes: object) -> dermis.Rig:
        return dermis.Rig(**{**self.arrays(), **changes})  # type: ignore[arg-type]

    def pose(self, first: float, second: float) -> Floats:
        """Joint to world with two bends about z, radians."""
        pose = np.empty((3, 4, 4))
        pose[0] = self.bind[0]
        for bone, angle in ((1, first), (2, second)):
            local = np.linalg.inv(self.bind[bone - 1]) @ self.bind[bone]
            turn = np.eye(4)
            turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            pose[bone] = pose[bone - 1] @ local @ turn
        return pose

    def blended(self, pose: Floats) -> Floats:
        """Linear blend skinning, written here: Σ w_vk (M_k p_v), M_k = T_k B_k⁻¹."""
        transforms = pose @ np.linalg.inv(self.bind)
        points = np.concatenate([self.rest, np.ones((len(self.rest), 1))], axis=1)
        posed = np.einsum("bij,vj->vbi", transforms[:, :3], points)
        skin: Floats = np.einsum("vb,vbi->vi", self.weights, posed)
        return skin

    def skin(self, first: float, second: float) -> Floats:
        """The true skin: blended, and pushed outwards at the joints by how much they bend."""
        pose = self.pose(first, second)
        skin = self.blended(pose)
        for joint, angle in ((1.0, first), (2.0, second)):
            bulge = 0.04 * (1 - np.cos(angle)) * np.exp(-(((self.rest[:, 0] - joint) / 0.25) ** 2))
            skin[:, 2] += bulge * np.sign(self.rest[:, 2])
        return skin


def make_arm() -> Arm:
    around, along = 8, 25
    x = np.repeat(np.linspace(0, 3, along), around)
    angle = np.tile(np.arange(around) * 2 * np.pi / around, along)
    rest = np.stack([x, 0.2 * np.cos(angle), 0.2 * np.sin(angle)], axis=1)
    faces = []
    for ring in range(along - 1):
        for at in range(around):
            a, b = ring * around + at, ring * around + (at + 1) % around
            faces += [[a, b, a + around], [b, b + around, a + around]]
    bind = np.tile(np.eye(4), (3, 1, 1))
    bind[:, 0, 3] = [0, 1, 2]
    s1, s2 = np.clip((x - 0.7) / 0.6, 0, 1), np.clip((x - 1.7) / 0.6, 0, 1)
    weights = np.stack([1 - s1, s1 * (1 - s2), s1 * s2], axis=1)
    return Arm(rest, np.array(faces), ["upper", "middle", "tip"], [-1, 0, 1], bind, weights)


@pytest.fixture(scope="session")
def arm() -> Arm:
    return make_arm()


BENDS = [(a, b) for a in (-1.2, -0.6, 0.0, 0.5, 1.1) for b in (-1.0, 0.0, 0.9)]
UNSEEN = [(0.3, 0.4), (-0.8, 0.5), (0.8, -0.6)]


def examples_of(arm: Arm, rig: dermis.Rig, bends: list[tuple[float, float]]) -> dermis.Examples:
    poses = np.stack([arm.pose(*bend) for bend in bends])
    skins = np.stack([arm.skin(*bend) for bend in bends])
    return dermis.Examples(rig, poses, skins, labels=[f"bend {a} {b}" for a, b in bends])


@pytest.fixture(scope="session")
def arm_rig(arm: Arm) -> dermis.Rig:
    return arm.rig()


@pytest.fixture(scope="session")
def train(arm: Arm, arm_rig: dermis.Rig) -> dermis.Examples:
    return examples_of(arm, arm_rig, BENDS)


@pytest.fixture(scope="session")
def unseen(arm: Arm, arm_rig: dermis.Rig) -> dermis.Examples:
    return examples_of(arm, arm_rig, UNSEEN)


@pytest.fixture(scope="session")
def arm_fit(arm_rig: dermis.Rig, train: dermis.Examples, unseen: dermis.Examples) -> dermis.Fit:
    return dermis.fit(arm_rig, train, hold_out=unseen)


@pytest.fixture(scope="session")
def body() -> dermis.Rig:
    return dermis.Rig.open(EXERCISE)


@pytest.fixture(scope="session")
def exercise(body: dermis.Rig) -> dermis.Examples:
    return dermis.Examples.open(body, EXERCISE)


@pytest.fixture(scope="session")
def walk(body: dermis.Rig) -> dermis.Examples:
    return dermis.Examples.open(body, WALK)


def program(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs the program dermis: the binary that DERMIS_PROGRAM names, or the one of the package."""
    named = os.environ.get("DERMIS_PROGRAM")
    command = [named] if named else [sys.executable, "-m", "dermis"]
    return subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, check=False)
