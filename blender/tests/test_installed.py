"""The add-on that the tests run with is the one they were started for."""

import ast
import os
import sys
import tomllib
from pathlib import Path

import bpy


def test_the_module_is_the_installed_one():
    import dermis_blender
    from dermis_blender import bundled

    installed = os.environ.get("DERMIS_BLENDER_ADDON")
    assert dermis_blender.__name__ == (installed or "dermis_blender")
    assert sys.modules[dermis_blender.__name__] is dermis_blender
    assert bundled is sys.modules[f"{dermis_blender.__name__}.bundled"]
    assert bundled.__spec__.name == bundled.__name__
    if installed:
        user = Path(bpy.utils.resource_path("USER")).resolve()
        assert user in Path(dermis_blender.__file__).resolve().parents
        assert installed in bpy.context.preferences.addons


def test_the_header_and_the_manifest_agree():
    import dermis
    import dermis_blender

    # Blender takes the header away from an extension's module, so it is read from the source.
    source = ast.parse(Path(dermis_blender.__file__).read_text())
    headers = [node.value for node in source.body if isinstance(node, ast.Assign) and node.targets[0].id == "bl_info"]
    info = ast.literal_eval(headers[0])
    version = ".".join(map(str, info["version"]))
    assert version == dermis.__version__
    manifest = tomllib.loads((Path(dermis_blender.__file__).parent / "blender_manifest.toml").read_text())
    assert manifest["version"] == version
    assert manifest["name"] == info["name"]
    assert manifest["tagline"] == info["description"]
    assert manifest["blender_version_min"] == ".".join(map(str, info["blender"]))
