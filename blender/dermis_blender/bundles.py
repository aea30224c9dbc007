# SPDX-License-Identifier: GPL-3.0-or-later
"""Bundles (.npz): rig, poses and skins as files, for the program and for the verbs of the package that read files."""

import numpy as np

from . import character, reading
from .reading import Unreadable


def bundle(thing, taken=None):
    """The arrays of a bundle: rig, and the examples that are learnt or checked."""
    rig = reading.rig_arrays(thing, character.place(thing))
    if taken is None:
        from . import examples

        taken = examples.read(thing)
    faces = thing.data.polygons
    made = {
        "rest_vertices": rig["rest_vertices"],
        "lbs_weights": rig["weights"],
        "face_counts": [f.loop_total for f in faces],
        "face_indices": [v for f in faces for v in f.vertices],
        "bone_names": rig["bone_names"],
        "bone_parents": rig["bone_parents"],
        "bind_matrices": rig["bind_matrices"],
        "units": "m",
        "up_axis": "z",
    }
    if taken:
        made["pose_labels"] = [one.label for one in taken]
        made["pose_matrices"] = np.array([one.pose for one in taken])
        made["vertices"] = np.array([one.skin for one in taken])
        if any(one.importance != 1.0 for one in taken):
            made["pose_weights"] = np.array([one.importance for one in taken])
        if all(one.time is not None for one in taken) and len({one.number for one in taken}) == 1:
            made["frame_times"] = np.array([one.time for one in taken])
    return made


def save_rig(file, rig, **more):
    """A bundle of a rig and whatever else it holds."""
    made = {
        "rest_vertices": rig["rest_vertices"],
        "faces": rig["faces"],
        "bone_names": rig["bone_names"],
        "bone_parents": rig["bone_parents"],
        "bind_matrices": rig["bind_matrices"],
        "units": "m",
        "up_axis": "z",
        **more,
    }
    if "weights" in rig and rig["weights"] is not None:
        made["lbs_weights"] = rig["weights"]
    np.savez(file, **made)


def poses_of(taken):
    """Poses and skins of examples, as a bundle holds them."""
    return {
        "pose_labels": [one.label for one in taken],
        "pose_matrices": np.array([one.pose for one in taken]),
        "vertices": np.array([one.skin for one in taken]),
    }


def motion_of(context, thing, step=1):
    """Every so many frames of the armature's action, with the poses in them, (N, B, 4, 4)."""
    rig, place, scene = character.armature(thing), character.place(thing), context.scene
    first, last = clip_range(context, rig)
    frames, poses = list(range(first, last + 1, step)), []
    if len(frames) > 5000:
        raise Unreadable(f"The action has {len(frames)} frames; shorten it to 5000 or less")
    from . import live

    with live.hidden(thing), reading.at_frames(scene):
        for frame in frames:
            scene.frame_set(frame)
            poses.append(reading.pose_matrices(rig, place))
    return frames, np.array(poses)


def clip_range(context, rig):
    """First and last frame of the armature's action, or of the scene."""
    data = rig.animation_data
    if data is not None and data.action is not None:
        first, last = data.action.frame_range
        return int(np.floor(first)), int(np.ceil(last))
    return context.scene.frame_start, context.scene.frame_end
