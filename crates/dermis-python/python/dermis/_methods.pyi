"""Methods with their settings. Made by tests/test_stubs.py; do not edit."""

from collections.abc import Mapping, Sequence
from typing import Any

Choice = str | float | Mapping[str, Any]
"""A choice as a recipe holds it: its name, or a name with settings."""

class Method:
    """A method with its settings; the base of `Joint`, `Mwe` and the others."""

    name: str
    def __init__(self, **settings: Any) -> None: ...
    def to_dict(self) -> Any: ...
    @staticmethod
    def preset(name: str) -> Method: ...
    def __getattr__(self, setting: str) -> Any: ...
    def __dir__(self) -> list[str]: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def presets() -> dict[str, str]: ...
def method_of(method: Method | str | None) -> Method: ...

class AnimationSpace(Method):
    def __init__(
        self,
        *,
        maps: Choice = ...,
        ridge: Choice = ...,
    ) -> None: ...

class Correctives(Method):
    def __init__(
        self,
        *,
        base: Choice = ...,
        maps: Choice = ...,
        coordinates: Choice = ...,
        driver: Choice = ...,
        channels: Sequence[Any] = ...,
        kernel: Choice = ...,
        sigma: Choice | None = ...,
        mirror: bool = ...,
        guard: bool = ...,
    ) -> None: ...

class DirectDeltaMush(Method):
    def __init__(
        self,
        *,
        steps: Choice | None = ...,
    ) -> None: ...

class Dqs(Method):
    def __init__(self) -> None: ...

class EigenSkin(Method):
    def __init__(
        self,
        *,
        base: Choice = ...,
        maps: Choice = ...,
        fewer_rings: bool = ...,
        form: Choice = ...,
        coordinates: Choice = ...,
        channels: Sequence[Any] = ...,
        reach: Choice = ...,
        sparse: bool = ...,
        mirror: bool = ...,
        smoothing: Choice | None = ...,
        folds: Choice = ...,
        duplicates: float = ...,
        guard: bool = ...,
        sigma: Choice | None = ...,
        kept: Choice = ...,
    ) -> None: ...

class Joint(Method):
    def __init__(
        self,
        *,
        base: Choice = ...,
        frame: Choice = ...,
        sigma: float = ...,
        inducing: int = ...,
        arc_cosine: Choice = ...,
        gravity: Choice = ...,
        swing_twist: Choice = ...,
        composites: Choice = ...,
        products: Choice = ...,
        mirror: bool = ...,
        ridge: Choice = ...,
        untouched: float = ...,
        importance: Sequence[Any] = ...,
        guard: bool = ...,
        coefficients: Choice = ...,
        remember: Choice | None = ...,
    ) -> None: ...

class Lbs(Method):
    def __init__(
        self,
        *,
        kind: Choice = ...,
        influences: int = ...,
        smoothness: float = ...,
        candidates: Choice = ...,
        lock_bones: Sequence[Any] = ...,
        lock_vertices: Sequence[Any] = ...,
        lock_weights: Sequence[Any] = ...,
        symmetric: bool = ...,
        bits: Choice | None = ...,
    ) -> None: ...

class Mwe(Method):
    def __init__(
        self,
        *,
        base: Choice = ...,
        maps: Choice = ...,
        anchor: Choice = ...,
        rows: Choice | None = ...,
        centring: Choice = ...,
        ridge_mode: Choice = ...,
        ridge: Choice = ...,
        eig_tol: Choice | None = ...,
        svd_tol: Choice | None = ...,
        duplicates: float = ...,
        untouched: float = ...,
        importance: Sequence[Any] = ...,
        solve_precision: Choice = ...,
        guard: bool = ...,
        coefficients: Choice = ...,
        remember: Choice | None = ...,
    ) -> None: ...

class OwnWeights(Method):
    def __init__(self) -> None: ...

class PoseBlendshapes(Method):
    def __init__(
        self,
        *,
        base: Choice = ...,
        maps: Choice = ...,
        fewer_rings: bool = ...,
        form: Choice = ...,
        coordinates: Choice = ...,
        channels: Sequence[Any] = ...,
        reach: Choice = ...,
        sparse: bool = ...,
        mirror: bool = ...,
        smoothing: Choice | None = ...,
        folds: Choice = ...,
        duplicates: float = ...,
        guard: bool = ...,
        budget: Choice | None = ...,
    ) -> None: ...

class Psd(Method):
    def __init__(
        self,
        *,
        base: Choice = ...,
        maps: Choice = ...,
        fewer_rings: bool = ...,
        form: Choice = ...,
        coordinates: Choice = ...,
        channels: Sequence[Any] = ...,
        reach: Choice = ...,
        sparse: bool = ...,
        mirror: bool = ...,
        smoothing: Choice | None = ...,
        folds: Choice = ...,
        duplicates: float = ...,
        guard: bool = ...,
        sigma: Choice | None = ...,
        kernel: Choice | None = ...,
        linear: bool = ...,
        singular: Choice = ...,
        importance: Sequence[Any] = ...,
        budget: Choice | None = ...,
        remember: float = ...,
    ) -> None: ...

class RotationalRegression(Method):
    def __init__(
        self,
        *,
        ridge: Choice = ...,
    ) -> None: ...

class ShapeByExample(Method):
    def __init__(
        self,
        *,
        base: Choice = ...,
        coordinates: Choice = ...,
        channels: Sequence[Any] = ...,
        kernel: Choice | None = ...,
        sigma: Choice | None = ...,
        eig_tol: Choice | None = ...,
        smoothing: Choice | None = ...,
        folds: Choice = ...,
        duplicates: float = ...,
        mirror: bool = ...,
        guard: bool = ...,
    ) -> None: ...
