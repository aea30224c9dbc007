"""Inverts modifier stacks of Blender on the bundled body, and prints a table.

    python tools/bench_blender_inverse.py [--json] [--noise] [--calls N]

A smooth bulge of 1 cm is sculpted at the left elbow, bent by 90 degrees. Each stack takes it back to rest. The table has the
calls of the stack, seconds, milliseconds per call, the largest residual and the root mean square of all, how many vertices are
farther than 1e-4 mm from the sculpt, and the largest displacement. With --noise every
vertex is also moved by up to 1 mm in a random direction, which a stack that smooths cannot make.

Exit 0: done; 3: Blender, NumPy or the Dermis package is not installed (Python 3.11).
"""

import argparse
import contextlib
import io
import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "blender"))

try:
    import bpy
    import numpy as np

    from dermis_blender import stack_inverse
except ImportError as missing:
    print(f"NOT RUN: {missing}", file=sys.stderr)
    sys.exit(3)


def body():
    """The bundled body, at rest, without its clips: the mesh and the armature."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with contextlib.redirect_stdout(io.StringIO()):
        bpy.ops.import_scene.gltf(filepath=str(ROOT / "assets" / "body" / "body.glb"))
    mesh, rig = bpy.data.objects["body"], bpy.data.objects["body_rig"]
    rig.animation_data_clear()
    for bone in rig.pose.bones:
        bone.matrix_basis.identity()
    return mesh, rig


def bend(rig, degrees):
    """Turns the left forearm about the axis of its elbow; where the elbow is then, and where it points."""
    upper, lower = (rig.data.bones[name] for name in ("upperarm_l", "lowerarm_l"))
    here, before, after = lower.head_local, upper.head_local, rig.data.bones["hand_l"].head_local
    axis = (here - before).cross(after - here).normalized()
    axis = lower.matrix_local.to_3x3().inverted() @ axis
    bone = rig.pose.bones["lowerarm_l"]
    bone.rotation_mode = "AXIS_ANGLE"
    already = math.degrees((here - before).angle(after - here))
    bone.rotation_axis_angle = (math.radians(degrees - already), *axis)
    bpy.context.view_layer.update()
    bone = rig.pose.bones["lowerarm_l"]
    along = [np.array(b.tail - b.head) / b.length for b in (rig.pose.bones["upperarm_l"], bone)]
    outwards = along[0] - along[1]
    return np.array(bone.head), outwards / np.linalg.norm(outwards)


def skin(mesh):
    """Evaluated positions."""
    evaluated = mesh.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    points = np.empty(3 * len(mesh.data.vertices), dtype=np.float32)
    evaluated.attributes["position"].data.foreach_get("vector", points)
    return points.reshape(-1, 3).astype(float)


def bulge(points, elbow, outwards, height=0.01, radius=0.05):
    """A smooth bulge around the outermost point of the elbow; a mesh holds single precision."""
    near = np.linalg.norm(points - elbow, axis=1) < 0.1
    tip = points[near][np.argmax(points[near] @ outwards)]
    distance = np.linalg.norm(points - tip, axis=1)
    return (points + height * np.exp(-((distance / radius) ** 2))[:, None] * outwards).astype(np.float32)


def lattice(mesh):
    """A lattice around the body, with its points moved by up to 4 cm, after the armature."""
    data = bpy.data.lattices.new("lattice")
    data.points_u, data.points_v, data.points_w = 4, 3, 5
    cage = bpy.data.objects.new("lattice", data)
    bpy.context.collection.objects.link(cage)
    # Points lie one unit apart.
    cage.location, cage.scale = (0.0, 0.0, 0.9), (2.0 / 3, 1.2 / 2, 2.2 / 4)
    dice = np.random.default_rng(1)
    for point in data.points:
        move = dice.uniform(-0.04, 0.04, 3) / np.array(cage.scale)
        point.co_deform = [float(x) for x in np.array(point.co_deform) + move]
    mesh.modifiers.new("Lattice", "LATTICE").object = cage


def artists_key(mesh):
    """A shape key of the artist's own, at one half: a thicker body."""
    mesh.shape_key_add(name="Basis", from_mix=False)
    key = mesh.shape_key_add(name="thick", from_mix=False)
    rest, normals = (np.empty(3 * len(mesh.data.vertices), dtype=np.float32) for _ in range(2))
    mesh.data.vertices.foreach_get("co", rest)
    mesh.data.vertices.foreach_get("normal", normals)
    key.data.foreach_set("co", rest + 0.01 * normals)
    key.value = 0.5


def shrinkwrap(mesh, centre):
    """A ball that presses into the crook of the elbow: the skin stays outside."""
    bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=4, radius=0.04, location=centre)
    ball = bpy.context.object
    modifier = mesh.modifiers.new("Shrinkwrap", "SHRINKWRAP")
    modifier.target, modifier.wrap_mode = ball, "OUTSIDE"


def cases():
    """Names of the stacks, each with its scene: the mesh and the sculpt."""
    def stack(*layers):
        mesh, rig = body()
        elbow, outwards = bend(rig, 90.0)
        for layer in layers:
            layer(mesh, elbow - 0.07 * outwards)
        bpy.context.view_layer.update()
        return mesh, bulge(skin(mesh), elbow, outwards)

    def preserve(mesh, _):
        mesh.modifiers["body_rig" if "body_rig" in mesh.modifiers else 0].use_deform_preserve_volume = True

    layers = [
        ("armature", None),
        ("armature, preserve volume", preserve),
        ("armature, lattice", lambda mesh, _: lattice(mesh)),
        ("+ a shape key at 0.5", lambda mesh, _: artists_key(mesh)),
        ("+ corrective smooth", lambda mesh, _: mesh.modifiers.new("Smooth", "CORRECTIVE_SMOOTH")),
        ("+ shrinkwrap", shrinkwrap),
    ]
    yield layers[0][0], lambda: stack()
    yield layers[1][0], lambda: stack(preserve)
    for last in range(3, len(layers) + 1):
        yield layers[last - 1][0], lambda last=last: stack(*(layer for _, layer in layers[2:last]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--calls", type=int, default=stack_inverse.MAX_CALLS)
    options = parser.parse_args()
    rows = []
    for name, scene in cases():
        mesh, sculpt = scene()
        if options.noise:
            sculpt += np.random.default_rng(3).uniform(-1e-3, 1e-3, sculpt.shape)
        found = stack_inverse.invert(mesh, sculpt, max_calls=options.calls)
        longest = 1e3 * np.linalg.norm(found.displacement, axis=1).max()
        rows.append({
            "stack": name, "calls": found.calls, "seconds": round(found.seconds, 3),
            "ms_per_call": round(1e3 * found.seconds / found.calls, 1), "largest_mm": found.largest_mm,
            "rms_mm": found.rms_mm, "above": int((1e3 * np.linalg.norm(found.remainder, axis=1) > 1e-4).sum()),
            "displacement_mm": longest, "reason": found.reason, "coupled": list(found.coupled),
        })
    if options.json:
        print(json.dumps({"blender": bpy.app.version_string, "vertices": len(sculpt), "rows": rows}, indent=1))
        return
    print(f"Blender {bpy.app.version_string}, {len(sculpt)} vertices")
    print(
        f"{'stack':<28} {'calls':>5} {'seconds':>8} {'ms/call':>8} {'left, mm':>9} {'rms, mm':>9} {'> 1e-4 mm':>9} "
        f"{'at most, mm':>12}  why"
    )
    for row in rows:
        print(
            f"{row['stack']:<28} {row['calls']:>5} {row['seconds']:>8.2f} {row['ms_per_call']:>8.1f} "
            f"{row['largest_mm']:>9.1e} {row['rms_mm']:>9.1e} {row['above']:>9} {row['displacement_mm']:>12.2f}  {row['reason']}"
        )


if __name__ == "__main__":
    main()
