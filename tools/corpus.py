"""Holds the toolkit against files that others made: python corpus.py DERMIS FOLDER [--quick] [--out FILE]

Every character file below FOLDER goes through the program: `inspect`, `convert`, `exercise`, `retarget` of the bundled walk onto it,
and of its own motion onto the bundled body. What `convert` shows is compared with an independent reading of the file, in the rest pose
and at times of every clip. The first folder below FOLDER is the source of a file.

Verdicts: `exact`; `refused`, with the program's reason; `lost and said`, where the result differs and a warning says so; `wrong`, where
it differs and nothing says so, or a run crashes, hangs or takes too much memory; `not compared`, where nothing independent reads it.
The last columns say how far it is off, at rest and in motion, after a way through another format and back, and in other programs
(`corpus_round.py`).

Needs NumPy. Exit 0 nothing is wrong, 1 a file is wrong.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from corpus_bvh import Bvh
from corpus_fbx import Frames
from corpus_gltf import Gltf, Unread
from corpus_round import COLUMNS, THREE, Viewer, columns

SECONDS = 60
BYTES = 8 << 30
# Of the size of what is shown.
TOLERANCE = 1e-5
# The same beside frames of a modelling program, which computes and prints with fewer digits.
PRINTED = 1e-4
SUFFIXES = {".glb", ".gltf", ".vrm", ".fbx", ".bvh"}
VERDICTS = ["exact", "refused", "lost and said", "wrong", "not compared"]
# Remarks on what no position depends on.
HARMLESS = ["were welded", "written:", "polygons: a GLB has triangles", "cameras", "lights", "objects that are hidden", "tangents were left out",
            "textures", "materials", "not at their bind pose by default", "were reordered",
            "references to things that are not there", "shared a name", "joined into one", "were set right"]
BODY = Path(__file__).parent.parent / "assets/body"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program", type=Path)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--quick", action="store_true", help="inspect and convert alone")
    arguments.add_argument("--out", type=Path, help="where the table goes")
    arguments.add_argument("--blender", type=Path, action="append", default=[], help="a Python with bpy, for further columns; may be repeated")
    arguments.add_argument("--three", type=Path, help="the folder of the npm package three, for a further column")
    options = arguments.parse_args()
    options.viewers = viewers(options)
    program = options.program.resolve()
    files = sorted(path for path in options.folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda path: told(program, path, options), files))
    rows = [row for row in rows if row]
    if not rows:
        sys.exit(f"error: no character file below {options.folder}")
    names = [*COLUMNS, *options.viewers]
    text = summary(rows) + "\n" + ("" if options.quick else counts(rows, names) + "\n") + table(rows, names)
    if options.out:
        options.out.write_text(text)
    print(text if not options.out else text[: text.index("| file |")])
    sys.exit(1 if any(row["verdict"] == "wrong" for row in rows) else 0)


def viewers(options):
    """Other programs that show what is written, by the name of their column."""
    here, made = Path(__file__).parent, {}
    if options.three:
        made[THREE] = Viewer("node", here / "corpus_three.mjs", options.three)
    for python in options.blender:
        version = subprocess.run([python, "-c", "import bpy; print('.'.join(map(str, bpy.app.version[:2])))"], capture_output=True, text=True, check=True).stdout.split()[-1]
        blender = Viewer(python, here / "corpus_blender.py")
        made |= {f"{kind} in Blender {version}": blender for kind in ("fbx", "usdz")}
    return made


def told(program, path, options):
    """The row of a file, `None` if it holds no character."""
    name = path.relative_to(options.folder).as_posix()
    row = {"file": name, "source": name.split("/")[0], "why": "", "distance": None, "verbs": "", "round": {}}
    try:
        reading = reading_of(path)
    except Exception as error:  # Whatever a strange file does to the reader, the program must still answer.
        reading, row["why"] = None, f"{type(error).__name__}: {error}"
    if reading is False:
        return None
    with tempfile.TemporaryDirectory() as folder:
        check(program, path, reading, Path(folder), row, options)
    print(f"{row['verdict']:>13}  {name}  {row['why']}", file=sys.stderr, flush=True)
    return row


def reading_of(path):
    """An independent reading; `False` if the file holds no character, `None` if nothing independent reads it."""
    if path.suffix.lower() == ".bvh":
        return Bvh(path)
    if path.suffix.lower() == ".fbx":
        frames = Frames(path)
        return (frames if frames.frames else None) if frames.is_character else False
    reading = Gltf(path)
    return reading if reading.is_character() else False


def check(program, path, reading, folder, row, options):
    """Runs the program on a file, and puts verdict and reasons into its row."""
    is_bvh = path.suffix.lower() == ".bvh"
    shown = folder / ("shown.npz" if is_bvh else "shown.glb")
    inspect = run(program, "inspect", "--json", path)
    convert = run(program, "convert", path, "-o", shown)
    others = {"inspect": inspect}
    if not options.quick:
        others["exercise"] = run(program, "exercise", path, "-o", folder / "exercise.npz")
        others["onto it"] = run(program, "retarget", BODY / "body_walk.npz", path, "-o", folder / "onto.glb")
        others["from it"] = run(program, "retarget", *first_clip(path, inspect), BODY / "body.glb", "-o", folder / "from.glb")
    row["verbs"] = ", ".join(f"{verb} {'ok' if code == 0 else 'refused' if code == 2 else said}" for verb, (code, said) in others.items())
    broken = [f"{verb}: {said}" for verb, (code, said) in {"convert": convert, **others}.items() if code not in (0, 2)]
    broken += [f"{verb} shows nonsense" for verb, file in [("retarget onto it", "onto.glb"), ("retarget from it", "from.glb")]
               if (folder / file).exists() and not is_sane(folder / file)]
    code, said = convert
    if broken:
        row["verdict"], row["why"] = "wrong", "; ".join(broken)
    elif code == 2:
        row["verdict"], row["why"] = "refused", said.replace(f'"{path}": ', "")
    elif reading is None:
        row["verdict"] = "not compared"
        row["why"] = row["why"] or "no independent reading"
    else:
        compared(path, reading, shown, inspect[1], said, row)
    if not options.quick and row["verdict"] not in ("wrong", "refused") and not is_bvh:
        round_trips(program, shown, folder, row, options.viewers)


def round_trips(program, shown, folder, row, viewers):
    """Adds the columns of other formats, which do not judge the file."""
    try:
        row["round"] = columns(run, program, shown, folder, viewers)
    except Exception as error:  # As above: a strange file must not end the table.
        row["round"] = {COLUMNS[0]: f"the reading fails: {type(error).__name__}: {error}"}


def compared(path, reading, shown, inspected, said, row):
    """Compares what is shown, and judges."""
    try:
        if isinstance(reading, Gltf):
            different, row["distance"] = compare_gltf(reading, shown, inspected)
        else:
            different, row["distance"] = (compare_bvh if isinstance(reading, Bvh) else compare_frames)(reading, shown)
    except Unread as error:
        row["verdict"], row["why"] = "not compared", str(error)
        return
    except Exception as error:
        # A reader that fails on the program's output has found the program out; on the file, itself.
        row["verdict"], row["why"] = "not compared", f"the reading fails: {type(error).__name__}: {error}"
        return
    # The reading of a glTF file scales weights as well; frames beside an FBX file were made without.
    harmless = HARMLESS + ([] if isinstance(reading, Frames) else ["did not sum to one"])
    remarks = "; ".join(line.strip() for line in said.splitlines() if not any(word in line for word in harmless) and line.strip())
    remarks = remarks.replace(str(path) + ": ", "")
    if not different:
        row["verdict"], row["why"] = "exact", ""
    else:
        row["verdict"] = "lost and said" if remarks else "wrong"
        row["why"] = "; ".join(different) + (f" (said: {remarks})" if remarks else "")


def compare_gltf(reading, shown, inspected):
    """What differs, and the largest distance in sizes of what the file shows."""
    written, different = Gltf(shown), []
    inspected = json.loads(inspected)[0]
    keys, between = [], []
    if len(written.clips) != len(reading.clips):
        different.append(f"{len(reading.clips)} clips become {len(written.clips)}")
    else:
        for clip in range(len(reading.clips)):
            times = reading.key_times(clip)
            chosen = np.unique(np.linspace(0, len(times) - 1, 5).round().astype(int)) if len(times) else []
            keys += [(clip, float(times[key])) for key in chosen]
            between += [(clip, float(times[key] + times[key + 1]) / 2) for key in chosen if key + 1 < len(times)]
    if (joints := reading.joint_count()) > (bones := (inspected.get("skeleton") or {}).get("bones", 0)):
        different.append(f"{joints} joints become {bones} bones")
    if (weights := len(reading.shown_weights())) > (targets := len(written.shown_weights())):
        different.append(f"{weights} morph weights become {targets}")
    moments = [(None, 0.0), *keys, *between]
    theirs, ours = [[file.shown(clip, time) for clip, time in moments] for file in (reading, written)]
    if not len(theirs[0]):
        raise Unread("the default scene shows no triangles")
    size = np.linalg.norm(np.ptp(theirs[0], axis=0)) or 1.0
    if not all(np.isfinite(frame).all() for frame in theirs):
        raise Unread("the file shows positions that are no numbers")
    if not len(ours[0]) or not all(np.isfinite(frame).all() for frame in ours):
        return different + ["nothing is shown, or positions that are no numbers"], None
    ends = {"the default pose is": 1, "clips are": 1 + len(keys), "clips between their keys are": len(moments)}
    for what, end in ends.items():
        distance = apart(theirs[:end], ours[:end]) / size
        if distance > TOLERANCE:
            return [*different, f"{what} {distance:.1e} sizes off"], distance
    return different, distance


def compare_bvh(reading, shown):
    """The same for the joints of a motion, with their names."""
    bundle = np.load(shown)
    names = [str(name) for name in bundle["bone_names"]]
    poses = bundle["pose_matrices"]
    if len(poses) != len(reading.frames):
        return [f"{len(reading.frames)} frames become {len(poses)}"], None
    # Ends of chains may be joints of their own.
    if not set(reading.names) <= set(names) or not len(reading.names) <= len(names) <= len(reading.names) + reading.ends:
        return [f"{len(reading.names)} joints become {len(names)}, or have other names"], None
    places = [names.index(name) for name in reading.names]
    frames = np.unique(np.linspace(0, len(poses) - 1, 5).round().astype(int))
    expected = [reading.joints(frame) for frame in frames]
    size = np.linalg.norm(np.ptp(expected[0], axis=0)) or 1.0
    # A file says no unit, and a bundle stays in units of the file.
    distance = max(np.abs(poses[f, places, :3, 3] - e).max() for f, e in zip(frames, expected)) / size
    return ([f"joints are {distance:.1e} sizes off"] if distance > TOLERANCE else []), distance


def compare_frames(reading, shown):
    """The same for frames beside an FBX file: the space, the rate if the file says none, and the frame that a clip begins with, are those that fit
    best."""
    written = Gltf(shown)
    names = [clip["name"].split("|")[-1].lower() for clip in written.clips]
    rest = written.shown()
    choices = []
    for to_metres in reading.spaces():
        # Per clip, and frame and rate that it may begin with: the distance of every frame, and whether it is more than allowed.
        found = {}
        for clip, frame, points, stated in reading.frames:
            at = None if frame is None else names.index(clip) if clip in names else 0 if clip is None and len(names) == 1 else -1
            if at == -1 or not 0 < len(points) <= len(rest):
                continue
            expected = points @ to_metres.T
            size = np.linalg.norm(np.ptp(expected, axis=0)) or 1.0
            allowed = max(PRINTED, stated / (np.linalg.norm(np.ptp(points, axis=0)) or 1.0))
            for start, rate in [(0, 1)] if frame is None else [(start, rate) for rate in reading.rates for start in (-1, 0, 1)]:
                time = 0.0 if frame is None else (frame - start) / rate
                distance = apart([expected], [written.shown(at, time)]) / size
                found.setdefault(at, {}).setdefault((start, rate), []).append((distance > allowed, distance, frame))
        choices.append([row for starts in found.values() for row in min(starts.values(), key=misfit)])
    if not choices[0]:
        raise Unread("no frame beside it is of this mesh")
    best = min(choices, key=misfit)
    different = [f"{'the default pose' if frame is None else f'frame {frame}'} is {distance:.1e} sizes off" for off, distance, frame in best if off]
    return different, max(distance for _, distance, _ in best)


def misfit(rows):
    """How far frames are off as a whole."""
    return sum(off for off, _, _ in rows), max(distance for _, distance, _ in rows)


def apart(theirs, ours):
    """The largest distance between vertices of two motions, each beside the one that moves most like it, in both directions.

    Vertices are matched by their positions in all frames: a writer may split and order them anew.
    """
    theirs, ours = np.hstack(theirs), np.hstack(ours)
    middle = theirs.mean(axis=0)
    return max(furthest(theirs - middle, ours - middle), furthest(ours - middle, theirs - middle))


def furthest(points, others, most=4000):
    """The largest distance that a vertex of `points`, or of an even choice of them, has from its partner."""
    points = points[np.linspace(0, len(points) - 1, min(most, len(points))).astype(int)]
    squares, worst = (others**2).sum(axis=1), 0.0
    for start in range(0, len(points), 500):
        block = points[start : start + 500]
        partner = (squares - 2 * block @ others.T).argmin(axis=1)
        worst = max(worst, np.linalg.norm((block - others[partner]).reshape(len(block), -1, 3), axis=2).max())
    return worst


def is_sane(path):
    """Whether a motion that was brought onto another character is finite, and no larger than ten times the character."""
    try:
        motion = Gltf(path)
        rest = motion.shown()
        frames = [motion.shown(clip, time) for clip in range(len(motion.clips)) for time in motion.key_times(clip)[:: max(1, len(motion.key_times(clip)) // 5)]]
    except Exception:
        return False
    size = np.linalg.norm(np.ptp(rest, axis=0)) if len(rest) else np.inf
    return all(np.isfinite(frame).all() and (not len(frame) or np.linalg.norm(np.ptp(frame, axis=0)) < 10 * size) for frame in frames)


def first_clip(path, inspect):
    """The file as a source of motion: its first clip, if it has several."""
    try:
        clips = json.loads(inspect[1])[0]["clips"]
    except (ValueError, LookupError):
        clips = []
    return [path, "--clip", clips[0]["name"]] if len(clips) > 1 else [path]


def run(program, verb, *arguments):
    """Exit code and what was said. 0 is done and 2 refused with a reason; another end has a negative code, and its name."""
    # A shell limits the memory: between fork and exec of a program with threads, Python may stand still.
    limited = ["sh", "-c", f'ulimit -v {BYTES >> 10} && exec "$@"', "sh"]
    command = [*limited, program, verb, *arguments, "--quiet"]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return -1, f"runs for more than {SECONDS} s"
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    if done.returncode == 0:
        return 0, out if "--json" in arguments else out + err
    reason = re.search(r"error: (.*)", err)
    if done.returncode == 2 and reason and "panicked" not in err:
        return 2, reason.group(1)
    if done.returncode < 0:
        return -1, f"ends by {signal.Signals(-done.returncode).name}"
    return -1, f"exit code {done.returncode}: {err.strip().splitlines()[-1] if err.strip() else 'nothing said'}"


def summary(rows):
    """Counts of verdicts per source, as Markdown."""
    sources = sorted({row["source"] for row in rows})
    lines = ["| source | files | " + " | ".join(VERDICTS) + " |", "|---|" + "---:|" * (len(VERDICTS) + 1)]
    for name in [*sources, "all"]:
        count = Counter(row["verdict"] for row in rows if name in ("all", row["source"]))
        lines.append(f"| {name} | {sum(count.values())} | " + " | ".join(str(count[verdict]) for verdict in VERDICTS) + " |")
    return "\n".join(lines) + "\n"


def counts(rows, names):
    """Per other format or program the number of files within the limits, beyond them with and without a word, and refused or failed."""
    lines = ["| way | within | beyond and said | beyond | refused or failed |", "|---|---:|---:|---:|---:|"]
    for name in names:
        cells = [row["round"][name] for row in rows if name in row["round"]]
        made = [cell for cell in cells if " / " in cell[:12]]
        beyond, said = sum("!" in cell for cell in made), sum("!" in cell and cell.endswith("said") for cell in made)
        lines.append(f"| {name} | {len(made) - beyond} | {said} | {beyond - said} | {len(cells) - len(made)} |")
    return "\n".join(lines) + "\n"


def table(rows, names):
    """A line per file, the wrong ones first."""
    order = ["wrong", "lost and said", "not compared", "refused", "exact"]
    lines = ["| file | verdict | why | distance | other verbs | " + " | ".join(names) + " |", "|---|---|---|---:|---|" + "---|" * len(names)]
    for row in sorted(rows, key=lambda row: (order.index(row["verdict"]), row["file"])):
        why = row["why"].replace("|", "\\|").replace("\n", " ")
        distance = "" if row["distance"] is None else f"{row['distance']:.0e}"
        ways = " | ".join(row["round"].get(name, "").replace("|", "/") for name in names)
        lines.append(f"| {row['file']} | {row['verdict']} | {why} | {distance} | {row['verbs'].replace('|', '/')} | {ways} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
