"""Installs a zip of the add-on into Blender as a person does, and looks whether all goes well.

    BPY_PYTHON tools/check_blender_addon.py ZIP [--tests FOLDER]

BPY_PYTHON is a Python that can import bpy. ZIP is an extension, or the zip for older ways to install. The script installs it
into a fresh user folder, enables it, looks that the package `dermis` is the one the zip brought, switches it off and on
again, and removes it. With --tests, pytest runs while the zip is installed, in a process of its own, and what the tests import as
`dermis_blender` is the installed add-on.

An extension passes Blender's own validator with the tags of Blender's platform, holds nothing that reviewers refuse
(`tools/blender_rules.py`), and its licences. The tests fail if Python opens a file for writing outside the temporary folder and the user
folder, or if the add-on's own folder is another one afterwards.

It ends with 0 if all is well and with 1 otherwise.
"""

import argparse
import importlib
import importlib.abc
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import blender_rules  # noqa: E402

# Blender's extension for repositories in the user's folder.
REPOSITORY = "user_default"
# What the add-on's tests import.
NAME = "dermis_blender"
# Seconds for the tests.
LIMIT = 900


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("zip", type=Path)
    parser.add_argument("--tests", type=Path)
    parser.add_argument("--installed", help="for the process of the tests: the add-on's module")
    arguments = parser.parse_args()
    if arguments.installed:
        test(arguments.installed, arguments.tests)
    with tempfile.TemporaryDirectory(prefix="dermis-blender-") as user:
        user = os.path.realpath(user)
        # Blender reads them when it starts.
        os.environ["BLENDER_USER_RESOURCES"] = user
        os.environ["PYTHONNOUSERSITE"] = "1"
        import bpy

        names = zipfile.ZipFile(arguments.zip).namelist()
        is_extension = "blender_manifest.toml" in names
        no_tests(names)
        licences(arguments.zip, names)
        if is_extension:
            refused = blender_rules.all_findings(arguments.zip)
            expect(not refused, f"reviewers refuse {refused}")
            validate(arguments.zip)
            module = install_extension(arguments.zip)
        else:
            module = install_legacy(arguments.zip)
        expect(module in bpy.context.preferences.addons, f"{module} is not enabled")
        package(user)
        missing = importlib.import_module(f"{module}.package").MISSING
        expect(not missing, f"the add-on says: {missing}")
        registered = ours()
        expect(registered, f"{module} registered nothing")
        print(f"{arguments.zip.name} in Blender {bpy.app.version_string}: {module}, {len(registered)} classes")
        if arguments.tests:
            tests = [sys.executable, __file__, arguments.zip, "--installed", module, "--tests", arguments.tests]
            expect(subprocess.run(tests, timeout=LIMIT).returncode == 0, "pytest found something")
        again(module, registered)
        remove(module, is_extension)
        expect(not ours(), f"still registered: {sorted(ours())}")
        left = [str(path) for path in Path(user).rglob("*") if "dermis" in path.name and "__pycache__" not in path.parts]
        expect(not left, f"left behind: {left}")


def no_tests(names):
    """The zip holds what runs and nothing else."""
    stray = [name for name in names if "test" in name.lower() or "__pycache__" in name]
    expect(not stray, f"the zip holds {stray}")


def licences(path, names):
    """The zip holds the licence of the add-on and those of the wheel."""
    packed = zipfile.ZipFile(path)
    for name, words in (
        ("LICENSE", "GNU GENERAL PUBLIC LICENSE"), ("LICENSE-MIT", "Permission is hereby granted"), ("LICENSE-APACHE", "Apache License"),
    ):  # fmt: skip
        found = [each for each in names if each.rpartition("/")[2] == name]
        expect(any(words in packed.read(each).decode() for each in found), f"the zip holds no {name}")


def validate(path):
    """Blender's own check of an extension: what `blender --command extension validate` runs, with the tags that it takes."""
    import bpy

    scripts = Path(bpy.utils.resource_path("LOCAL")) / "scripts"
    program = scripts / "addons_core/bl_pkg/cli/blender_ext.py"
    # Blender passes them on when it runs the program.
    tags = scripts / "modules/_bpy_internal/extensions/tags.py"
    for file in (program, tags):
        expect(file.is_file(), f"{file} is missing")

    def run(*arguments):
        command = [sys.executable, program, "validate", *arguments]
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    check = run("--valid-tags", tags, path)
    print(check.stdout, end="", flush=True)
    expect(check.returncode == 0, f"Blender's validator refuses {path}")
    # It would say so of a tag that the platform does not have, and of a tagline that ends in a full stop.
    with tempfile.TemporaryDirectory() as folder:
        manifest = zipfile.ZipFile(path).read("blender_manifest.toml").decode()
        for good, bad in (('"Sculpt"', '"Skulpt"'), ('from examples"', 'from examples."')):
            expect(manifest.count(good) == 1, f"the manifest has {good} {manifest.count(good)} times")
            wrong = Path(folder) / "wrong.zip"
            with zipfile.ZipFile(wrong, "w") as packed:
                for name in zipfile.ZipFile(path).namelist():
                    content = zipfile.ZipFile(path).read(name)
                    packed.writestr(name, manifest.replace(good, bad) if name == "blender_manifest.toml" else content)
            expect(run("--valid-tags", tags, wrong).returncode != 0, f"Blender's validator does not see {bad}")


def install_extension(path):
    import bpy

    before = set(bpy.context.preferences.addons.keys())
    bpy.ops.extensions.package_install_files(filepath=str(path), repo=REPOSITORY, enable_on_install=True)
    new = set(bpy.context.preferences.addons.keys()) - before
    expect(len(new) == 1, f"installed and enabled: {sorted(new)}")
    return new.pop()


def install_legacy(path):
    import addon_utils
    import bpy

    before = {module.__name__ for module in addon_utils.modules()}
    bpy.ops.preferences.addon_install(filepath=str(path))
    new = {module.__name__ for module in addon_utils.modules(refresh=True)} - before
    expect(len(new) == 1, f"installed: {sorted(new)}")
    module = new.pop()
    bpy.ops.preferences.addon_enable(module=module)
    return module


def package(user):
    """The package that the add-on imports is the one that came with it."""
    import dermis
    from dermis import _dermis

    for module in (dermis, _dermis):
        file = os.path.realpath(module.__file__)
        expect(file.startswith(user + os.sep), f"{module.__name__} comes from {file}, not from the zip")


def test(installed, folder):
    """Runs pytest on the installed add-on, and ends the process."""
    import bpy  # noqa: F401 it finds the user's extensions
    import pytest

    if installed != NAME:
        sys.meta_path.insert(0, Installed(installed))
    addon = importlib.import_module(NAME)
    user = os.path.realpath(os.environ["BLENDER_USER_RESOURCES"])
    expect(os.path.realpath(addon.__file__).startswith(user + os.sep), f"the tests take {addon.__file__}, not the zip's")
    # It finds the package that came with the add-on, before a test imports it.
    importlib.import_module(f"{NAME}.package")
    package(user)
    own = Path(addon.__file__).parent
    before, strays = contents(own), watch_writes((user, os.path.realpath(tempfile.gettempdir())))
    code = pytest.main(["-q", "-p", "no:cacheprovider", str(folder)])
    expect(not strays, f"written outside the temporary folder and the user folder: {sorted(strays)}")
    expect(contents(own) == before, f"the tests have changed {own}")
    sys.stdout.flush()
    # What is still registered with Blender could keep Python from ending.
    os._exit(int(code))


def contents(folder):
    """The files below a folder, with size and time; without what Python compiled."""
    files = [file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    return {file: (file.stat().st_size, file.stat().st_mtime_ns) for file in files}


def watch_writes(allowed):
    """From now on Python's writes outside these folders are noted in the set that is returned. It sees what Python opens itself."""
    strays = set()

    def hook(event, arguments):
        if event != "open":
            return
        path, mode, flags = arguments
        writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else (flags or 0) & (os.O_WRONLY | os.O_RDWR)
        if not writes or isinstance(path, int) or path is None:
            return
        place = os.path.realpath(os.fsdecode(path))
        # A temporary file without a name is opened by the name of its folder.
        if place != os.devnull and not any((place + os.sep).startswith(folder + os.sep) for folder in allowed):
            strays.add(place)

    sys.addaudithook(hook)
    return strays


class Installed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of an installed extension under the name of the add-on's folder too: the same modules, no second copy."""

    def __init__(self, module):
        self.module = module

    def find_spec(self, name, path=None, target=None):
        ours = name == NAME or name.startswith(NAME + ".")
        return importlib.util.spec_from_loader(name, self) if ours else None

    def create_module(self, spec):
        module = importlib.import_module(self.module + spec.name.removeprefix(NAME))
        # The import gives it a specification of the name asked for. It goes on with its own.
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = module.__spec__.loader_state


def again(module, registered):
    """The add-on leaves nothing registered when it is off, and comes back whole."""
    import bpy

    bpy.ops.preferences.addon_disable(module=module)
    expect(not ours(), f"still registered when disabled: {sorted(ours())}")
    bpy.ops.preferences.addon_enable(module=module)
    expect(ours() == registered, f"enabled again, but different: {sorted(ours() ^ registered)}")


def remove(module, is_extension):
    import bpy

    bpy.ops.preferences.addon_disable(module=module)
    if is_extension:
        index = [repo.module for repo in bpy.context.preferences.extensions.repos].index(REPOSITORY)
        bpy.ops.extensions.package_uninstall(repo_index=index, pkg_id=module.rpartition(".")[2])
    else:
        # The operator redraws the area it was called from, so it needs one.
        window = bpy.context.window_manager.windows[0]
        with bpy.context.temp_override(window=window, area=window.screen.areas[0]):
            bpy.ops.preferences.addon_remove(module=module)


def ours():
    """Classes of the add-on that Blender knows, and what hangs on Blender's own types and handlers."""
    import bpy

    def is_ours(thing):
        return "dermis" in (getattr(thing, "__module__", "") or "").lower()

    classes = [c for base in BASES for c in every(getattr(bpy.types, base)) if is_ours(c) and c.is_registered]
    handlers = [
        f"handler {name}: {function.__qualname__}"
        for name in dir(bpy.app.handlers)
        if isinstance(getattr(bpy.app.handlers, name), list)
        for function in getattr(bpy.app.handlers, name)
        if is_ours(function)
    ]
    properties = [
        f"{kind}.{name}" for kind in ("Scene", "Object", "Mesh", "Armature", "Action", "WindowManager")
        for name in dir(getattr(bpy.types, kind)) if "dermis" in name.lower()
    ]
    return {c.__name__ for c in classes} | set(handlers) | set(properties)


# What an add-on registers.
BASES = ("Operator", "Panel", "Menu", "UIList", "PropertyGroup", "AddonPreferences", "Gizmo", "GizmoGroup", "Header")


def every(base):
    found = set()
    waiting = list(base.__subclasses__())
    while waiting:
        found.add(one := waiting.pop())
        waiting.extend(one.__subclasses__())
    return found


def expect(holds, otherwise):
    if not holds:
        print(f"error: {otherwise}", flush=True)
        # What is registered with Blender could keep Python from ending.
        os._exit(1)


if __name__ == "__main__":
    main()
