"""Sessions: what an artist does, over files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dermis
from conftest import WALK, program


def sculpted(bundle: Path, name: str, frame: int) -> None:
    """The true skin of the left thigh in place of what was shown."""
    with np.load(WALK) as walk, np.load(bundle) as offers:
        names = [str(label) for label in offers["pose_labels"]]
        bone = [str(bone) for bone in walk["bone_names"]].index("thigh_l")
        share = walk["lbs_weights"][:, bone, None]
        arrays = {key: offers[key] for key in offers}
        at = names.index(name)
        shown = arrays["vertices"][at]
        arrays["vertices"] = arrays["vertices"].copy()
        arrays["vertices"][at] = shown + share * (walk["vertices"][frame] - shown)
    np.savez(bundle, **arrays)


def test_a_session_is_the_programs(tmp_path: Path) -> None:
    session = dermis.Session.new(WALK, tmp_path / "s", motions=WALK, truths=WALK)
    [offer] = session.next(1, out=tmp_path / "todo.npz")
    assert not offer["check"] and offer["shown_by"] == "rig"
    frame = int(offer["pose"].split(":")[1])
    sculpted(tmp_path / "todo.npz", offer["name"], frame)
    added = session.add(f"{tmp_path / 'todo.npz'}#{offer['name']}")
    assert added["steps"][0]["touched"] > 100 and added["model"] == 1
    error = added["scores"]["checks"]["error"]
    assert error["after"] < error["before"] == error["rig"]
    first = (tmp_path / "s/models/0001.dermis").read_bytes()
    assert session.undo()["model"] is None
    assert session.redo()["model"] == 1
    again = dermis.Session.open(tmp_path / "s")
    again.export(tmp_path / "m.dermis")
    assert (tmp_path / "m.dermis").read_bytes() == first
    assert "1 sculpt" in program("session", "status", tmp_path / "s").stdout
    with pytest.raises(dermis.Error, match="no session"):
        dermis.Session.open(tmp_path / "nowhere")
    with pytest.raises(dermis.Error, match="touches no vertex"):
        again.next(1, out=tmp_path / "more.npz")
        again.add(tmp_path / "more.npz")


def test_what_was_shown_is_kept(tmp_path: Path) -> None:
    session = dermis.Session.new(WALK, tmp_path / "s", motions=WALK)
    [offer] = session.next(1, out=tmp_path / "todo.npz")
    sculpted(tmp_path / "todo.npz", offer["name"], int(offer["pose"].split(":")[1]))
    program("invert", WALK, "--sculpts", tmp_path / "todo.npz", "-o", tmp_path / "inverted.npz")
    program("invert", WALK, "--sculpts", tmp_path / "todo.npz", "-o", tmp_path / "rest.npz", "--rest-space")
    rig = dermis.Rig.open(WALK)
    with np.load(tmp_path / "todo.npz") as arrays:
        for name in ("todo.npz", "inverted.npz"):
            shown = dermis.Examples.open(rig, tmp_path / name).shown
            assert shown is not None and np.abs(shown - arrays["shown"]).max() < 1e-6, name
    # Rest shapes are no skins that were shown.
    with np.load(tmp_path / "rest.npz") as arrays:
        assert "shown" not in arrays


def test_a_changed_rig_takes_the_steps(tmp_path: Path) -> None:
    session = dermis.Session.new(WALK, tmp_path / "s", motions=WALK, truths=WALK)
    [offer] = session.next(1, out=tmp_path / "todo.npz")
    sculpted(tmp_path / "todo.npz", offer["name"], int(offer["pose"].split(":")[1]))
    added = session.add(f"{tmp_path / 'todo.npz'}#{offer['name']}")
    with np.load(WALK) as walk:
        arrays = {key: walk[key] for key in walk}
    # Smoother weights: each vertex has its own and a tenth of the next vertex's.
    weights = arrays["lbs_weights"]
    arrays["lbs_weights"] = 0.9 * weights + 0.1 * np.roll(weights, 1, axis=0)
    np.savez(tmp_path / "new.npz", **arrays)
    rebased = session.rebase(tmp_path / "new.npz", tmp_path / "t")
    status = rebased.status()
    assert [step["touched"] for step in status["steps"]] == [added["steps"][0]["touched"]]
    assert status["model"] == 1 and session.status()["model"] == 1
    arrays["bone_names"] = np.char.replace(arrays["bone_names"], "thigh_l", "thigh")
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(dermis.Error, match="lacks bones .*thigh_l"):
        session.rebase(tmp_path / "other.npz", tmp_path / "u")
