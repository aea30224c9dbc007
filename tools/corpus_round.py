"""Takes a character to other formats and back, for the last columns of `corpus.py`.

A file becomes a GLB, and by way of each other format a GLB again. Both GLBs are read by the specification alone, and compared in the rest
pose, and at and between the keys of every clip; formats of one clip, or of frames alone, take the first. `pxr`, where it is installed,
also poses the .usdz in between, by UsdSkel's own queries.
"""

import hashlib
from pathlib import Path

import numpy as np

from corpus_gltf import Gltf

try:
    from usd_skin import Stage
except ImportError:  # without usd-core, which `cargo xtask tools` installs
    Stage = None

# Of the size of what is shown: at rest, and at and between keys.
REST, MOTION = 1e-6, 1e-4
WHOLE = ["fbx", "usdz"]  # every clip, and materials
ONE_CLIP = ["npz", "abc"]
COLUMNS = [*WHOLE, "usdz in USD", *ONE_CLIP]


def columns(run, program, shown, folder):
    """By column: the distance at rest and in motion, or why there is none; and whether it is wrong."""
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
            made["usdz in USD"] = cell(*distances(before, Stage(via), before, size))
        if code == 0:
            code, said = run(program, "convert", via, "-o", back, *(["--unit", "1"] if kind == "abc" else []))
        if code != 0:
            made[kind] = (said if code == 2 else f"FAILED: {said}", code != 2)
            continue
        after = Gltf(back)
        clips = before.clips if kind in WHOLE else before.clips[:1]
        made[kind] = cell(*distances(before, after, after, size, len(clips), whole=kind in WHOLE))
        if kind in WHOLE and looks(before) != looks(after):
            made[kind] = (made[kind][0] + ", other materials", True)
    return made


def distances(before, after, names, size, clips=None, whole=True):
    """How far what a file shows is off at rest and in motion. Formats of frames alone show their first frame at rest."""
    apart = lambda one, other: furthest([one], [other]) / size
    rest = apart(before.shown(), after.shown()) if whole or not before.clips else 0.0
    motion = 0.0
    for clip in range(len(before.clips) if clips is None else clips):
        if clip >= len(names.clips):
            return rest, np.inf
        times = before.key_times(clip)
        chosen = times[np.unique(np.linspace(0, len(times) - 1, 4).round().astype(int))] if len(times) else []
        moments = list(chosen) + ([float(a + b) / 2 for a, b in zip(times[:3], times[1:4])] if whole else [])
        for time in moments:
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
    """Both distances as text, and whether one is too large."""
    return f"{rest:.0e} / {motion:.0e}", not (rest <= REST and motion <= MOTION)


def looks(file):
    """Materials in use: name, base colour, and the picture of it."""
    found = set()
    for mesh in file.json.get("meshes", []):
        for primitive in mesh["primitives"]:
            if "material" not in primitive:
                continue
            material = file.json["materials"][primitive["material"]]
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
