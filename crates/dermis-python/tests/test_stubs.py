"""Types: the stubs say what the module has."""

from __future__ import annotations

import os
from pathlib import Path

import dermis
from stub_of_methods import stub

SOURCES = Path(__file__).resolve().parents[1] / "python/dermis"


def test_the_stub_of_methods_is_made_of_the_librarys_settings() -> None:
    path = SOURCES / "_methods.pyi"
    if os.environ.get("DERMIS_UPDATE_SNAPSHOTS"):
        path.write_text(stub(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == stub(), "run with DERMIS_UPDATE_SNAPSHOTS=1"


def test_the_package_is_typed() -> None:
    assert (Path(dermis.__file__).parent / "py.typed").exists()


def test_everything_public_is_documented() -> None:
    for name in dermis.__all__:
        if name != "__version__":
            assert (getattr(dermis, name).__doc__ or "").strip(), name
