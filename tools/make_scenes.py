#!/usr/bin/env python3
"""Make the rigs of the scenes in assets/scenes: a clock, a meadow, a ball, a face and a tail, as GLB files.

    python3 tools/make_scenes.py assets/scenes

The standard library is enough. Lengths are metres, Y is up, and what has a front shows it along +Z.
"""
import json
import math
import random
import struct
import sys
from pathlib import Path


class Rig:
    """A skinned mesh under construction; positions are rounded to a tenth of a millimetre."""

    def __init__(self, name):
        self.name = name
        self.bones = []  # (name, parent, head)
        self.parts = []  # (colour, double-sided, positions, joints, weights, triangles)
        self.morphs = {}  # name -> function from a position and the name of its part to a displacement

    def bone(self, name, parent, head):
        self.bones.append((name, parent, head))
        return len(self.bones) - 1

    def part(self, name, colour, positions, triangles, bones, double=False):
        """`bones` gives for a position the list of (bone, weight)."""
        positions = [tuple(round(x, 4) for x in p) for p in positions]
        self.parts.append((name, colour, double, positions, [bones(p) for p in positions], triangles))

    def write(self, path):
        binary, accessors, views = bytearray(), [], []

        def view(data):
            while len(binary) % 4:
                binary.append(0)
            views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(data)})
            binary.extend(data)
            return len(views) - 1

        def accessor(code, kind, rows, bounds=False, **more):
            size = {"f": 5126, "H": 5123, "B": 5121}[code]
            flat = [x for row in rows for x in row]
            entry = {"bufferView": view(struct.pack(f"<{len(flat)}{code}", *flat)), "componentType": size,
                     "count": len(rows), "type": kind, **more}
            if bounds:
                entry["min"] = [min(row[i] for row in rows) for i in range(len(rows[0]))]
                entry["max"] = [max(row[i] for row in rows) for i in range(len(rows[0]))]
            accessors.append(entry)
            return len(accessors) - 1

        def target(rows):
            """Displacements of which only those that are not zero are stored."""
            moved = [i for i, row in enumerate(rows) if any(row)] or [0]
            values = [rows[i] for i in moved]
            accessors.append({
                "componentType": 5126, "count": len(rows), "type": "VEC3",
                "min": [min(row[i] for row in rows) for i in range(3)],
                "max": [max(row[i] for row in rows) for i in range(3)],
                "sparse": {
                    "count": len(moved),
                    "indices": {"bufferView": view(struct.pack(f"<{len(moved)}H", *moved)), "componentType": 5123},
                    "values": {"bufferView": view(struct.pack(f"<{3 * len(moved)}f", *(x for v in values for x in v)))},
                },
            })
            return len(accessors) - 1

        nodes = []
        for name, parent, head in self.bones:
            above = self.bones[parent][2] if parent is not None else (0, 0, 0)
            node = {"name": name}
            if tuple(head) != tuple(above):
                node["translation"] = [round(a - b, 4) for a, b in zip(head, above)]
            nodes.append(node)
            if parent is not None:
                nodes[parent].setdefault("children", []).append(len(nodes) - 1)
        inverse = [[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, *(-x for x in head), 1] for _, _, head in self.bones]
        skin = {"joints": list(range(len(nodes))), "inverseBindMatrices": accessor("f", "MAT4", inverse)}
        materials, primitives = [], []
        for name, colour, double, positions, bound, triangles in self.parts:
            joints = [[b for b, _ in row] + [0] * (4 - len(row)) for row in bound]
            weights = [[round(255 * w) for _, w in row] + [0] * (4 - len(row)) for row in bound]
            for row in weights:
                row[0] += 255 - sum(row)
            code = "B" if len(nodes) < 256 else "H"
            flat = [[i] for triangle in triangles for i in triangle]
            primitive = {
                "attributes": {
                    "POSITION": accessor("f", "VEC3", positions, bounds=True),
                    "JOINTS_0": accessor(code, "VEC4", joints),
                    "WEIGHTS_0": accessor("B", "VEC4", weights, normalized=True),
                },
                "indices": accessor("H", "SCALAR", flat),
                "material": len(materials),
            }
            materials.append({"name": name, "doubleSided": double, "pbrMetallicRoughness": {
                "baseColorFactor": [*colour, 1], "metallicFactor": 0, "roughnessFactor": 0.8}})
            if self.morphs:
                moves = [[tuple(round(x, 4) for x in f(p, name)) for p in positions] for f in self.morphs.values()]
                primitive["targets"] = [{"POSITION": target(rows)} for rows in moves]
            primitives.append(primitive)
        mesh = {"name": self.name, "primitives": primitives}
        if self.morphs:
            mesh["extras"] = {"targetNames": list(self.morphs)}
        nodes.append({"name": self.name, "mesh": 0, "skin": 0})
        root = {
            "asset": {"version": "2.0", "generator": "tools/make_scenes.py"}, "scene": 0,
            "scenes": [{"nodes": [0, len(nodes) - 1]}], "nodes": nodes, "meshes": [mesh], "skins": [skin],
            "materials": materials, "accessors": accessors, "bufferViews": views,
            "buffers": [{"byteLength": len(binary)}],
        }
        text = json.dumps(root, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        binary.extend(b"\0" * (-len(binary) % 4))
        body = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + bytes(binary)
        path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body)
        print(f"{path}: {len(self.bones)} bones, {sum(len(p[3]) for p in self.parts)} vertices, {path.stat().st_size} bytes")


def box(low, high):
    corners = [(x, y, z) for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]


def sphere(centre, radii, columns, rows):
    positions = [(centre[0], centre[1] + radii[1], centre[2])]
    for row in range(1, rows):
        down = math.pi * row / rows
        for column in range(columns):
            turn = 2 * math.pi * column / columns
            way = (math.sin(down) * math.sin(turn), math.cos(down), math.sin(down) * math.cos(turn))
            positions.append(tuple(c + r * w for c, r, w in zip(centre, radii, way)))
    positions.append((centre[0], centre[1] - radii[1], centre[2]))
    at = lambda row, column: 1 + (row - 1) * columns + column % columns
    triangles = []
    for column in range(columns):
        triangles.append((0, at(1, column), at(1, column + 1)))
        triangles.append((len(positions) - 1, at(rows - 1, column + 1), at(rows - 1, column)))
        for row in range(1, rows - 1):
            a, b = at(row, column), at(row, column + 1)
            c, d = at(row + 1, column), at(row + 1, column + 1)
            triangles += [(a, c, d), (a, d, b)]
    return positions, triangles


def tube(path, radius, sides):
    """A closed tube around a curve of points, capped at its ends."""
    positions, triangles = [], []
    for at, point in enumerate(path):
        a, b = path[max(at - 1, 0)], path[min(at + 1, len(path) - 1)]
        along = [q - p for p, q in zip(a, b)]
        size = math.hypot(*along)
        along = [x / size for x in along]
        side = (-along[1], along[0], 0)  # the curve is seen from the front
        size = math.hypot(*side) or 1
        side = [x / size for x in side]
        front = [along[1] * side[2] - along[2] * side[1], along[2] * side[0] - along[0] * side[2],
                 along[0] * side[1] - along[1] * side[0]]
        end = 0.55 + 0.45 * math.sin(math.pi * at / (len(path) - 1))
        for corner in range(sides):
            turn = 2 * math.pi * corner / sides
            positions.append(tuple(p + end * radius * (math.cos(turn) * s + math.sin(turn) * f)
                                   for p, s, f in zip(point, side, front)))
    for at in range(len(path) - 1):
        for corner in range(sides):
            a, b = at * sides + corner, at * sides + (corner + 1) % sides
            triangles += [(a, b, b + sides), (a, b + sides, a + sides)]
    last = (len(path) - 1) * sides
    for corner in range(1, sides - 1):
        triangles += [(0, corner + 1, corner), (last, last + corner, last + corner + 1)]
    return positions, triangles


def clock():
    rig = Rig("clock")
    root = rig.bone("clock", None, (0, 0, 0))
    hands = [rig.bone(name, root, (0, 0, z)) for name, z in (("hour", 0.02), ("minute", 0.03), ("second", 0.04))]
    rim, steps = [], 48
    for z in (-0.02, 0.01):
        rim += [(0.5 * math.sin(2 * math.pi * i / steps), 0.5 * math.cos(2 * math.pi * i / steps), z) for i in range(steps)]
    rim += [(0, 0, -0.02), (0, 0, 0.01)]
    triangles = []
    for i in range(steps):
        j = (i + 1) % steps
        triangles += [(i, j, j + steps), (i, j + steps, i + steps), (2 * steps, j, i), (2 * steps + 1, i + steps, j + steps)]
    triangles = [(a, c, b) for a, b, c in triangles]
    rig.part("dial", (0.93, 0.9, 0.82), rim, triangles, lambda p: [(root, 1)])
    marks, faces = [], []
    for hour in range(12):
        turn, long = 2 * math.pi * hour / 12, 0.09 if hour % 3 == 0 else 0.05
        corners, quads = box((-0.008, 0.46 - long, 0.011), (0.008, 0.46, 0.016))
        faces += [tuple(len(marks) + i for i in t) for t in quads]
        marks += [(x * math.cos(turn) + y * math.sin(turn), y * math.cos(turn) - x * math.sin(turn), z) for x, y, z in corners]
    rig.part("marks", (0.15, 0.15, 0.18), marks, faces, lambda p: [(root, 1)])
    for bone, colour, width, long, z in ((hands[0], (0.12, 0.12, 0.16), 0.016, 0.26, 0.02),
                                         (hands[1], (0.12, 0.12, 0.16), 0.011, 0.4, 0.03),
                                         (hands[2], (0.8, 0.15, 0.1), 0.005, 0.43, 0.04)):
        corners, quads = box((-width, -0.06, z), (width, long, z + 0.008))
        rig.part(rig.bones[bone][0], colour, corners, quads, lambda p, bone=bone: [(bone, 1)])
    return rig


def grass():
    rig = Rig("grass")
    ground = rig.bone("ground", None, (0, 0, 0))
    chance = random.Random(4)
    blades, faces, bound = [], [], {}
    for blade in range(500):
        column, row = blade % 25, blade // 25
        x = round(0.12 * (column - 12) + chance.uniform(-0.05, 0.05), 2)
        z = round(0.12 * (row - 9.5) + chance.uniform(-0.05, 0.05), 2)
        bone = rig.bone(f"blade {blade}", ground, (x, 0, z))
        height, width, turn = chance.uniform(0.35, 0.6), chance.uniform(0.012, 0.02), chance.uniform(-0.9, 0.9)
        side = (width * math.cos(turn), width * math.sin(turn))
        strip = [(x - side[0], 0, z - side[1]), (x + side[0], 0, z + side[1]),
                 (x - 0.8 * side[0], 0.5 * height, z - 0.8 * side[1]), (x + 0.8 * side[0], 0.5 * height, z + 0.8 * side[1]),
                 (x, height, z)]
        start = len(blades)
        for point, weights in zip(strip, ([(ground, 1)], [(ground, 1)], [(bone, 0.5), (ground, 0.5)],
                                          [(bone, 0.5), (ground, 0.5)], [(bone, 1)])):
            bound[tuple(round(c, 4) for c in point)] = weights
            blades.append(point)
        faces += [(start, start + 1, start + 3), (start, start + 3, start + 2), (start + 2, start + 3, start + 4)]
    rig.part("grass", (0.28, 0.55, 0.16), blades, faces, lambda p: bound[p], double=True)
    soil = [(-1.7, -0.01, -1.5), (1.7, -0.01, -1.5), (1.7, -0.01, 1.5), (-1.7, -0.01, 1.5)]
    rig.part("soil", (0.3, 0.22, 0.14), soil, [(0, 2, 1), (0, 3, 2)], lambda p: [(ground, 1)])
    return rig


def ball():
    rig = Rig("ball")
    root = rig.bone("ground", None, (0, 0, 0))
    # Its head is where it touches the ground: what squashes it leaves that point. The bone above it can press a ball that turns.
    ball = rig.bone("ball", rig.bone("press", root, (0, 0, 0)), (0, 0, 0))
    positions, triangles = sphere((0, 0.25, 0), (0.25, 0.25, 0.25), 20, 12)
    halves = [[], []]
    for triangle in triangles:
        turn = math.atan2(sum(positions[i][0] for i in triangle), sum(positions[i][2] for i in triangle))
        halves[int(10 * (turn / math.pi + 1)) // 5 % 2].append(triangle)
    for name, colour, half in (("red", (0.85, 0.2, 0.12), halves[0]), ("white", (0.95, 0.93, 0.9), halves[1])):
        used = sorted({i for triangle in half for i in triangle})
        place = {i: at for at, i in enumerate(used)}
        rig.part(name, colour, [positions[i] for i in used], [tuple(place[i] for i in t) for t in half], lambda p: [(ball, 1)])
    floor, faces = box((-1.6, -0.03, -0.5), (1.6, 0, 0.5))
    rig.part("floor", (0.55, 0.5, 0.45), floor, faces, lambda p: [(root, 1)])
    return rig


def face():
    rig = Rig("face")
    neck = rig.bone("neck", None, (0, -0.16, 0))
    head = rig.bone("head", neck, (0, -0.1, 0))
    on_head = lambda x, y, out=0.0: (x, y, out + 0.1 * math.sqrt(max(0.0, 1 - (x / 0.085) ** 2 - (y / 0.12) ** 2)))
    positions, triangles = sphere((0, 0, 0), (0.085, 0.12, 0.1), 22, 15)
    rig.part("skin", (0.87, 0.67, 0.55), positions, triangles, lambda p: [(head, 1)])
    mouth = [on_head(0.03 * (i / 6 - 1), -0.052, 0.002) for i in range(13)]
    for name, colour, lift in (("upper lip", (0.7, 0.25, 0.25), 0.0035), ("lower lip", (0.75, 0.3, 0.28), -0.0035)):
        lips, faces = tube([(x, y + lift, z) for x, y, z in mouth], 0.0045, 5)
        rig.part(name, colour, lips, faces, lambda p: [(head, 1)])
    for side in (-1, 1):
        eye, faces = sphere(on_head(0.032 * side, 0.022, -0.004), (0.013, 0.01, 0.009), 8, 6)
        rig.part("eye", (0.96, 0.96, 0.96), eye, faces, lambda p: [(head, 1)])
        iris, faces = sphere(on_head(0.032 * side, 0.022, 0.003), (0.0055, 0.0055, 0.0035), 7, 4)
        rig.part("iris", (0.1, 0.15, 0.25), iris, faces, lambda p: [(head, 1)])
        line = [on_head(side * (0.017 + 0.03 * i / 6), 0.044 + 0.004 * math.sin(math.pi * i / 6), 0.001) for i in range(7)]
        brow, faces = tube(line if side > 0 else line[::-1], 0.0035, 5)
        rig.part("brow", (0.25, 0.15, 0.1), brow, faces, lambda p: [(head, 1)])

    def bell(p, x, y, width, height):
        return math.exp(-((p[0] - x) / width) ** 2 - ((p[1] - y) / height) ** 2) if p[2] > 0 else 0.0

    def corner(side, move):
        def f(p, part):
            k = bell(p, 0.03 * side, -0.052, 0.02, 0.02)
            return tuple(m * k if abs(m * k) > 5e-4 else 0.0 for m in (move[0] * side, move[1], move[2]))
        return f

    def jaw(p, part):
        k = bell(p, 0, -0.075, 0.05, 0.03) if part in ("skin", "lower lip") and p[1] < -0.052 else 0.0
        k = max(k, bell(p, 0, -0.055, 0.025, 0.05)) if part == "lower lip" else k
        return (0.0, -0.02 * k, -0.003 * k) if k > 0.06 else (0.0, 0.0, 0.0)

    def brow(inner, outer):
        def f(p, part):
            if part != "brow":
                return (0.0, 0.0, 0.0)
            s = min(1.0, max(0.0, (abs(p[0]) - 0.017) / 0.03))
            return (0.0, inner * (1 - s) + outer * s, 0.0)
        return f

    def cheek(p, part):
        k = sum(bell(p, 0.045 * side, -0.015, 0.02, 0.02) for side in (-1, 1)) if part == "skin" else 0.0
        return (0.0, 0.004 * k, 0.007 * k) if k > 0.08 else (0.0, 0.0, 0.0)

    rig.morphs = {
        "corner up left": corner(1, (0.009, 0.014, -0.006)), "corner up right": corner(-1, (0.009, 0.014, -0.006)),
        "corner down left": corner(1, (0.002, -0.014, -0.003)), "corner down right": corner(-1, (0.002, -0.014, -0.003)),
        "jaw open": jaw, "cheeks": cheek, "brows up": brow(0.008, 0.009), "brows angry": brow(-0.009, 0.006),
    }
    return rig


def tail():
    """A block with a tail of ten bones, each 8 cm long, along -x."""
    rig = Rig("tail")
    block = rig.bone("block", None, (0, 0, 0))
    count, length, sides = 10, 0.08, 8
    bones = [block]
    for i in range(count):
        bones.append(rig.bone(f"tail {i}", bones[-1], (-0.12 - length * i, 0, 0)))
    corners, quads = box((-0.12, -0.09, -0.09), (0.12, 0.09, 0.09))
    rig.part("block", (0.25, 0.35, 0.5), corners, quads, lambda p: [(block, 1)])
    rings, faces = 2 * count + 1, []
    points = []
    for ring in range(rings):
        at = ring / (rings - 1)
        radius = 0.045 * (1 - 0.75 * at)
        points += [(-0.12 - count * length * at, radius * math.cos(2 * math.pi * i / sides),
                    radius * math.sin(2 * math.pi * i / sides)) for i in range(sides)]
    for ring in range(rings - 1):
        for i in range(sides):
            a, b = ring * sides + i, ring * sides + (i + 1) % sides
            faces += [(a, a + sides, b + sides), (a, b + sides, b)]
    last = (rings - 1) * sides
    for i in range(1, sides - 1):
        faces += [(0, i, i + 1), (last, last + i + 1, last + i)]

    def bound(p):
        along = (-0.12 - p[0]) / length
        bone = min(int(along + 1e-6), count - 1)
        on_joint = abs(along - round(along)) < 1e-3 and 0 < round(along) < count
        return [(bones[bone + 1], 0.5), (bones[bone], 0.5)] if on_joint else [(bones[bone + 1], 1)]

    rig.part("tail", (0.85, 0.5, 0.2), points, faces, bound)
    return rig


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__)
    folder.mkdir(parents=True, exist_ok=True)
    for rig in (clock(), grass(), ball(), face(), tail()):
        rig.write(folder / f"{rig.name}.glb")
