"""Asks Blender whether a skinned GLB, FBX or USD file, or the meshes of an Alembic file, move as the positions in a bundle say.

    python tools/check_blender.py CHARACTER BUNDLE.npz [--clip NAME] [--linear] [--times 0.5,1.25] [--poses 3,7]
        [--limit 1e-5]

Imports the file with Blender's own importer, sets its first animation, or the one named, to each time, evaluates the
mesh, and compares it with the bundle's `vertices` at the pose of the same position in the list. With --linear it compares
with linear blend skinning by the bundle's `bind_matrices`, `pose_matrices` and `lbs_weights` instead. Times default to
the bundle's `frame_times`, poses to all. Vertices are matched by order if the counts agree, else by position at rest. Meshes of an
Alembic file are ordered by the bundle's `object_names`, as far as it has any, and their vertices must be as many as the bundle's.

Morph targets are played as they are in the file; how many of them move, and the vertex where most is missing, are printed.

Exit 0: all within the limit, a part of the rest diagonal; 1: not; 2: the files do not fit; 3: Blender or NumPy is not
installed (`pip install bpy==4.5.* numpy`, Python 3.11).
"""

import argparse
import sys

try:
    import bpy
    import numpy as np
    from bundle_skin import linear_blend, numbers, refuse
    from mathutils.kdtree import KDTree
except ImportError as missing:
    print(f"NOT CHECKED: {missing}. Install with: pip install 'bpy==4.5.*' numpy (Python 3.11)", file=sys.stderr)
    sys.exit(3)


def blender_space(positions, up):
    """Y up as Blender's importer turns it, (x, y, z) to (x, -z, y); Z up is Blender's own."""
    if up == "Z":
        return positions
    return np.stack([positions[..., 0], -positions[..., 2], positions[..., 1]], axis=-1)


def positions_of(mesh, matrix):
    flat = np.empty(len(mesh.vertices) * 3, dtype=np.float32)
    mesh.vertices.foreach_get("co", flat)
    matrix = np.array(matrix)
    return flat.reshape(-1, 3).astype(float) @ matrix[:3, :3].T + matrix[:3, 3]


def usd_rate(path):
    """Time codes per second of a USD file, which are Blender's frames; None for other files."""
    if not path.lower().endswith((".usda", ".usdz")):
        return None
    bpy.utils.expose_bundled_modules()
    from pxr import Usd

    return Usd.Stage.Open(path).GetTimeCodesPerSecond()


def play(thing, clip):
    """Makes the named clip what moves the armature of an imported mesh."""
    armature = next(modifier.object for modifier in thing.modifiers if modifier.type == "ARMATURE")
    actions = [action for action in bpy.data.actions if action.name == clip]
    if len(actions) != 1:
        refuse(f"{len(actions)} clips are called \"{clip}\"; there are {[a.name for a in bpy.data.actions]}")
    data = armature.animation_data
    while data.nla_tracks:
        data.nla_tracks.remove(data.nla_tracks[0])
    data.action = actions[0]
    data.action_slot = actions[0].slots[0]


def match(rest, wanted, limit):
    """The vertex of the bundle at each imported vertex."""
    if len(rest) == len(wanted):
        return np.arange(len(rest))
    tree = KDTree(len(wanted))
    for at, position in enumerate(wanted):
        tree.insert(position, at)
    tree.balance()
    found = [tree.find(position) for position in rest]
    far = [at for at, (_, _, distance) in enumerate(found) if distance > limit]
    if far:
        refuse(f"{len(far)} of {len(rest)} imported vertices are at rest where the bundle has none (first: {far[0]})")
    return np.array([index for _, index, _ in found])


def import_file(path, bundle):
    """The meshes of the file, in the order of the bundle's vertices."""
    if path.lower().endswith(".abc"):
        bpy.ops.wm.alembic_import(filepath=path, as_background_job=False)
        names = list(bundle["object_names"]) if "object_names" in bundle else []
        things = [o for o in bpy.data.objects if o.type == "MESH"]
        return sorted(things, key=lambda thing: names.index(thing.name) if thing.name in names else len(names))
    if path.lower().endswith(".fbx"):
        # Time zero is frame zero, as it is in a GLB.
        bpy.ops.import_scene.fbx(filepath=path, anim_offset=0.0)
    elif path.lower().endswith((".usda", ".usdz")):
        bpy.ops.wm.usd_import(filepath=path)
    else:
        bpy.ops.import_scene.gltf(filepath=path)
    skinned = [o for o in bpy.data.objects if o.type == "MESH" and any(m.type == "ARMATURE" for m in o.modifiers)]
    if len(skinned) != 1:
        refuse(f"{path}: Blender imported {len(skinned)} skinned meshes, one is needed")
    return skinned


def shown(thing):
    """Positions of a mesh as the scene shows it now."""
    evaluated = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    positions = positions_of(evaluated.to_mesh(), evaluated.matrix_world)
    evaluated.to_mesh_clear()
    return positions


def main():
    parser = argparse.ArgumentParser(description="Compare a character as Blender deforms it with a bundle")
    parser.add_argument("character")
    parser.add_argument("npz")
    parser.add_argument("--clip", help="name of the animation; default: the first")
    parser.add_argument("--linear", action="store_true", help="compare with the linear blend of the bundle's weights")
    parser.add_argument("--times", type=numbers(float), help="seconds, separated by commas; default: frame_times")
    parser.add_argument("--poses", type=numbers(int), help="poses of the bundle, separated by commas; default: all")
    parser.add_argument("--limit", type=float, default=1e-5, help="largest error as a part of the rest diagonal")
    args = parser.parse_args()

    bundle = np.load(args.npz)
    up = str(bundle["up_axis"]) if "up_axis" in bundle else "Y"
    wanted_rest = blender_space(bundle["rest_vertices"].astype(float), up)
    skin = linear_blend(bundle) if args.linear else bundle["vertices"].astype(float)
    wanted = blender_space(skin, up)
    poses = args.poses if args.poses is not None else list(range(len(wanted)))
    if args.times is not None:
        times = args.times
    elif "frame_times" in bundle:
        times = [float(bundle["frame_times"][pose]) for pose in poses]
    else:
        refuse("the bundle has no frame_times: give --times")
    if len(times) != len(poses):
        refuse(f"{len(times)} times for {len(poses)} poses")
    diagonal = np.linalg.norm(wanted_rest.max(axis=0) - wanted_rest.min(axis=0))

    bpy.ops.wm.read_factory_settings(use_empty=True)
    things = import_file(args.character, bundle)
    thing = things[0]
    scene = bpy.context.scene
    if args.clip is not None:
        play(thing, args.clip)
    if args.character.lower().endswith(".abc"):
        # The file holds no rest shape.
        counts = [len(thing.data.vertices) for thing in things]
        if sum(counts) != len(wanted_rest):
            refuse(f"the meshes have {counts} vertices, the bundle has {len(wanted_rest)}")
        order, worst, keys = np.arange(len(wanted_rest)), 0.0, []
        print(f"{len(things)} meshes: {', '.join(thing.name for thing in things)}")
    else:
        rest = positions_of(thing.data, thing.matrix_world)
        order = match(rest, wanted_rest, args.limit * diagonal)
        worst = np.linalg.norm(rest - wanted_rest[order], axis=1).max()
        keys = thing.data.shape_keys.key_blocks[1:] if thing.data.shape_keys else []
        print(f"rest: {len(rest)} vertices, max {worst:.3e} m, {len(keys)} morph targets")
    values, where = [], "at rest"
    frames_per_second = usd_rate(args.character) or scene.render.fps / scene.render.fps_base
    for time, pose in zip(times, poses):
        frame = time * frames_per_second
        whole = int(np.floor(frame + 1e-6))
        scene.frame_set(whole, subframe=max(0.0, min(frame - whole, 1.0)))
        error = np.linalg.norm(np.concatenate([shown(thing) for thing in things]) - wanted[pose][order], axis=1)
        values.append([key.value for key in keys])
        print(f"pose {pose} at {time:.4f} s: max {error.max():.3e} m, rms {np.sqrt((error**2).mean()):.3e} m")
        if error.max() > worst:
            worst, where = error.max(), f"at vertex {order[error.argmax()]} of pose {pose}"
    if keys and values:
        span = np.ptp(np.array(values), axis=0)
        print(f"{np.count_nonzero(span > 0)} of {len(keys)} morph targets move, weights {np.min(values):.3f} to {np.max(values):.3f}")
    print(f"worst {worst:.3e} m {where}")
    print(f"worst {worst / diagonal:.3e} of the diagonal {diagonal:.4f} m, limit {args.limit:.1e}")
    sys.exit(0 if worst <= args.limit * diagonal else 1)


main()
