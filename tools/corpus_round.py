"""Takes a character to other formats and back, for the last columns of `corpus.py`.

A file becomes a GLB, and by way of each other format a GLB again. Both GLBs are read by the specification alone, and compared in the rest
pose, and at and between the keys of every clip, jumps apart; formats of one clip, or of frames alone, take the first. `pxr`, where it is
installed, also poses the .usdz in between, by UsdSkel's own queries; three.js shows the first GLB, and each Blender that is given the first
clip as FBX and as USD. A cell is the distance at rest and in motion, in sizes of what is shown; an exclamation mark stands where it is more
than 1e-6 at rest or 1e-4 in motion, or where materials differ, and "said" where the program names a loss that explains it.
"""

import hashlib
import json
import re
import select
import subprocess
import threading
from pathlib import Path

import numpy as np

from corpus_gltf import Gltf

try:
    from usd_skin import Stage
except ImportError:  # without usd-core, which `cargo xtask tools` installs
    Stage = None

# Of the size of what is shown: at rest, and at and between keys.
REST, MOTION = 1e-6, 1e-4
# Seconds between keys that are a jump, of which formats show either side.
JUMP = 2e-3
WHOLE = ["fbx", "usdz"]  # every clip, and materials
ONE_CLIP = ["npz", "abc"]
COLUMNS = [*WHOLE, "usdz in USD", *ONE_CLIP]
# Words for what a format cannot hold, which explain a distance.
SAID = ["shapes: a GLB shows", "the rest mesh is without them", "as such", "cannot hold"]
THREE = "glb in three.js"
# Seconds that another program may take for a file.
PATIENCE = 120


class Viewer:
    """Another program that shows files: `corpus_blender.py` or `corpus_three.mjs`."""

    def __init__(self, *command):
        self.command, self.process, self.lock = command, None, threading.Lock()

    def ask(self, **request):
        """Says what is wanted, and what was answered."""
        with self.lock:
            if self.process is None or self.process.poll() is not None:
                pipe = subprocess.PIPE
                self.process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            if select.select([self.process.stdout], [], [], PATIENCE)[0]:
                return self.process.stdout.readline().strip() or "it ends"
            self.process.kill()
            self.process.wait()
            return f"it takes more than {PATIENCE} s"


def columns(run, program, shown, folder, viewers):
    """By column: the distance at rest and in motion, or why there is none."""
    made = {}
    before = Gltf(shown)
    if not before.scene_nodes() or not len(rest := before.shown()):
        return {}
    size = np.linalg.norm(np.ptp(rest, axis=0)) or 1.0
    # Clips of one name get numbers in a GLB, so that a name is one clip.
    first = f"{shown}#{before.clips[0]['name']}" if before.clips else shown
    for kind in [*WHOLE, *ONE_CLIP]:
        via, back = folder / f"via.{kind}", folder / f"back_{kind}.glb"
        code, said = run(program, "convert", shown if kind in WHOLE else first, "-o", via)
        if code == 0 and kind == "usdz" and Stage:
            made["usdz in USD"] = cell(*distances(before, InUsd(via, before), before, size))
        remarks = said
        if code == 0:
            code, said = run(program, "convert", via, "-o", back, *(["--unit", "1"] if kind == "abc" else []))
        if code != 0:
            made[kind] = said if code == 2 else f"FAILED: {said}"
            continue
        remarks += said
        after = Gltf(back)
        clips = before.clips if kind in WHOLE else before.clips[:1]
        made[kind] = cell(*distances(before, after, after, size, len(clips), whole=kind in WHOLE))
        if kind in WHOLE and looks(before) != looks(after):
            made[kind] += " ! other materials"
        if "!" in made[kind] and any(loss in remarks for loss in SAID):
            made[kind] += " said"
    for name, viewer in viewers.items():
        made[name] = in_three(viewer, before, shown, folder, size) if name == THREE else in_blender(viewer, run, program, before, first, folder, size, name)
    return made


def in_three(viewer, before, shown, folder, size):
    """How far three.js is from the specification, for what the program writes."""
    moments = [(None, 0.0)] + [(clip, time) for clip in range(len(before.clips)) for time in chosen(before, clip)]
    out = folder / "three.bin"
    if (said := viewer.ask(file=str(shown), moments=[[clip, float(time)] for clip, time in moments], out=str(out))) != "ok":
        return f"FAILED: {said}"
    frames = np.fromfile(out).reshape(len(moments), -1, 3)
    distances = [furthest([before.shown(clip, time)], [frame]) / size for (clip, time), frame in zip(moments, frames)]
    return cell(distances[0], max(distances[1:], default=0.0))


def in_blender(viewer, run, program, before, first, folder, size, name):
    """How far Blender is from the specification, for the first clip in another format; without a clip, at rest."""
    via, out = folder / f"first.{name.split()[0]}", folder / "blender.npy"
    # Several Blenders take the same file.
    code, said = (0, "") if via.exists() else run(program, "convert", first, "-o", via)
    if code != 0:
        return said if code == 2 else f"FAILED: {said}"
    times = [float(time) for time in chosen(before, 0)] if before.clips else []
    if (said := viewer.ask(file=str(via), times=times, out=str(out))) != "ok":
        return f"FAILED: {said}"
    expected = [before.shown(0, time) for time in times] if times else [before.shown()]
    distance = max(furthest([ours], [theirs]) / size for ours, theirs in zip(expected, np.load(out)))
    return cell(0.0, distance) if times else cell(distance, 0.0)


def chosen(file, clip, between=True):
    """Four keys of a clip, and moments between its first keys; jumps, of which formats show either side, are left out."""
    times = file.key_times(clip)
    gaps = np.diff(times, prepend=-np.inf, append=np.inf)
    times = times[np.minimum(gaps[:-1], gaps[1:]) > JUMP]
    keys = times[np.unique(np.linspace(0, len(times) - 1, 4).round().astype(int))] if len(times) else []
    return [*keys, *(float(a + b) / 2 for a, b in zip(times[:3], times[1:4]) if between)]


class InUsd:
    """A stage by usd-core, with clips in the order of the file that it was made of."""

    def __init__(self, path, before):
        self.stage, self.names = Stage(path), [re.sub(r"\W", "_", clip["name"]) for clip in before.clips]

    def shown(self, clip=None, time=None):
        points, begin, drawn = self.stage.shown(None if clip is None or len(self.names) == 1 else self.names[clip], time), 0, []
        for skin in self.stage.skins:
            drawn.append(begin + np.unique(skin.mesh.GetFaceVertexIndicesAttr().Get()))
            begin += len(skin.rest)
        return points[np.concatenate(drawn)] if drawn else points


def distances(before, after, names, size, clips=None, whole=True):
    """How far what a file shows is off at rest and in motion. Formats of frames alone show their first frame at rest."""
    apart = lambda one, other: furthest([one], [other]) / size
    rest = apart(before.shown(), after.shown()) if whole or not before.clips else 0.0
    motion = 0.0
    for clip in range(len(before.clips) if clips is None else clips):
        if clip >= len(names.clips):
            return rest, np.inf
        for time in chosen(before, clip, between=whole):
            motion = max(motion, apart(before.shown(clip, time), after.shown(clip, time)))
    return rest, motion


def furthest(ours, theirs):
    """The largest distance from a vertex to its nearest, both ways; a writer may split and order vertices anew."""
    a, b = np.hstack(ours), np.hstack(theirs)
    if len(a) == len(b) and (direct := np.linalg.norm(a - b, axis=1).max(initial=0.0)) < 1e-3 * np.linalg.norm(np.ptp(a, axis=0)):
        return direct
    return max(nearest(a, b), nearest(b, a))


def nearest(points, others, most=1500):
    points = points[np.linspace(0, len(points) - 1, min(most, len(points))).astype(int)]
    worst = 0.0
    for block in np.array_split(points, max(1, len(points) // 250)):
        worst = max(worst, np.linalg.norm(block[:, None] - others[None], axis=2).min(axis=1).max(initial=0.0))
    return worst


def cell(rest, motion):
    """Both distances as text, marked if one is too large."""
    return f"{rest:.0e} / {motion:.0e}" + ("" if rest <= REST and motion <= MOTION else " !")


def looks(file):
    """Materials in use: base colour, or the picture of it."""
    found = set()
    for mesh in file.json.get("meshes", []):
        for primitive in mesh["primitives"]:
            # What has no material is shown as white.
            material = file.json["materials"][primitive["material"]] if "material" in primitive else {}
            surface = material.get("pbrMetallicRoughness", {})
            picture = surface.get("baseColorTexture", {}).get("index")
            # A picture takes the place of the colour in formats that have one of both.
            color = None if picture is not None else tuple(np.round(surface.get("baseColorFactor", (1, 1, 1, 1)), 4)[:3])
            found.add((color, image(file, picture)))
    return found


def image(file, texture):
    if texture is None or "source" not in file.json["textures"][texture]:
        return None
    image = file.json["images"][file.json["textures"][texture]["source"]]
    if "bufferView" not in image:
        return Path(image.get("uri", "")).name
    view = file.json["bufferViews"][image["bufferView"]]
    data = file.buffer(view["buffer"])[view.get("byteOffset", 0) :][: view["byteLength"]]
    return hashlib.sha256(data).hexdigest()
