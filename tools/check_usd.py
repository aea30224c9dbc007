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
    from bundle_skin import linear_blend, numbers, refuse
    from pxr import Usd, UsdValidation
    from usd_skin import Stage
except ImportError as missing:
    print(f"NOT CHECKED: {missing}. Install with: pip install usd-core numpy", file=sys.stderr)
    sys.exit(3)


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
    shown = Stage(stage)
    shown.bind(args.clip)
    skins = shown.skins
    units = {"metres": 1.0, "centimetres": 0.01, "millimetres": 0.001, "inches": 0.0254, "feet": 0.3048}
    unit = units[str(bundle["units"])] if "units" in bundle else 1.0
    bundle_up = str(bundle["up_axis"]) if "up_axis" in bundle else "Y"
    wanted = y_up(unit * wanted, bundle_up)
    rest = y_up(unit * bundle["rest_vertices"].astype(float), bundle_up)
    size = np.linalg.norm(np.ptp(rest, axis=0))
    worst = (0.0, 0.0)
    for time, pose in zip(times, poses):
        try:
            found = shown.shown(time=time)
        except ValueError as reason:
            refuse(str(reason))
        if found.shape != wanted[pose].shape:
            refuse(f"{len(found)} vertices, but the bundle has {len(wanted[pose])}")
        off = np.linalg.norm(found - wanted[pose], axis=-1).max() / size
        worst = max(worst, (off, time))
    print(f"{len(skins)} meshes, {len(rest)} vertices, {len(times)} times: off by {worst[0]:.2e} of the diagonal at {worst[1]:.4f} s")
    sys.exit(0 if worst[0] <= args.limit and not errors else 1)


main()
