"""A story in a real window of Blender: pictures of the add-on in use, and a test that it works there.

    python3 tools/blender_window.py STORY [--zip ZIP] [--out FOLDER] [--blender PROGRAM] [--size 1600x1000] [--scale 1.0] [--limit 600]

STORY is a Python file with a generator `story(ui)`; `tools/blender_driver.py` says how to write one, and
`tools/blender_story.py` is one. ZIP is the extension that `cargo xtask blender` makes. It is installed into a user folder
that exists only for this run. Pictures go to FOLDER, by default `target/blender/window`.

Pictures of panels are kept small in `blender/tests/pictures`, a folder per story. What the story shows is compared with those of the same
release of Blender; a panel that lacks a row, or has one more, fails. `--keep` replaces the kept pictures by those of this run: look at
them first. Text of another value passes, since it moves few pixels.

The window opens on a screen that nobody sees (Xvfb), and the processor draws it (Mesa), so no display and no graphics card are
needed. PROGRAM is a Blender from 4.2 on, by default the one that DERMIS_BLENDER names, else `blender`. With Debian:

    apt-get install blender xvfb imagemagick libgl1-mesa-dri

It ends with 0 if the story came to its end, with 1 if a step failed or the limit (seconds) passed, and with 3 if a tool is missing.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DRIVER = ROOT / "tools/blender_driver.py"
PICTURES = ROOT / "blender/tests/pictures"
TOOL_IS_MISSING = 3
# The most that a picture may differ, root mean square, as a share of white. It lies between a line of text more (0.025) and a row of a
# small panel less (0.038).
MOST_DIFFERENCE = 0.03


def main():
    parser = argparse.ArgumentParser(description="A story in a real window of Blender")
    parser.add_argument("story", type=Path)
    parser.add_argument("--zip", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "target/blender/window")
    parser.add_argument("--blender", default=os.environ.get("DERMIS_BLENDER", "blender"))
    parser.add_argument("--size", default="1600x1000")
    parser.add_argument("--scale", type=float, default=1.0, help="of the interface")
    parser.add_argument("--keep", nargs="+", metavar="NAME", help="keep the pictures of these names")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds")
    arguments = parser.parse_args()
    for tool in (arguments.blender, "Xvfb", "import", "convert", "compare"):
        if not shutil.which(tool):
            print(f"{tool} is missing (Debian's packages blender, xvfb, imagemagick, libgl1-mesa-dri)")
            return TOOL_IS_MISSING
    arguments.out.mkdir(parents=True, exist_ok=True)
    version = release(arguments.blender)
    if version < (4, 2):
        print(f"{arguments.blender} is older than Blender 4.2, which has no extensions: a newer one is missing")
        return TOOL_IS_MISSING
    width, height = arguments.size.split("x")
    with tempfile.TemporaryDirectory(prefix="dermis-window-", dir=arguments.out) as user, Screen(arguments.size) as display:
        environment = os.environ | {
            "DISPLAY": display,
            "LIBGL_ALWAYS_SOFTWARE": "1",
            "BLENDER_USER_RESOURCES": user,
            # Where a file window opens.
            "HOME": str(arguments.out.resolve()),
            "DERMIS_UI_SCALE": str(arguments.scale),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        # A session's Wayland would be asked first.
        environment.pop("WAYLAND_DISPLAY", None)
        command = [arguments.blender, "--factory-startup", "--enable-event-simulate", "--no-window-focus"]
        command += ["--window-geometry", "0", "0", width, height, "--python-exit-code", "1", "--python", DRIVER, "--"]
        command += [path.resolve() for path in (arguments.out, arguments.story, arguments.zip) if path]
        failed = within(command, environment, arguments.limit)
    kept = PICTURES / arguments.story.stem
    if failed:
        return failed
    if arguments.keep:
        return keep(arguments.keep, kept, arguments.out, version)
    return compare(kept, arguments.out, version)


def release(blender):
    """Major and minor number."""
    told = subprocess.run([blender, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    version = re.search(r"^Blender (\d+)\.(\d+)", told.stdout, re.MULTILINE)
    return tuple(map(int, version.groups())) if version else (0, 0)


def small(picture):
    """A picture at half its size, in grey: what is kept, as PNG."""
    command = ["convert", picture, "-resize", "50%", "-colorspace", "Gray", "-depth", "4", "-strip", "png:-"]
    return subprocess.run(command, check=True, capture_output=True, timeout=60).stdout


def keep(names, kept, out, version):
    kept.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = kept / f"{name}-{version[0]}.{version[1]}.png"
        path.write_bytes(small(out / f"{name}.png"))
        print(path)
    return 0


def compare(kept, out, version):
    """Compares the pictures of a story with the kept ones; returns 1 if one differs."""
    number = "{}.{}".format(*version)
    different = 0
    for path in sorted(kept.glob("*.png")):
        name, _, of = path.stem.rpartition("-")
        if of != number:
            print(f"{path.name} is of Blender {of}: not compared with {number}")
            continue
        shown = subprocess.run(
            ["compare", "-metric", "RMSE", path, "-", "null:"], input=small(out / f"{name}.png"), capture_output=True, timeout=60
        )  # fmt: skip
        told = shown.stderr.decode(errors="replace")
        share = re.search(r"\(([\d.e-]+)\)", told)
        if shown.returncode > 1 or share is None:
            print(f"FAILED: {name} is not as large as {path.name}, or cannot be compared: {told.strip()}")
            different = 1
            continue
        differs = float(share.group(1)) > MOST_DIFFERENCE
        print(f"{'FAILED: ' if differs else ''}{name} differs from {path.name} by {float(share.group(1)):.4f}; {MOST_DIFFERENCE} is allowed")
        different |= differs
    return int(different)


def within(command, environment, limit):
    """Runs a program and what it starts; after `limit` seconds all of it is stopped. What it says is shown, and a Python error that Blender
    reports and lives on with counts as a failure."""
    start = time.monotonic()
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True, text=True, errors="replace",
    )  # fmt: skip
    stop = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
    stop.start()
    raised = False
    for line in process.stdout:
        print(line, end="", flush=True)
        raised |= line.startswith("Traceback (most recent call last)")
    code = process.wait()
    seconds = time.monotonic() - start
    stop.cancel()
    if code == -signal.SIGKILL and seconds >= limit:
        print(f"error: the story did not end within {limit:.0f} s")
    if raised and code == 0:
        print("error: the story came to its end, but Python failed inside Blender: see above")
    print(f"{'FAILED' if code or raised else 'all is well'} after {seconds:.0f} s")
    return int(bool(code or raised))


class Screen:
    """A screen that nobody sees, at a number that is free."""

    def __init__(self, size):
        self.size = size

    def __enter__(self):
        read, write = os.pipe()
        self.process = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{self.size}x24", "-nolisten", "tcp"],
            pass_fds=[write], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(write)
        with os.fdopen(read) as answer:
            number = answer.readline().strip()
        if not number:
            raise SystemExit("error: Xvfb does not start")
        return f":{number}"

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


if __name__ == "__main__":
    sys.exit(main())
