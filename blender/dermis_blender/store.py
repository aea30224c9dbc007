# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays and models in the file: custom properties of bytes, which survive saving, undo and linking."""

import hashlib

import numpy as np


def put(owner, name, array):
    """Keeps an array as float32 or whole numbers, with its shape."""
    array = np.ascontiguousarray(array)
    kind = "i4" if array.dtype.kind in "iu" else "f8" if array.dtype == np.float64 else "f4"
    put_bytes(owner, name, array.astype(kind).tobytes())
    owner[f"{name} shape"] = [len(array.shape), *array.shape]
    owner[f"{name} kind"] = kind


def put_bytes(owner, name, data):
    """Keeps bytes. A property of bytes that is assigned again, with bytes of another length, is damaged: it is made anew."""
    if name in owner.keys():
        del owner[name]
    owner[name] = data


def get(owner, name):
    """The array that `put` kept; None if there is none or it is damaged."""
    data, shape, kind = owner.get(name), owner.get(f"{name} shape"), owner.get(f"{name} kind")
    if not isinstance(data, bytes) or shape is None or kind not in ("i4", "f4", "f8"):
        return None
    shape = tuple(shape)[1:]
    if len(data) != int(np.prod(shape)) * np.dtype(kind).itemsize:
        return None
    return np.frombuffer(data, dtype=kind).reshape(shape).copy()


def drop(owner, name):
    """Forgets an array."""
    for key in (name, f"{name} shape", f"{name} kind"):
        if key in owner.keys():
            del owner[key]


def digest(data):
    """A short name of some bytes."""
    return hashlib.sha256(data).hexdigest()[:16]
