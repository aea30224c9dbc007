"""What reviewers of Blender's extension platform refuse in an add-on, found in its syntax trees. Needs Python alone, no Blender.

    python3 tools/blender_rules.py [FOLDER or ZIP]

FOLDER is by default `blender/dermis_blender`; of a zip that is an extension, the Python files are looked at, and not those of wheels.
It prints a line for each finding and ends with 1 if there is one.

The rules are those of Blender's developer handbook (Extensions, add-on guidelines) and of its manual (Creating Extensions, Add-ons): an
add-on brings all it needs as wheels, leaves Python's search path alone, starts no threads or processes, runs no text as code, asks the
network only by Blender's leave (this one never does), writes nothing into its own folder, imports its own modules relatively, and is
under the GNU General Public License.
"""

import ast
import sys
import zipfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "blender/dermis_blender"
SPDX = "# SPDX-License-Identifier: GPL-3.0-or-later"
# The name of the add-on, and that of extensions in Blender.
OWN = {"dermis_blender", "bl_ext"}
# Modules by what they are refused for.
MODULES = {
    "a thread or a process; dermis.Job works in the background": {
        "threading", "_thread", "queue", "_queue", "subprocess", "multiprocessing", "concurrent", "asyncio", "pty",
    },
    "C functions": {"ctypes", "cffi", "_ctypes"},
    "the network": {
        "urllib", "urllib3", "requests", "socket", "socketserver", "http", "httpx", "aiohttp", "ssl", "ftplib", "smtplib", "poplib",
        "imaplib", "telnetlib", "xmlrpc", "websocket", "websockets",
    },
    "installing or finding packages": {"pip", "ensurepip", "site", "venv", "pkg_resources", "setuptools", "zipimport"},
    "text as code": {"runpy", "code", "codeop"},
    "another program; bpy.ops.wm.url_open opens a page": {"webbrowser"},
}  # fmt: skip
REFUSED_MODULES = {name: why for why, names in MODULES.items() for name in names}
# Attributes of modules.
REFUSED_ATTRIBUTES = {
    ("sys", "path"): "Python's search path",
    ("sys", "meta_path"): "Python's search path",
    ("sys", "path_hooks"): "Python's search path",
    ("sys", "modules"): "Python's modules",
    ("utils", "register_module"): "registers what it does not name",
} | {
    ("os", name): "another program"
    for name in (
        "system", "popen", "startfile", "fork", "forkpty", "kill", "posix_spawn", "posix_spawnp",
        *(f"{verb}{how}" for verb, hows in (("exec", "l le lp lpe v ve vp vpe"), ("spawn", "l le lp lpe v ve vp vpe")) for how in hows.split()),
    )
}  # fmt: skip
# Names wherever they stand.
REFUSED_NAMES = {
    "__file__": "the add-on's own folder, which may not be writable; bpy.utils.extension_path_user is for files",
    "__path__": "the add-on's own folder",
    "bl_info": "the manifest says it",
}
REFUSED_CALLS = {"exec": "text as code", "eval": "text as code", "compile": "text as code", "__import__": "importlib imports by name"}


def findings(source, name):
    """What is refused in one file: "NAME:LINE: what"."""
    found = []
    if not source.startswith(SPDX + "\n"):
        found.append((1, f"the first line is not {SPDX}"))
    for node in ast.walk(ast.parse(source, name)):
        for what in _of_node(node):
            found.append((node.lineno, what))
    return [f"{name}:{line}: {what}" for line, what in sorted(found)]


def _of_node(node):
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from _of_module(alias.name)
    elif isinstance(node, ast.ImportFrom) and node.level == 0:
        yield from _of_module(node.module)
        for alias in node.names:
            yield from _of_attribute(node.module.rpartition(".")[2], alias.name)
    elif isinstance(node, ast.Attribute):
        of = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        yield from _of_attribute(of, node.attr)
        # module.__file__ too.
        yield from _of_name(node.attr)
    elif isinstance(node, ast.Name):
        yield from _of_name(node.id)
    elif isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Name) and called.id in REFUSED_CALLS:
            yield f"{called.id}(): {REFUSED_CALLS[called.id]}"
        by_name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if by_name in ("import_module", "__import__") and node.args and isinstance(node.args[0], ast.Constant):
            yield from _of_module(str(node.args[0].value))


def _of_module(name):
    top = name.partition(".")[0]
    if top in REFUSED_MODULES:
        yield f"import of {name}: {REFUSED_MODULES[top]}"
    if top in OWN:
        yield f"import of {name}: its own modules are imported relatively"


def _of_attribute(of, name):
    if (why := REFUSED_ATTRIBUTES.get((of, name))) is not None:
        yield f"{of}.{name}: {why}"


def _of_name(name):
    if name in REFUSED_NAMES:
        yield f"{name}: {REFUSED_NAMES[name]}"


def sources(path):
    """The Python files of a folder or a zip: names and texts."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*.py") if "__pycache__" not in file.parts)
        return {str(file.relative_to(path)): file.read_text(encoding="utf-8") for file in files}
    with zipfile.ZipFile(path) as packed:
        names = [name for name in packed.namelist() if name.endswith(".py")]
        return {name: packed.read(name).decode("utf-8") for name in names}


def all_findings(path):
    """What is refused in a folder or a zip."""
    taken = sources(path)
    if not taken:
        return [f"{path}: there is no Python file"]
    return [finding for name, source in taken.items() for finding in findings(source, name)]


def main(arguments):
    path = Path(arguments[0]) if arguments else FOLDER
    found = all_findings(path)
    print("\n".join(found) if found else f"{path}: {len(sources(path))} files, nothing that is refused")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
