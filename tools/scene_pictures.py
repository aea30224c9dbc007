#!/usr/bin/env python3
"""Draw strips of moments of the scenes in assets/scenes: docs/motion-NAME.png.

    python3 tools/scene_pictures.py DERMIS FOLDER [NAME...]

DERMIS is the program; the GLB files go to FOLDER. It needs Chromium (tools/screenshot.sh) and the npm package three below
target/tools; `cargo xtask test --install-tools` installs both.
"""
import functools
import http.server
import json
import math
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
BODY = [0, 0.6, 1.2, 1.8, 2.6, 3.4]
SCENES = {
    "clock": dict(times=[0, 2, 4, 5, 6, 8], view="0,0,2.1", at="0,0,0"),
    "grass": dict(times=[0, 0.5, 1, 1.5, 2, 2.5], view="0,1.5,4.1", at="0,0.25,0", columns=3, height=620),
    "ball": dict(times=[0.02, 0.13, 0.37, 0.62, 0.7, 0.75, 0.8, 1.12], view="0,0.8,5.2", at="0,0.68,0", columns=4, height=640),
    "body": dict(balls=[(-0.16 + 0.14 * math.sin(2.2 * t), 1.2 + 0.2 * math.sin(1.7 * t + 1), 0.31 * t + 0.42) for t in BODY],
                 times=BODY, view="-3.4,1.2,2.6", at="0,0.82,0.15", drift="0,0,0.31", fov=26, height=420),
    "bounce": dict(times=[0, 0.4, 0.467, 0.5, 0.533, 0.9, 1.333, 2.2], view="0,0.8,5.2", at="0,0.68,0", columns=4, height=640),
    "tail": dict(times=[0.4, 0.7, 0.9, 1.1, 1.3, 1.5, 1.8, 2.1], view="0,0,3.6", at="-0.05,-0.15,0", columns=4, height=480),
    "ragdoll": dict(times=[0.3, 0.6, 0.8, 1.0, 1.2, 1.5, 2, 3.9], view="-4.6,1.5,2.6", at="0,0.5,1.0", columns=4, height=640),
    "face": dict(times=[0, 0.6, 1.5, 3.6, 5.25, 5.6], view="0.05,0,0.62", at="0,-0.01,0"),
}


class Pages(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *args, folders=(), **more):
        self.folders = folders
        super().__init__(*args, **more)

    def translate_path(self, path):
        name = path.split("?")[0].split("#")[0]
        for start, folder in self.folders:
            if name.startswith(start):
                return str(folder / name[len(start):])
        return str(ROOT / "no-such-file")

    def log_message(self, *args):
        pass


def main(program, folder, wanted):
    folder.mkdir(parents=True, exist_ok=True)
    folders = [("/three/", ROOT / "target/tools/node_modules/three"), ("/glb/", folder.resolve()), ("/", ROOT / "tools")]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Pages, folders=folders))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in wanted or SCENES:
        look = dict(SCENES[name])
        glb = folder / f"{name}.glb"
        subprocess.run([program, "animate", ROOT / f"assets/scenes/{name}.json", "-o", glb, "--force", "--quiet"], check=True)
        times = look.pop("times")
        if "balls" in look:
            look["mark"] = json.dumps(look.pop("balls"))
        size = ["1400", str(look.pop("height", 300))]
        fragment = urlencode({"glb": f"/glb/{glb.name}", "times": ",".join(map(str, times)), "size": ",".join(size), **look}, safe=",/")
        page = f"http://127.0.0.1:{server.server_port}/scene_sheet.html#{fragment}"
        picture = ROOT / f"docs/motion-{name}.png"
        subprocess.run(["sh", ROOT / "tools/screenshot.sh", page, picture, *size], check=True)
        print(f"{picture.relative_to(ROOT)}: {', '.join(f'{t} s' for t in times)}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
