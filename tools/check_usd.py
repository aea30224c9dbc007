"""Asks USD whether a .usda or .usdz file deforms as the positions in a bundle say, and whether it is sound.

    python tools/check_usd.py CHARACTER BUNDLE.npz [--clip NAME] [--linear] [--times 0.5,1.25] [--poses 3,7] [--limit 1e-6]

Opens the stage, runs every validator of USD on it, and computes the points of all meshes at each time: blend shapes, then skinning, by
UsdSkel's own queries; points that move by themselves are read. They are compared with the bundle's `vertices` at the pose of the same
position in the list, with --linear with linear blend skinning by the bundle's weights. Vertices match by order. Times, in seconds, default
to the bundle's `frame_times`, else to frames at its rate or 24 per second, poses to all; a bundle without `vertices` is compared at rest.
The clip is the one that the stage binds, or the one named, by the variant set `clip`.

Exit 0: all within the limit, a part of the rest diagonal, and no error of a validator; 1: not; 2: the files do not fit; 3: USD or NumPy is
not installed (`pip install usd-core numpy`).
"""

import argparse
import sys

try:
    import numpy as np
    from bundle_skin import linear_blend
    from pxr import Usd, UsdGeom, UsdSkel, UsdValidation, Vt
except ImportError as missing:
    print(f"NOT CHECKED: {missing}. Install with: pip install usd-core numpy", file=sys.stderr)
    sys.exit(3)


def numbers(kind):
    return lambda text: [kind(part) for part in text.split(",")]


def refuse(reason):
    print(reason, file=sys.stderr)
    sys.exit(2)


def validate(stage):
    """Errors of all validators; warnings are printed."""
    registry = UsdValidation.ValidationRegistry()
    context = UsdValidation.ValidationContext(registry.GetOrLoadAllValidators())
    errors = 0
    for found in context.Validate(stage):
        kind = found.GetType()
        sites = [str(site.GetPrim().GetPath()) for site in found.GetSites() if site.IsPrim()]
        print(f"{kind.name}: {found.GetName()}: {found.GetMessage()} {sites[:3]}", file=sys.stderr)
        errors += kind == UsdValidation.ValidationErrorType.Error
    return errors


def y_up(points, up):
    return points if up == "Y" else np.stack([points[..., 0], points[..., 2], -points[..., 1]], axis=-1)


class Skin:
    """A mesh and what moves it."""

    def __init__(self, mesh, cache):
        self.mesh, prim = mesh, mesh.GetPrim()
        self.rest = mesh.GetPointsAttr().Get()
        self.skinning = cache.GetSkinningQuery(prim)
        self.skeleton = None
        skeleton, shapes = UsdSkel.BindingAPI(prim).GetInheritedSkeleton(), UsdSkel.BindingAPI(prim)
        if not (skeleton and self.skinning):
            return
        self.skeleton = cache.GetSkelQuery(skeleton)
        self.shapes = UsdSkel.BlendShapeQuery(shapes) if self.skinning.HasBlendShapes() else None

    def points(self, time):
        if self.skeleton is None:
            return np.array(self.mesh.GetPointsAttr().Get(time), dtype=float)
        points = Vt.Vec3fArray(self.rest)
        animation = self.skeleton.GetAnimQuery()
        if self.shapes and animation:
            weights = animation.ComputeBlendShapeWeights(time)
            mapper = self.skinning.GetBlendShapeMapper()
            weights = mapper.Remap(weights) if mapper else weights
            sub, shapes, places = self.shapes.ComputeSubShapeWeights(weights)
            self.shapes.ComputeDeformedPoints(
                sub, shapes, places, self.shapes.ComputeBlendShapePointIndices(),
                self.shapes.ComputeSubShapePointOffsets(), points)
        if self.skinning.HasJointInfluences():
            transforms = self.skeleton.ComputeSkinningTransforms(time)
            if not self.skinning.ComputeSkinnedPoints(transforms, points, time):
                refuse(f"{self.mesh.GetPath()}: USD cannot skin it")
        return np.array(points, dtype=float)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("character")
    parser.add_argument("bundle")
    parser.add_argument("--clip")
    parser.add_argument("--linear", action="store_true")
    parser.add_argument("--times", type=numbers(float))
    parser.add_argument("--poses", type=numbers(int))
    parser.add_argument("--limit", type=float, default=1e-6)
    args = parser.parse_args()
    bundle = np.load(args.bundle)
    if args.linear:
        wanted = linear_blend(bundle)
    else:
        wanted = bundle["vertices" if "vertices" in bundle else "rest_vertices"].astype(float)
        wanted = wanted.reshape(-1, *wanted.shape[-2:])
    times = args.times
    if times is None and "frame_times" in bundle:
        times = bundle["frame_times"].tolist()
    elif times is None:
        rate = float(bundle["fps"]) if "fps" in bundle else 24.0
        times = [frame / rate for frame in range(len(wanted))]
    poses = args.poses if args.poses is not None else list(range(len(times)))
    if len(times) != len(poses):
        refuse(f"{len(times)} times, but {len(poses)} poses")
    stage = Usd.Stage.Open(args.character)
    errors = validate(stage)
    root = stage.GetDefaultPrim()
    if args.clip and root.HasVariantSets():
        root.GetVariantSet("clip").SetVariantSelection(args.clip)
    cache = UsdSkel.Cache()
    for prim in stage.Traverse():
        if prim.IsA(UsdSkel.Root):
            cache.Populate(UsdSkel.Root(prim), Usd.PrimDefaultPredicate)
    skins = [Skin(UsdGeom.Mesh(prim), cache) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    metres, rate = UsdGeom.GetStageMetersPerUnit(stage), stage.GetTimeCodesPerSecond()
    up = UsdGeom.GetStageUpAxis(stage)
    # A clip counts from its beginning, points from zero.
    start = stage.GetStartTimeCode() if any(skin.skeleton for skin in skins) else 0.0

    units = {"metres": 1.0, "centimetres": 0.01, "millimetres": 0.001, "inches": 0.0254, "feet": 0.3048}
    unit = units[str(bundle["units"])] if "units" in bundle else 1.0
    bundle_up = str(bundle["up_axis"]) if "up_axis" in bundle else "Y"
    wanted = y_up(unit * wanted, bundle_up)
    rest = y_up(unit * bundle["rest_vertices"].astype(float), bundle_up)
    size = np.linalg.norm(np.ptp(rest, axis=0))
    worst = (0.0, 0.0)
    for time, pose in zip(times, poses):
        found = y_up(metres * np.concatenate([skin.points(start + time * rate) for skin in skins]), up)
        if found.shape != wanted[pose].shape:
            refuse(f"{len(found)} vertices, but the bundle has {len(wanted[pose])}")
        off = np.linalg.norm(found - wanted[pose], axis=-1).max() / size
        worst = max(worst, (off, time))
    print(f"{len(skins)} meshes, {len(rest)} vertices, {len(times)} times: off by {worst[0]:.2e} of the diagonal at {worst[1]:.4f} s")
    sys.exit(0 if worst[0] <= args.limit and not errors else 1)


main()
