# SPDX-License-Identifier: GPL-3.0-or-later
"""`tools/blender_bundle.py`, which needs no add-on, writes the bundle that the add-on writes."""

import sys

import bpy
import numpy as np
import pytest

from conftest import ROOT, bent_arm
from dermis_blender import bundles

sys.path.insert(0, str(ROOT / "tools"))
from blender_bundle import bundle  # noqa: E402


@pytest.mark.parametrize("moved", [False, True])
def test_the_script_and_the_add_on_write_the_same(scene, moved):
    arm, rig = bent_arm()
    if moved:
        rig.scale, rig.location, rig.rotation_euler = (80.0,) * 3, (3.0, -2.0, 1.0), (0.3, 0.2, 0.1)
        scene.unit_settings.scale_length = 0.01
        # Moving the object over time is no pose.
        for frame in (1, 20):
            rig.location.x = frame
            rig.keyframe_insert("location", frame=frame)
    scene.frame_set(7)
    arm.modifiers.new("Smooth", "CORRECTIVE_SMOOTH")
    bpy.context.view_layer.update()
    by_script = bundle(arm, range(1, 21))
    scene.frame_set(7)
    assert bpy.ops.dermis.set_up() == {"FINISHED"}
    assert bpy.ops.dermis.add_clip(start=1, end=20) == {"FINISHED"}
    by_add_on = bundles.bundle(arm)
    assert by_script.keys() == by_add_on.keys()
    for name, wanted in by_script.items():
        found = by_add_on[name]
        if isinstance(wanted, str) or isinstance(list(wanted)[0], str):
            assert list(found) == list(wanted), name
        else:
            assert np.abs(np.asarray(found, dtype=float) - np.asarray(wanted, dtype=float)).max() < 1e-6, name
