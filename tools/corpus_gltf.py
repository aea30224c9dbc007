"""Reads glTF files by the text of the specification alone: what they show at a time, in the world of the default scene.

It shares no code with the toolkit, so that `corpus.py` can hold one against the other.
"""

import base64
import json
import struct
import urllib.parse
from pathlib import Path

import numpy as np

TYPES = {5120: np.int8, 5121: np.uint8, 5122: np.int16, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
# Extensions that this reader cannot do without, if a file requires them.
UNREAD = {"KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_meshopt_compression"}


class Unread(Exception):
    """What this reader does not read."""


class Gltf:
    """One file: its JSON, its buffers, and what it shows."""

    def __init__(self, path):
        path = Path(path)
        data = path.read_bytes()
        self.folder, self.binary = path.parent, None
        if data[:4] == b"glTF":
            at = 12
            while at + 8 <= len(data):
                length, kind = struct.unpack("<II", data[at : at + 8])
                chunk = data[at + 8 : at + 8 + length]
                if kind == 0x4E4F534A:
                    self.json = json.loads(chunk)
                elif kind == 0x004E4942 and self.binary is None:
                    self.binary = chunk
                at += 8 + length
        else:
            self.json = json.loads(data.decode("utf-8-sig"))
        if str(self.json.get("asset", {}).get("version", "")).split(".")[0] != "2":
            raise Unread("a glTF of another version than 2")
        required = set(self.json.get("extensionsRequired", [])) & UNREAD
        if required:
            raise Unread(", ".join(sorted(required)))
        self.buffers = {}
        self.read = {}
        self.nodes = self.json.get("nodes", [])
        self.clips = self.json.get("animations", [])
        self.parents = {child: parent for parent, node in enumerate(self.nodes) for child in node.get("children", [])}

    def buffer(self, index):
        if index not in self.buffers:
            uri = self.json["buffers"][index].get("uri")
            if uri is None:
                self.buffers[index] = self.binary
            elif uri.startswith("data:"):
                self.buffers[index] = base64.b64decode(uri.split(",", 1)[1])
            else:
                self.buffers[index] = (self.folder / urllib.parse.unquote(uri)).read_bytes()
        return self.buffers[index]

    def view(self, view, offset, count, component, width):
        view = self.json["bufferViews"][view]
        dtype = np.dtype(TYPES[component]).newbyteorder("<")
        start = view.get("byteOffset", 0) + offset
        stride = view.get("byteStride") or dtype.itemsize * width
        data = self.buffer(view["buffer"])
        return np.ndarray((count, width), dtype, data, start, (stride, dtype.itemsize)) if count else np.zeros((0, width), dtype)

    def accessor(self, index):
        """Rows of an accessor as numbers: normalised integers become fractions."""
        if index in self.read:
            return self.read[index]
        accessor = self.json["accessors"][index]
        width, component, count = WIDTHS[accessor["type"]], accessor["componentType"], accessor["count"]
        rows = np.zeros((count, width), TYPES[component])
        if "bufferView" in accessor:
            rows = np.array(self.view(accessor["bufferView"], accessor.get("byteOffset", 0), count, component, width))
        if sparse := accessor.get("sparse"):
            at, values = sparse["indices"], sparse["values"]
            places = self.view(at["bufferView"], at.get("byteOffset", 0), sparse["count"], at["componentType"], 1)[:, 0]
            rows[places] = self.view(values["bufferView"], values.get("byteOffset", 0), sparse["count"], component, width)
        whole = rows.astype(float)
        if accessor.get("normalized"):
            whole = np.maximum(whole / np.iinfo(TYPES[component]).max, -1.0)
        self.read[index] = whole
        return whole

    def scene_nodes(self):
        """Nodes of the default scene; without a scene, all."""
        scenes = self.json.get("scenes", [])
        if not scenes:
            return list(range(len(self.nodes)))
        stack, found = list(scenes[self.json.get("scene", 0)].get("nodes", [])), []
        while stack:
            node = stack.pop()
            found.append(node)
            stack.extend(self.nodes[node].get("children", []))
        return sorted(found)

    def key_times(self, clip):
        """All times of the keys of a clip."""
        times = [self.accessor(sampler["input"])[:, 0] for sampler in self.clips[clip].get("samplers", [])]
        return np.unique(np.concatenate(times)) if times else np.zeros(0)

    def shown(self, clip=None, time=0.0):
        """Positions of all drawn vertices in the world, in the order of nodes and primitives."""
        local = [dict(node) for node in self.nodes]
        for channel in self.clips[clip].get("channels", []) if clip is not None else []:
            target = channel["target"]
            if "node" not in target or target["path"] not in ("translation", "rotation", "scale", "weights"):
                continue
            sampler = self.clips[clip]["samplers"][channel["sampler"]]
            local[target["node"]][target["path"]] = self.sample(sampler, target["path"], time)
            if target["path"] != "weights":
                local[target["node"]].pop("matrix", None)
        world = {}
        for node in range(len(self.nodes)):
            self.place(node, local, world)
        points = []
        for node in self.scene_nodes():
            if "mesh" not in self.nodes[node]:
                continue
            mesh = self.json["meshes"][self.nodes[node]["mesh"]]
            weights = local[node].get("weights", mesh.get("weights", []))
            matrices = self.joints(self.nodes[node]["skin"], world) if "skin" in self.nodes[node] else None
            for primitive in mesh["primitives"]:
                points.append(self.primitive(primitive, weights, matrices, world[node]))
        return np.concatenate(points) if points else np.zeros((0, 3))

    def place(self, node, local, world):
        if node in world:
            return world[node]
        values = local[node]
        if "matrix" in values:
            matrix = np.array(values["matrix"], float).reshape(4, 4).T
        else:
            matrix = np.eye(4)
            turn = rotation(np.array(values.get("rotation", (0, 0, 0, 1)), float))
            matrix[:3, :3] = turn * np.array(values.get("scale", (1, 1, 1)), float)
            matrix[:3, 3] = values.get("translation", (0, 0, 0))
        parent = self.parents.get(node)
        world[node] = matrix if parent is None else self.place(parent, local, world) @ matrix
        return world[node]

    def joints(self, skin, world):
        skin = self.json["skins"][skin]
        inverse = np.tile(np.eye(4), (len(skin["joints"]), 1, 1))
        if "inverseBindMatrices" in skin:
            inverse = self.accessor(skin["inverseBindMatrices"])[: len(skin["joints"])].reshape(-1, 4, 4).transpose(0, 2, 1)
        return np.array([world[joint] for joint in skin["joints"]]) @ inverse

    def primitive(self, primitive, weights, matrices, world):
        attributes = primitive["attributes"]
        if primitive.get("mode", 4) not in (4, 5, 6) or "POSITION" not in attributes:
            return np.zeros((0, 3))
        rest = self.accessor(attributes["POSITION"]).copy()
        for weight, target in zip(weights, primitive.get("targets", [])):
            if weight and "POSITION" in target:
                rest += weight * self.accessor(target["POSITION"])
        used = np.arange(len(rest))
        if "indices" in primitive:
            used = np.unique(self.accessor(primitive["indices"])[:, 0].astype(int))
        rest = np.hstack([rest, np.ones((len(rest), 1))])[used]
        if matrices is None or "JOINTS_0" not in attributes:
            return rest @ world[:3].T
        sets = [i for i in range(8) if f"JOINTS_{i}" in attributes]
        bones = np.hstack([self.accessor(attributes[f"JOINTS_{i}"]) for i in sets]).astype(int)[used]
        parts = np.hstack([self.accessor(attributes[f"WEIGHTS_{i}"]) for i in sets])[used]
        total = parts.sum(axis=1, keepdims=True)
        parts = np.where(total > 0, parts / np.where(total > 0, total, 1), 0)
        bones = np.where(parts > 0, bones, 0)
        shown = np.zeros((len(rest), 3))
        for slot in range(bones.shape[1]):
            shown += parts[:, slot, None] * np.einsum("vij,vj->vi", matrices[bones[:, slot], :3], rest)
        return shown

    def sample(self, sampler, path, time):
        times, values = self.accessor(sampler["input"])[:, 0], self.accessor(sampler["output"])
        method = sampler.get("interpolation", "LINEAR")
        if path == "weights":
            values = values.reshape(len(times) * (3 if method == "CUBICSPLINE" else 1), -1)
        if method == "CUBICSPLINE":
            incoming, values, outgoing = values[0::3], values[1::3], values[2::3]
        after = int(np.searchsorted(times, time, side="right"))
        if after == 0 or after == len(times):
            return values[0 if after == 0 else -1] if path != "rotation" else unit(values[0 if after == 0 else -1])
        i, step = after - 1, times[after] - times[after - 1]
        u = (time - times[i]) / step
        if method == "STEP":
            found = values[i]
        elif method == "CUBICSPLINE":
            found = (2 * u**3 - 3 * u**2 + 1) * values[i] + step * (u**3 - 2 * u**2 + u) * outgoing[i]
            found = found + (3 * u**2 - 2 * u**3) * values[i + 1] + step * (u**3 - u**2) * incoming[i + 1]
        elif path == "rotation":
            found = slerp(unit(values[i]), unit(values[i + 1]), u)
        else:
            found = (1 - u) * values[i] + u * values[i + 1]
        return unit(found) if path == "rotation" else found

    def joint_count(self):
        """Different joints of the skins that the default scene shows."""
        skins = {self.nodes[n]["skin"] for n in self.scene_nodes() if "mesh" in self.nodes[n] and "skin" in self.nodes[n]}
        return len({joint for skin in skins for joint in self.json["skins"][skin]["joints"]})

    def shown_weights(self):
        """Morph weights of the meshes that the default scene shows, as node and place."""
        found = []
        for node in self.scene_nodes():
            if "mesh" in self.nodes[node]:
                primitives = self.json["meshes"][self.nodes[node]["mesh"]]["primitives"]
                found += [(node, at) for at in range(max((len(p.get("targets", [])) for p in primitives), default=0))]
        return found

    def is_character(self):
        """Whether the file has meshes that bones, morph targets or a clip move."""
        meshes = self.json.get("meshes", [])
        targets = any(primitive.get("targets") for mesh in meshes for primitive in mesh["primitives"])
        return bool(meshes) and bool(self.json.get("skins") or targets or self.clips)


def unit(q):
    length = np.linalg.norm(q)
    return q / length if length > 0 else np.array([0.0, 0, 0, 1])


def rotation(q):
    x, y, z, w = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])


def slerp(a, b, u):
    cosine = float(a @ b)
    if cosine < 0:
        b, cosine = -b, -cosine
    if cosine > 1 - 1e-12:
        return (1 - u) * a + u * b
    angle = np.arccos(min(cosine, 1.0))
    return (np.sin((1 - u) * angle) * a + np.sin(u * angle) * b) / np.sin(angle)
