"""What a stage shows at a time, by UsdSkel's own queries. Needs usd-core and NumPy."""

import numpy as np
from pxr import Usd, UsdGeom, UsdSkel, Vt


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
                raise ValueError(f"{self.mesh.GetPath()}: USD cannot skin it")
        return np.array(points, dtype=float)


class Stage:
    """A stage in metres, Y up, whose clip counts from its beginning."""

    def __init__(self, path):
        self.stage = path if isinstance(path, Usd.Stage) else Usd.Stage.Open(str(path))
        self.clips = self.variants() or [{}]
        self.bind()

    def variants(self):
        root = self.stage.GetDefaultPrim()
        sets = root.GetVariantSets() if root else None
        return [{"name": name} for name in sets.GetVariantSet("clip").GetVariantNames()] if sets and sets.HasVariantSet("clip") else []

    def bind(self, clip=None):
        """Chooses a clip by its place, or by its name."""
        if clip is not None and (names := [own["name"] for own in self.variants()]):
            self.stage.GetDefaultPrim().GetVariantSet("clip").SetVariantSelection(names[clip] if isinstance(clip, int) else clip)
        cache = UsdSkel.Cache()
        for prim in self.stage.Traverse():
            if prim.IsA(UsdSkel.Root):
                cache.Populate(UsdSkel.Root(prim), Usd.PrimDefaultPredicate)
        self.skins = [Skin(UsdGeom.Mesh(prim), cache) for prim in self.stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
        # A clip counts from its beginning, points from zero.
        self.start = self.stage.GetStartTimeCode() if any(skin.skeleton for skin in self.skins) else 0.0

    def shown(self, clip=None, time=None):
        """Points of all meshes; without a time those at rest."""
        if clip is not None:
            self.bind(clip)
        code = Usd.TimeCode.Default() if time is None else self.start + time * self.stage.GetTimeCodesPerSecond()
        points = np.concatenate([skin.points(code) for skin in self.skins]) if self.skins else np.zeros((0, 3))
        points = UsdGeom.GetStageMetersPerUnit(self.stage) * points
        if UsdGeom.GetStageUpAxis(self.stage) == "Y":
            return points
        return np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=-1)
