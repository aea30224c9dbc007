"""Writes rig, poses and skins of a character in Blender as one bundle (docs/from-blender.md):
blender hero.blend --background --python tools/blender_bundle.py -- hero.npz --mesh Body --frames 1..40"""
import argparse, re, sys, bpy, numpy as np

def positions(mesh, world):
    flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", flat)
    return flat.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]

def bundle(thing, frames):
    scene, metres = bpy.context.scene, np.diag([bpy.context.scene.unit_settings.scale_length] * 3 + [1.0])
    armature, = [modifier.object for modifier in thing.modifiers if modifier.type == "ARMATURE"]
    bones, faces, count = armature.data.bones, thing.data.polygons, len(thing.data.vertices)
    # Where the armature stands now is where it stands in every pose: moving the object teaches nothing.
    place = metres @ np.array(armature.matrix_world)
    inside = lambda object: place @ np.linalg.inv(np.array(armature.matrix_world)) @ np.array(object.matrix_world)
    clip = armature.animation_data.action.name if armature.animation_data and armature.animation_data.action else "frame"
    # An object elbow_90@12 is a sculpt in the pose of frame 12. It replaces what the rig makes of that frame.
    records = [(int(at[2]), at[1], o) for o in scene.objects if (at := re.fullmatch(r"(.+)@(\d+)", o.name))]
    times = {} if records else {"frame_times": (np.array(frames) - min(frames)) * scene.render.fps_base / scene.render.fps}
    records += [(at, f"{clip} {at}", thing) for at in frames if at not in [sculpt[0] for sculpt in records]]
    poses, skins, weights = [], [], np.zeros((count, len(bones)))
    for frame, label, shape in records:
        scene.frame_set(frame)
        poses.append([place @ np.array(armature.pose.bones[b.name].matrix) for b in bones])
        shown = shape.evaluated_get(bpy.context.evaluated_depsgraph_get())
        skins.append(positions(shown.to_mesh(), inside(shape)))
        if len(skins[-1]) != count:
            sys.exit(f"{label}: {len(skins[-1])} vertices, not {thing.name}'s {count}. Turn off modifiers that add any")
    for vertex, group in ((v.index, group) for v in thing.data.vertices for group in v.groups):
        if (bone := bones.get(thing.vertex_groups[group.group].name)) and bone.use_deform:
            weights[vertex, bones.find(bone.name)] += group.weight
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-30)
    return dict(times, rest_vertices=positions(thing.data, inside(thing)), lbs_weights=weights,
                face_counts=[f.loop_total for f in faces], face_indices=[v for f in faces for v in f.vertices],
                bone_names=bones.keys(), bone_parents=[bones.find(b.parent.name) if b.parent else -1 for b in bones],
                bind_matrices=[place @ np.array(b.matrix_local) for b in bones], units="m",
                pose_labels=[label for _, label, _ in records], pose_matrices=poses, vertices=skins, up_axis="z")

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ["out", "--mesh", "--frames"]: parser.add_argument(option)
    args = parser.parse_args(sys.argv[sys.argv.index("--") + 1:])
    first, last = map(int, (args.frames or "1..0").split(".."))
    np.savez(args.out, **bundle(bpy.data.objects[args.mesh], range(first, last + 1)))
