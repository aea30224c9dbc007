# SPDX-License-Identifier: GPL-3.0-or-later
"""What reviewers of Blender's extension platform refuse is not in the add-on, and would be found.

    python -m pytest --noconftest blender/tests/test_rules.py      (needs no bpy)
"""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SPEC = importlib.util.spec_from_file_location("blender_rules", ROOT / "tools/blender_rules.py")
rules = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(rules)


def test_nothing_is_refused():
    taken = rules.sources(rules.FOLDER)
    assert {"__init__.py", "jobs.py", "package.py", "stack_inverse.py"} <= set(taken)
    assert rules.all_findings(rules.FOLDER) == []


def test_tests_and_the_older_zip_have_the_licence():
    for folder in ("tests", "legacy"):
        for name, source in rules.sources(ROOT / "blender" / folder).items():
            assert source.startswith(rules.SPDX), name


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("import threading", "import of threading"),
        ("def f():\n    import queue as q", "import of queue"),
        ("from subprocess import run", "import of subprocess"),
        ("from multiprocessing.pool import Pool", "import of multiprocessing.pool"),
        ("from concurrent.futures import ThreadPoolExecutor", "import of concurrent.futures"),
        ("import asyncio", "import of asyncio"),
        ("import numpy, ctypes", "import of ctypes"),
        ("import urllib.request", "import of urllib.request"),
        ("import requests", "import of requests"),
        ("from http.client import HTTPConnection", "import of http.client"),
        ("import socket", "import of socket"),
        ("import pip", "import of pip"),
        ("import webbrowser", "import of webbrowser"),
        ("import importlib\nimportlib.import_module('threading')", "import of threading"),
        ("import sys\nsys.path.append('lib')", "sys.path"),
        ("import sys as s\nfrom sys import path", "sys.path"),
        ("import sys\nsys.modules['dermis'] = None", "sys.modules"),
        ("exec('1')", "exec()"),
        ("eval('1')", "eval()"),
        ("__import__('os')", "__import__()"),
        ("import os\nos.system('ls')", "os.system"),
        ("from os import popen", "os.popen"),
        ("import os\nos.execv('a', [])", "os.execv"),
        ("import os\nopen(os.path.join(os.path.dirname(__file__), 'log'), 'w')", "__file__"),
        ("import bpy\nbpy.utils.register_module(__name__)", "utils.register_module"),
        ("from dermis_blender import live", "imported relatively"),
        ("import dermis_blender.live", "imported relatively"),
        ("from bl_ext.user_default.dermis_blender import live", "imported relatively"),
        ("bl_info = {}", "bl_info"),
    ],
)
def test_what_is_planted_is_found(planted, found):
    [finding] = rules.findings(f"{rules.SPDX}\n{planted}\n", "planted.py")
    assert finding.startswith(f"planted.py:{planted.count(chr(10)) + 2}: ") and found in finding


def test_a_file_without_a_licence_is_found():
    assert "first line" in rules.findings("import bpy\n", "planted.py")[0]


def test_what_the_add_on_does_is_not_refused():
    for fine in ("from . import live", "import dermis", "import os\nos.path.join('a')", "import tempfile", "job.result()", "import re\nre.compile('a')"):
        assert rules.findings(f"{rules.SPDX}\n{fine}\n", "fine.py") == []
