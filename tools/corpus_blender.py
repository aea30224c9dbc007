"""Shows what Blender makes of files, for `corpus_round.py`. Needs bpy and NumPy.

Takes one request per line of the standard input, `{"file": PATH, "times": [SECONDS], "out": PATH.npy}`. Imports the file with Blender's own
importer, plays the clip that it sets, and writes the positions of the vertices of all faces at all times, in metres, Y up, (times, vertices, 3); without
times as the file is imported. Answers with a line: "ok", or what went wrong.
"""

import json
import os
import sys

import bpy
import numpy as np


def imported(path):
    """Imports the file into an empty scene, and returns its frames per second."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if path.endswith(".fbx"):
        # Time zero is frame zero.
        bpy.ops.import_scene.fbx(filepath=path, anim_offset=0.0)
    elif path.endswith(".usdz"):
        bpy.ops.wm.usd_import(filepath=path)
        bpy.utils.expose_bundled_modules()
        from pxr import Usd

        return Usd.Stage.Open(path).GetTimeCodesPerSecond()
    else:
        raise ValueError(f"{path} is no FBX and no USD file")
    render = bpy.context.scene.render
    return render.fps / render.fps_base


def positions():
    """Of the vertices of faces, of all meshes as the scene shows them now."""
    graph, shown = bpy.context.evaluated_depsgraph_get(), []
    for thing in sorted((thing for thing in bpy.data.objects if thing.type == "MESH"), key=lambda thing: thing.name):
        evaluated = thing.evaluated_get(graph)
        mesh = evaluated.to_mesh()
        flat = np.empty(len(mesh.vertices) * 3, dtype=np.float32)
        mesh.vertices.foreach_get("co", flat)
        corners = np.empty(len(mesh.loops), dtype=np.int32)
        mesh.loops.foreach_get("vertex_index", corners)
        matrix = np.array(evaluated.matrix_world)
        shown.append(flat.reshape(-1, 3)[np.unique(corners)].astype(float) @ matrix[:3, :3].T + matrix[:3, 3])
        evaluated.to_mesh_clear()
    return np.concatenate(shown or [np.zeros((0, 3))])[:, [0, 2, 1]] * [1, 1, -1]


def answer(request):
    rate, frames = imported(request["file"]), []
    for time in request["times"]:
        whole = int(np.floor(time * rate + 1e-6))
        bpy.context.scene.frame_set(whole, subframe=min(max(time * rate - whole, 0.0), 1.0))
        frames.append(positions())
    np.save(request["out"], frames if request["times"] else [positions()])


def main():
    # Importers print to the standard output, which is kept for the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            answer(json.loads(line))
            said = "ok"
        except Exception as error:  # Whatever an importer does to a file, the next one is still asked for.
            said = " ".join(f"{type(error).__name__}: {error}".split())
        print(said, file=answers, flush=True)


main()
