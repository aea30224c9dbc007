"""Frames that a modelling program wrote beside an FBX file: `NAME.obj`, `NAME_FRAME.obj` and `NAME_CLIP_FRAME.obj`, as the data of ufbx
has them, and the space of the FBX file that they share.

Comments `# ufbx:` of the data say where a frame is not what the FBX file itself says. An OBJ file says neither unit nor axes. Programs write those of the FBX file, or their own metres with Y up.
"""

import re
import struct

import numpy as np

# Frames per second, by the number of a time mode. A file of mode 0 leaves it to the program: Maya counts 24, 3ds Max 30.
UNSAID = [30, 24]
RATES = {1: 120, 2: 100, 3: 60, 4: 50, 5: 48, 6: 30, 7: 30, 8: 29.97, 9: 29.97, 10: 25, 11: 24, 12: 1000, 13: 23.976}
MOVES = [b"\0\1Deformer", b"\0\1SubDeformer", b"Deformer::", b"\0\1AnimCurve", b"AnimCurve::", b"KeyCount"]


class Frames:
    """The frames beside a file, and its rates, unit and axes."""

    def __init__(self, path):
        self.data = path.read_bytes()
        self.is_character = any(word in self.data for word in MOVES)
        name = re.sub(r"_\d{4}_(ascii|binary)", "", path.stem)
        self.frames = []
        for file in sorted(path.parent.glob("*.obj")):
            if file.stem == name or (found := re.fullmatch(rf"{re.escape(name)}(?:_([a-z]+))?_(\d+)", file.stem)):
                clip, frame = (None, None) if file.stem == name else (found[1], int(found[2]))
                if (read := points(file)) is not None:
                    self.frames.append((clip, frame, *read))
        stated = re.search(rb'FrameRate: "([\d.]+)"', self.data)
        rate = float(stated[1]) if stated else RATES.get(self.setting("TimeMode", 0))
        self.rates = [rate] if rate else UNSAID

    def setting(self, name, default):
        """A number of the file's settings."""
        word = name.encode()
        if found := re.search(rb'"' + word + rb'"(?:, *"[^"]*")+, *(-?[\d.]+)', self.data):
            return float(found[1])
        # A binary property: its name, three strings, and a number with its type.
        if found := re.search(rb"S.\0\0\0" + word + rb"(?:S.\0\0\0[A-Za-z ]*){2,3}([ID])(.{8})", self.data, re.DOTALL):
            return struct.unpack("<i", found[2][:4])[0] if found[1] == b"I" else struct.unpack("<d", found[2])[0]
        return default

    def spaces(self):
        """Matrices from the space that an OBJ file may be in to metres with Y up."""
        up, front, side = (int(self.setting(name, default)) for name, default in [("UpAxis", 1), ("FrontAxis", 2), ("CoordAxis", 0)])
        turn = np.zeros((3, 3))
        turn[0, side] = self.setting("CoordAxisSign", 1) or 1
        turn[1, up] = self.setting("UpAxisSign", 1) or 1
        turn[2, front] = self.setting("FrontAxisSign", 1) or 1
        unit = self.setting("UnitScaleFactor", 1) / 100
        return [scale * axes for scale in {unit, 1.0, 0.01} for axes in (turn, np.eye(3))]


def points(path):
    """Vertices of the faces of an OBJ file, and the tolerance that its author states, in its units.

    `None` for frames that a program moved by the node of the mesh after the skin, which no bone of the FBX file does.
    """
    places, used, tolerance = [], set(), 0.0
    text = path.read_text(encoding="utf-8", errors="replace")
    if "# ufbx:transform_skin" in text:
        return None
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            places.append([float(word) for word in words[1:4]])
        elif words[0] == "f":
            corners = [int(word.split("/")[0]) for word in words[1:]]
            used.update(corner - 1 if corner > 0 else len(places) + corner for corner in corners)
        elif words[:1] == ["#"] and (found := re.search(r"ufbx:tolerance=([\d.]+)", line)):
            tolerance = float(found[1])
    return np.array(places).reshape(-1, 3)[sorted(used)], tolerance
