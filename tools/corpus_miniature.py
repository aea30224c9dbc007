"""Writes a small file of each kind that the corpus is about: python corpus_miniature.py FOLDER

Skins below turned and scaled roots, bones that shear or have no size, default morph weights, every interpolation, nodes that move outside
the skin, a mesh in no scene, skins in FBX, and motions in BVH. Each is small enough to be read by hand.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np

from corpus_gltf import Gltf

HALF = 0.5**0.5


def main():
    folder = Path(sys.argv[1])
    for name, write in [("gltf", gltf_files), ("fbx", fbx_files), ("bvh", bvh_files)]:
        (folder / name).mkdir(parents=True, exist_ok=True)
        write(folder / name)
    check_reading(folder / "gltf")


def check_reading(folder):
    """Holds the reading of these files against closed forms: `corpus.py` reads a file and what became of it with the same code."""
    # The upper end belongs to the second bone alone, which turns about a joint at a height of 1 m.
    end = np.array([[x, 2, z] for x, z in [(-0.2, -0.2), (0.2, -0.2), (0.2, 0.3), (-0.2, 0.2)]])

    def bent(degrees):
        return np.array([0, 1, 0]) + (end - [0, 1, 0]) @ about_z(degrees).T

    def expect(file, clip, time, expected):
        off = np.abs(Gltf(folder / file).shown(clip, time)[-4:] - expected).max()
        if not off < 1e-6:
            sys.exit(f"FAILED: {file} at {time} s is read {off:.1e} m off")

    # Half way between two keys an arc is half as long; -90 degrees about X take Y to -Z, and Z to Y.
    for time, degrees in [(0.25, 20), (0.75, 5)]:
        x, y, z = bent(degrees).T
        expect("scaled_turned_root.glb", 0, time, 0.01 * np.stack([x, z, -y], axis=1) + [0.1, 0.2, 0.3])
    # A weight of 0.5 of 0.1 m along X, and one of 0.25 of 0.2 m along Y.
    expect("default_weights.glb", None, 0, end + [0.05, 0.05, 0])
    # A step holds its key; a spline half way is the mean of its keys and an eighth of the difference of its tangents.
    expect("step_and_spline.glb", 0, 0.7, bent(40) + [0.3, 0, 0])
    moved = np.array([0.15, 0, 0]) + 0.5 / 8 * (np.array([0, 0.3, 0]) - [0.2, 0, 0])
    half = (turn(0, 2) + turn(40, 2)) / 2
    expect("step_and_spline.glb", 1, 0.25, bent(2 * np.degrees(np.arctan2(half[2], half[3]))) + moved)
    expect("root_moves.glb", 0, 0.25, bent(20) + [0.15, 0, 0])
    # The node above scales after the bone turned, so that the bone shears.
    expect("bone_that_shears.glb", 0, 0.7, (end @ about_z(40).T) * [1, 2, 0.5])
    expect("bone_without_size.glb", 1, 0.25, bent(20))


def about_z(degrees):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


class Writer:
    """The JSON of a file and its bytes."""

    def __init__(self):
        self.json = {"asset": {"version": "2.0"}, "bufferViews": [], "accessors": [], "meshes": [], "nodes": [], "scene": 0, "scenes": [{"nodes": []}]}
        self.bytes = b""

    def accessor(self, rows, kind, component=5126):
        data = np.asarray(rows, {5126: "<f4", 5123: "<u2", 5121: "u1"}[component])
        self.json["bufferViews"].append({"buffer": 0, "byteOffset": len(self.bytes), "byteLength": data.nbytes})
        self.bytes += data.tobytes() + b"\0" * (-data.nbytes % 4)
        accessor = {"bufferView": len(self.json["bufferViews"]) - 1, "componentType": component, "count": len(data), "type": kind}
        if component == 5126:
            table = data.reshape(len(data), -1)
            accessor |= {"min": table.min(axis=0).tolist(), "max": table.max(axis=0).tolist()}
        self.json["accessors"].append(accessor)
        return len(self.json["accessors"]) - 1

    def node(self, parent=None, **values):
        self.json["nodes"].append(values)
        at = len(self.json["nodes"]) - 1
        siblings = self.json["scenes"][0]["nodes"] if parent is None else self.json["nodes"][parent].setdefault("children", [])
        siblings.append(at)
        return at

    def tube(self, skinned, targets=0, weights=None):
        """A square tube of five rings along Y, 2 m high; its upper half belongs to the second bone."""
        rings = [(x, y, z) for y in np.linspace(0, 2, 5) for x, z in [(-0.2, -0.2), (0.2, -0.2), (0.2, 0.3), (-0.2, 0.2)]]
        places = np.array(rings)
        faces = [(a, c, b) + (b, c, d) for r in range(4) for s in range(4)
                 for a, b, c, d in [(4 * r + s, 4 * r + (s + 1) % 4, 4 * r + 4 + s, 4 * r + 4 + (s + 1) % 4)]]
        primitive = {"attributes": {"POSITION": self.accessor(places, "VEC3")}}
        primitive["indices"] = self.accessor(np.array(faces).ravel(), "SCALAR", 5123)
        if skinned:
            upper = np.clip(places[:, 1] - 0.5, 0, 1)
            parts = np.stack([1 - upper, upper, 0 * upper, 0 * upper], axis=1)
            primitive["attributes"] |= {
                "JOINTS_0": self.accessor(np.tile([0, 1, 0, 0], (len(places), 1)), "VEC4", 5121),
                "WEIGHTS_0": self.accessor(parts, "VEC4"),
            }
        for target in range(targets):
            moved = np.zeros_like(places)
            moved[places[:, 1] > 1, target] = 0.1 * (target + 1)
            primitive.setdefault("targets", []).append({"POSITION": self.accessor(moved, "VEC3")})
        self.json["meshes"].append({"primitives": [primitive]} | ({"weights": weights} if weights else {}))
        return len(self.json["meshes"]) - 1

    def skin(self, joints):
        inverse = np.tile(np.eye(4), (len(joints), 1, 1))
        inverse[1:, 3, 1] = -1  # The second joint stands at a height of 1 m; rows are columns in the file.
        self.json["skins"] = [{"joints": joints, "inverseBindMatrices": self.accessor(inverse.reshape(-1, 16), "MAT4")}]

    def clip(self, channels):
        """Channels as (node, path, times, values, interpolation)."""
        clip = {"name": f"clip {len(self.json.get('animations', []))}", "channels": [], "samplers": []}
        for node, path, times, values, interpolation in channels:
            kind = {"rotation": "VEC4", "weights": "SCALAR"}.get(path, "VEC3")
            sampler = {"input": self.accessor(times, "SCALAR"), "output": self.accessor(values, kind), "interpolation": interpolation}
            clip["samplers"].append(sampler)
            clip["channels"].append({"sampler": len(clip["samplers"]) - 1, "target": {"node": node, "path": path}})
        self.json.setdefault("animations", []).append(clip)

    def write(self, path):
        self.json["buffers"] = [{"byteLength": len(self.bytes)}]
        text = json.dumps(self.json).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(self.bytes), 0x004E4942) + self.bytes
        path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks)


def turn(degrees, axis):
    half = np.radians(degrees) / 2
    q = np.zeros(4)
    q[axis], q[3] = np.sin(half), np.cos(half)
    return q


def skinned(root=None, targets=0, weights=None):
    """A tube with two bones below a root node, and the nodes: root, lower, upper, drawn."""
    writer = Writer()
    top = writer.node(name="root", **(root or {}))
    lower = writer.node(top, name="lower")
    upper = writer.node(lower, name="upper", translation=[0, 1, 0])
    writer.skin([lower, upper])
    drawn = writer.node(name="tube", mesh=writer.tube(True, targets, weights), skin=0)
    return writer, (top, lower, upper, drawn)


def gltf_files(folder):
    times = [0, 0.5, 1]
    bend = [turn(0, 2), turn(40, 2), turn(-30, 2)]

    writer, (_, _, upper, _) = skinned({"scale": [0.01, 0.01, 0.01], "rotation": [-HALF, 0, 0, HALF], "translation": [0.1, 0.2, 0.3]})
    writer.clip([(upper, "rotation", times, bend, "LINEAR")])
    writer.write(folder / "scaled_turned_root.glb")

    writer, (_, _, upper, drawn) = skinned(targets=2, weights=[0.5, 0.25])
    writer.clip([(upper, "rotation", times, bend, "LINEAR")])
    writer.clip([(drawn, "weights", times, [0, 0, 1, 0.5, 0.25, 1], "LINEAR")])
    writer.write(folder / "default_weights.glb")

    writer, (_, lower, upper, _) = skinned()
    moves = [[0, 0, 0], [0.3, 0, 0], [0, 0, 0.4]]
    writer.clip([(upper, "rotation", times, bend, "STEP"), (lower, "translation", times, moves, "STEP")])
    still = np.zeros(4)
    spline = [row for value in bend for row in (still, value, still)]
    tangents = [row for i, value in enumerate(moves) for row in ([0.2 * i, 0, 0], value, [0, 0.3, 0.1 * i])]
    writer.clip([(upper, "rotation", times, spline, "CUBICSPLINE"), (lower, "translation", times, tangents, "CUBICSPLINE")])
    writer.write(folder / "step_and_spline.glb")

    writer, (top, _, upper, _) = skinned()
    writer.clip([(top, "translation", times, moves, "LINEAR"), (upper, "rotation", times, bend, "LINEAR")])
    writer.write(folder / "root_moves.glb")

    writer, (_, lower, _, _) = skinned({"scale": [1, 2, 0.5]})
    writer.clip([(lower, "rotation", times, bend, "STEP")])
    writer.write(folder / "bone_that_shears.glb")

    # A bone that is scaled to nothing leaves those below it without a place of their own: one clip cannot be written, the other can.
    writer, (_, lower, upper, _) = skinned()
    writer.clip([(lower, "scale", times, [[1, 1, 1], [0, 0, 0], [1, 1, 1]], "LINEAR")])
    writer.clip([(upper, "rotation", times, bend, "LINEAR")])
    writer.write(folder / "bone_without_size.glb")

    writer, (_, _, upper, _) = skinned()
    writer.json["meshes"].append({"primitives": [dict(writer.json["meshes"][0]["primitives"][0])]})
    writer.json["nodes"].append({"name": "in no scene", "mesh": 1, "skin": 0, "translation": [5, 0, 0]})
    writer.clip([(upper, "rotation", times, bend, "LINEAR")])
    writer.write(folder / "mesh_in_no_scene.glb")

    writer = Writer()
    root = writer.node(name="swing", translation=[0, 1, 0])
    writer.node(root, name="box", mesh=writer.tube(False))
    writer.clip([(root, "rotation", times, bend, "LINEAR")])
    writer.write(folder / "moving_node.glb")

    writer = Writer()
    drawn = writer.node(name="face", mesh=writer.tube(False, 2), scale=[2, 2, 2])
    writer.clip([(drawn, "weights", times, [0, 0, 1, 0.5, 0.25, 1], "LINEAR")])
    writer.write(folder / "morphs_alone.glb")

    writer, _ = skinned()
    writer.json["skins"][0]["joints"] = [99, 98]
    writer.write(folder / "joints_that_are_not_there.glb")


def fbx_files(folder):
    """A strip of ten vertices on two bones as FBX texts, each with frames of its take beside it: OBJ files in closed form."""
    degrees = [0, 20, 40, 60, 80]
    rows = [(0, 0.0), (1, 0.0), (2, 0.5), (3, 1.0), (4, 1.0)]
    bound = np.array([[x, y, 0.0] for y, _ in rows for x in (-0.5, 0.5)])
    lower = np.repeat([share for _, share in rows], 2)

    def frame(angle, outer=np.eye(4), percent=0, still=()):
        start = bound.copy()
        start[8:] += [0, 0, percent / 100]
        turned = (start - [0, 2, 0]) @ about_z(angle).T + [0, 2, 0]
        shown = (1 - lower)[:, None] * start + lower[:, None] * turned
        moved = shown @ outer[:3, :3].T + outer[:3, 3]
        moved[list(still)] = start[list(still)]
        return moved

    # Three times as large, a quarter about X, and moved.
    outer = np.array([[3, 0, 0, 1], [0, 0, -3, 2], [0, 3, 0, 3], [0, 0, 0, 1.0]])
    small = np.diag([0.01, 0.01, 0.01, 1])
    cases = [
        ("plain", {}, {}),
        ("scaled_turned_root", {"above": "3,3,3 90,0,0 1,2,3"}, {"outer": outer}),
        ("scale_of_the_root_bone", {"scale": 0.01}, {"outer": small}),
        ("default_percent", {"percent": 40}, {"percent": 40}),
        ("unweighted", {"still": (0, 1)}, {"still": (0, 1)}),
    ]
    for name, written, truth in cases:
        (folder / f"{name}.fbx").write_text(fbx_text(bound, lower, degrees, **written))
        for at in (0, 2, 4):
            lines = ["v " + " ".join(f"{x:.9f}" for x in place) for place in frame(degrees[at], **truth)]
            lines += [f"f {1 + 2 * row} {2 + 2 * row} {4 + 2 * row} {3 + 2 * row}" for row in range(4)]
            (folder / f"{name}_{at}.obj").write_text("\n".join(lines) + "\n")


FBX_HEADER = """; FBX 7.4.0 project file
FBXHeaderExtension: { FBXHeaderVersion: 1003
 FBXVersion: 7400 }
GlobalSettings: { Version: 1000
 Properties70: {
P: "UpAxis", "int", "Integer", "",1
P: "UpAxisSign", "int", "Integer", "",1
P: "FrontAxis", "int", "Integer", "",2
P: "FrontAxisSign", "int", "Integer", "",1
P: "CoordAxis", "int", "Integer", "",0
P: "CoordAxisSign", "int", "Integer", "",1
P: "UnitScaleFactor", "double", "Number", "",100
P: "TimeMode", "enum", "", "",11
 } }
"""
# The ticks of an FBX second.
TICKS = 46186158000


def fbx_text(bound, lower, degrees, above=None, scale=1.0, percent=0, still=()):
    """The strip. `above` is the scale, rotation and translation of a node above its bones, `scale` that of the root bone."""
    ticks = [TICKS * at // 24 for at in range(len(degrees))]

    def array(name, values):
        return f"{name}: *{len(values)} {{ a: {','.join(map(str, values))} }}\n"

    def lcl(kind, values):
        return f'P: "Lcl {kind}", "Lcl {kind}", "", "A",{values}\n'

    def model(number, name, kind, properties):
        return f'Model: {number}, "Model::{name}", "{kind}" {{ Version: 232\n Properties70: {{\n{properties} }} }}\n'

    def cluster(number, share, up):
        used = [v for v in range(len(bound)) if share[v] > 0 and v not in still]
        at = [array(key, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, y, 0, 1]) for key, y in [("Transform", -up), ("TransformLink", up)]]
        held = array("Indexes", used) + array("Weights", share[used])
        return f'Deformer: {number}, "SubDeformer::", "Cluster" {{ Version: 100\n{held}{"".join(at)}}}\n'

    # The last corner of a polygon is written as −1 − its vertex.
    corners = [corner for row in range(0, 8, 2) for corner in (row, row + 1, row + 3, -1 - (row + 2))]
    nodes = model(20, "strip", "Mesh", "") + model(21, "upper", "LimbNode", lcl("Scaling", f"{scale},{scale},{scale}"))
    nodes += model(22, "lower", "LimbNode", lcl("Translation", "0,2,0"))
    for number, name in [(31, "upper"), (32, "lower")]:
        nodes += f'NodeAttribute: {number}, "NodeAttribute::{name}", "LimbNode" {{ TypeFlags: "Skeleton" }}\n'
    links = [(20, 0), (10, 20), (22, 21), (31, 21), (32, 22), (40, 10), (41, 40), (42, 40), (21, 41), (22, 42)]
    links += [(43, 10), (44, 43), (11, 44), (51, 50), (52, 51), (21, 23 if above else 0)]
    if above:
        nodes += model(23, "above", "Null", "".join(map(lcl, ["Scaling", "Rotation", "Translation"], above.split())))
        links += [(23, 0)]
    linked = "".join(f'C: "OO",{one},{other}\n' for one, other in links)
    return f"""{FBX_HEADER}Objects: {{
Geometry: 10, "Geometry::strip", "Mesh" {{
{array("Vertices", bound.ravel())}{array("PolygonVertexIndex", corners)}}}
Geometry: 11, "Geometry::fuller", "Shape" {{ Version: 100
{array("Indexes", [8, 9])}{array("Vertices", [0, 0, 1] * 2)}{array("Normals", [0] * 6)}}}
{nodes}Deformer: 40, "Deformer::skin", "Skin" {{ Version: 101 }}
{cluster(41, 1 - lower, 0)}{cluster(42, lower, 2)}Deformer: 43, "Deformer::", "BlendShape" {{ Version: 100 }}
Deformer: 44, "SubDeformer::fuller", "BlendShapeChannel" {{ Version: 100
 DeformPercent: {percent}
{array("FullWeights", [100])}}}
AnimationStack: 50, "AnimStack::bend", "" {{ Properties70: {{
P: "LocalStart", "KTime", "Time", "",0
P: "LocalStop", "KTime", "Time", "",{ticks[-1]}
 }} }}
AnimationLayer: 51, "AnimLayer::bend", "" {{ }}
AnimationCurveNode: 52, "AnimCurveNode::", "" {{ Properties70: {{
P: "d|Z", "Number", "", "A",0
 }} }}
AnimationCurve: 53, "AnimCurve::", "" {{ Default: 0
 KeyVer: 4008
{array("KeyTime", ticks)}{array("KeyValueFloat", degrees)}{array("KeyAttrFlags", [4])}{array("KeyAttrDataFloat", [0] * 4)}{array("KeyAttrRefCount", [5])}}}
}}
Connections: {{
{linked}C: "OP",52,22, "Lcl Rotation"
C: "OP",53,52, "d|Z"
}}
"""


def bvh_files(folder):
    random = np.random.default_rng(11)
    for order in ["ZXY", "XYZ", "YZX"]:
        turns = " ".join(f"{axis}rotation" for axis in order)
        text = f"""HIERARCHY
ROOT Hips
{{
  OFFSET 0 90 0
  CHANNELS 6 Xposition Yposition Zposition {turns}
  JOINT Spine
  {{
    OFFSET 0 20 1
    CHANNELS 3 {turns}
    JOINT Head
    {{
      OFFSET 1 40 0
      CHANNELS 3 {turns}
      End Site
      {{
        OFFSET 0 10 0
      }}
    }}
  }}
  JOINT Leg
  {{
    OFFSET 10 -5 0
    CHANNELS 3 {turns}
    End Site
    {{
      OFFSET 0 -85 0
    }}
  }}
}}
MOTION
Frames: 8
Frame Time: 0.0333333
"""
        rows = np.hstack([random.normal(scale=20, size=(8, 3)) + [0, 90, 0], random.uniform(-80, 80, size=(8, 12))])
        (folder / f"{order}.bvh").write_text(text + "\n".join(" ".join(f"{value:.6f}" for value in row) for row in rows) + "\n")


if __name__ == "__main__":
    main()
