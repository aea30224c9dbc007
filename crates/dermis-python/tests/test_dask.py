"""Fits on a cluster of two worker processes on this machine, one of them killed in the middle."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pytest
from distributed import Client, LocalCluster

import dermis
import dermis.dask

BONES = 4


def arm(poses: int, seed: int) -> "dict[str, Any]":
    """A tube of four bones whose skin bulges where it bends: a bundle of arrays."""
    random = np.random.default_rng(seed)
    rings, sides = 24, 10
    x, turn = np.meshgrid(np.linspace(0.0, 1.0, rings), np.arange(sides) * 2 * np.pi / sides, indexing="ij")
    rest = np.stack([x.ravel(), 0.1 * np.cos(turn).ravel(), 0.1 * np.sin(turn).ravel()], axis=1)

    def at(ring: int, side: int) -> int:
        return ring * sides + side % sides

    faces = [
        face
        for ring in range(rings - 1)
        for side in range(sides)
        for face in (
            [at(ring, side), at(ring + 1, side), at(ring + 1, side + 1)],
            [at(ring, side), at(ring + 1, side + 1), at(ring, side + 1)],
        )
    ]
    heads = np.arange(BONES) / BONES
    place = np.clip((rest[:, 0] - 1 / BONES / 2) * BONES, 0, BONES - 1)
    weights = np.maximum(0, 1 - np.abs(place[:, None] - np.arange(BONES)))
    weights /= weights.sum(axis=1, keepdims=True)
    bind = np.tile(np.eye(4), (BONES, 1, 1))
    bind[:, 0, 3] = heads
    angles = random.uniform(-0.8, 0.8, (poses, BONES))
    world = np.zeros((poses, BONES, 4, 4))
    for pose in range(poses):
        above = np.eye(4)
        for bone in range(BONES):
            c, s = np.cos(angles[pose, bone]), np.sin(angles[pose, bone])
            local = np.eye(4)
            local[:2, :2] = [[c, -s], [s, c]]
            local[0, 3] = heads[bone] - (heads[bone - 1] if bone else 0.0)
            above = above @ local
            world[pose, bone] = above
    moves = world @ np.linalg.inv(bind)
    blend = np.einsum("vb,pbij->pvij", weights, moves)
    bend = np.abs(angles) @ weights.T
    bulged = rest[None] * np.array([1.0, 1.0, 1.0]) + 0.04 * bend[..., None] * rest[None] * np.array([0, 1.0, 1.0])
    skins = np.einsum("pvij,pvj->pvi", blend[..., :3, :3], bulged) + blend[..., :3, 3]
    return {
        "rest_vertices": rest,
        "faces": np.array(faces, dtype=np.int32),
        "bone_names": np.array([f"bone {bone}" for bone in range(BONES)]),
        "bone_parents": np.arange(BONES) - 1,
        "bind_matrices": bind,
        "lbs_weights": weights,
        "pose_matrices": world,
        "vertices": skins,
        "pose_labels": np.array([f"pose {pose}" for pose in range(poses)]),
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> "list[str]":
    folder = tmp_path_factory.mktemp("parts")
    paths = []
    for part in range(5):
        paths.append(str(folder / f"part{part}.npz"))
        np.savez(paths[-1], **arm(6, part))
    return paths


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    options: dict[str, Any] = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with LocalCluster(**options) as cluster:  # type: ignore[no-untyped-call]
        with Client(cluster) as client:  # type: ignore[no-untyped-call]
            yield client


def examples_after_a_death(rig: str, path: str, flag: str) -> "dermis.Examples":
    """Examples of a part; the first worker that is asked dies."""
    if not os.path.exists(flag):
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return dermis.Examples.open(dermis.Rig.open(rig), path)


def on_one_machine(files: "list[str]", method: "dermis.Method", shares: int) -> bytes:
    rig = dermis.Rig.open(files[0])
    if isinstance(method, dermis.Joint):
        parts = [dermis.fit_part(rig, files, method=method, share=(at + 1, shares)) for at in range(shares)]
    else:
        parts = [dermis.fit_part(rig, [path], method=method) for path in files]
    return dermis.fit_parts(rig, parts, method=method).model.to_bytes()


@pytest.mark.parametrize("method", [dermis.Joint(), dermis.Mwe()], ids=["joint", "mwe"])
def test_a_killed_worker_changes_no_bit(
    client: Client, files: "list[str]", method: "dermis.Method", tmp_path: Path
) -> None:
    flag = str(tmp_path / "died")
    parts: "list[Any]" = list(files)
    parts[2] = client.submit(examples_after_a_death, files[0], files[2], flag, pure=False)
    shares = 3 if isinstance(method, dermis.Joint) else None
    made = dermis.dask.fit(client, files[0], parts, method=method, shares=shares)
    assert os.path.exists(flag), "a worker died"
    assert made.model.to_bytes() == on_one_machine(files, method, 3)
    assert len(made.part_bytes) == (3 if shares else len(files))


def test_shares_do_not_change_the_model(client: Client, files: "list[str]") -> None:
    one, four, default = (
        dermis.dask.fit(client, files[0], files, shares=shares).model.to_bytes() for shares in (1, 4, None)
    )
    assert one == four == default


def test_sums_of_parts_give_the_fit_of_all_examples(client: Client, files: "list[str]") -> None:
    """The same normal equations, summed in another order."""
    rig = dermis.Rig.open(files[0])
    bundle = np.load(files[1])
    together = dermis.fit(rig, dermis.Examples.open(rig, *files), method=dermis.Mwe(ridge={"fixed": 0.01}), folds=0)
    spread = dermis.dask.fit(client, rig, files, method=dermis.Mwe(ridge={"fixed": 0.01}))
    apart = np.abs(together.model(bundle["pose_matrices"]) - spread.model(bundle["pose_matrices"])).max()
    assert apart < 1e-6


def test_a_part_that_cannot_be_read_is_named(client: Client, files: "list[str]", tmp_path: Path) -> None:
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"PK\x03\x04 and nothing more")
    with pytest.raises(dermis.Error, match=r"part 1 .*broken\.npz"):
        dermis.dask.fit(client, files[0], [files[0], str(broken)], method=dermis.Mwe())
    with pytest.raises(dermis.Error, match="broken"):
        dermis.dask.fit(client, files[0], [files[0], str(broken)])


def test_bad_arguments_are_refused(client: Client, files: "list[str]") -> None:
    with pytest.raises(ValueError, match="at least one part"):
        dermis.dask.fit(client, files[0], [])
    with pytest.raises(ValueError, match="shares"):
        dermis.dask.fit(client, files[0], files, method=dermis.Mwe(), shares=2)
    with pytest.raises(ValueError, match="shares"):
        dermis.dask.fit(client, files[0], files, shares=0)
    with pytest.raises(dermis.Error):
        dermis.dask.fit(client, files[0], files, method=dermis.Psd())
    with pytest.raises(ValueError, match=r"\(N, B, 4, 4\)"):
        dermis.dask.pose(client, dermis.Model.read(on_one_machine(files, dermis.Mwe(), 1)), np.zeros((4, 4)))


def test_cross_validation_gives_the_number_of_the_fit(client: Client, files: "list[str]") -> None:
    rig = dermis.Rig.open(files[0])
    examples = dermis.Examples.open(rig, *files[:3])
    alone = dermis.fit(rig, examples, folds=4).errors.cross_validated
    assert alone is not None
    rms, folds = dermis.dask.cross_validate(client, rig, files[:3], folds=4)
    assert rms == pytest.approx(alone.rms, rel=1e-12)
    assert sorted(index for fold in folds for index in fold.examples) == list(range(len(examples)))
    assert max(fold.max for fold in folds) == alone.max


def test_methods_are_compared_a_task_each(client: Client, files: "list[str]") -> None:
    rows = dermis.dask.compare(client, files[0], files[:2], files[2:3], ["lbs", dermis.Mwe()])
    assert [row["method"] for row in rows] == ["lbs", "mwe"]
    rig = dermis.Rig.open(files[0])
    alone = dermis.fit(
        rig,
        dermis.Examples.open(rig, *files[:2]),
        hold_out=dermis.Examples.open(rig, files[2]),
        method=dermis.Mwe(),
    )
    assert alone.errors.held_out is not None
    assert rows[1]["held_out_rms"] == alone.errors.held_out.rms


def test_frames_are_posed_in_order(client: Client, files: "list[str]") -> None:
    rig = dermis.Rig.open(files[0])
    model = dermis.fit(rig, dermis.Examples.open(rig, files[0]), method=dermis.Mwe(), folds=0).model
    poses = np.load(files[1])["pose_matrices"]
    frames = client.gather(dermis.dask.pose(client, model, poses, frames=4))  # type: ignore[no-untyped-call]
    assert [len(part) for part in frames] == [4, 2]
    assert np.array_equal(np.concatenate(frames), model(poses))
