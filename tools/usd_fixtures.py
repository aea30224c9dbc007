"""Writes the stages that the tests of USD read, and where usd-core has their points.

    python tools/usd_fixtures.py crates/dermis-testkit/usd

Needs usd-core (written with 26.11). `arm`: an arm of two skinned meshes with blend shapes, below moved transforms, Z up, in
centimetres. `mouth`: shapes in between, on two meshes. `sheet`: a sheet that waves below a turning transform, and a mesh whose faces
change. `scene`: references, inherits, variants, payloads and sublayers between the files of a folder.
"""

import json
import math
import pathlib
import sys

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, UsdSkel, UsdUtils


def turn(axis, degrees):
    return Gf.Quatf(Gf.Rotation(Gf.Vec3d(*axis), degrees).GetQuat())


def faces(mesh, points, counts, indices):
    if points:
        mesh.CreatePointsAttr([Gf.Vec3f(*p) for p in points])
    mesh.CreateFaceVertexCountsAttr(counts)
    mesh.CreateFaceVertexIndicesAttr(indices)
    mesh.CreateSubdivisionSchemeAttr("none")
    return mesh


def arm(path):
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    stage.SetTimeCodesPerSecond(30)
    top = UsdGeom.Xform.Define(stage, "/Top")
    stage.SetDefaultPrim(top.GetPrim())
    top.AddRotateXYZOp().Set(Gf.Vec3f(10, 20, 30))
    top.AddScaleOp().Set(Gf.Vec3f(2))
    root = UsdSkel.Root.Define(stage, "/Top/Body")
    move = root.AddTranslateOp()
    for frame in (0, 10, 20):
        move.Set(Gf.Vec3d(0.1 * frame, 0, 0.05 * frame), frame)
    skeleton = UsdSkel.Skeleton.Define(stage, "/Top/Body/Bones")
    local = [Gf.Matrix4d().SetTranslate(Gf.Vec3d(*p)) for p in ((0, 0, 0), (0, 0, 3), (0, 0.125, 3), (2, 0, 0))]
    skeleton.CreateJointsAttr(["root", "root/mid", "root/mid/tip", "side"])
    skeleton.CreateRestTransformsAttr(local)
    skeleton.CreateBindTransformsAttr([local[0], local[1], local[2] * local[1], local[3]])
    walk = UsdSkel.Animation.Define(stage, "/Top/Body/Bones/Walk")
    walk.CreateJointsAttr(["root/mid", "root", "root/mid/tip"])
    walk.CreateBlendShapesAttr(["smile", "frown"])
    for frame in (0, 5, 10, 20):
        walk.CreateTranslationsAttr().Set([Gf.Vec3f(0, 0, 3 + 0.01 * frame), Gf.Vec3f(0.1 * frame, 0, 0), Gf.Vec3f(0, 0.125, 3)], frame)
        turns = [turn((0, 1, 0), 3 * frame), turn((0, 0, 1), -2 * frame), turn((1, 0, 0), 5 * frame)]
        walk.CreateRotationsAttr().Set(turns, frame)
        walk.CreateScalesAttr().Set([Gf.Vec3h(1), Gf.Vec3h(1, 1, 1.5), Gf.Vec3h(1)], frame)
        walk.CreateBlendShapeWeightsAttr().Set([0.05 * frame, 1 - 0.03 * frame], frame)
    UsdSkel.BindingAPI.Apply(root.GetPrim()).CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([walk.GetPath()])

    around, rings = 5, 7
    circle = [(math.cos(2 * math.pi * k / around), math.sin(2 * math.pi * k / around)) for k in range(around)]
    points = [(x, y, float(ring)) for ring in range(rings) for x, y in circle]
    corner = lambda ring, k: ring * around + k % around
    quads = [[corner(r, k), corner(r, k + 1), corner(r + 1, k + 1), corner(r + 1, k)] for r in range(rings - 1) for k in range(around)]
    indices = [vertex for quad in quads for vertex in quad]
    skin = faces(UsdGeom.Mesh.Define(stage, "/Top/Body/Skin"), points, [4] * len(quads), indices)
    binding = UsdSkel.BindingAPI.Apply(skin.GetPrim())
    ramp = [[max(0, 1 - z / 3), 1 - abs(z / 3 - 1), max(0, z / 3 - 1)] for _, _, z in points]
    binding.CreateJointIndicesPrimvar(False, 3).Set([0, 1, 2] * len(points))
    binding.CreateJointWeightsPrimvar(False, 3).Set([weight for row in ramp for weight in row])
    binding.CreateGeomBindTransformAttr(Gf.Matrix4d().SetRotate(Gf.Rotation(Gf.Vec3d(0, 0, 1), 15)))
    coordinates = UsdGeom.PrimvarsAPI(skin).CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, "faceVarying")
    coordinates.Set([Gf.Vec2f((vertex % around) / around, vertex // around / rings) for vertex in indices])
    skin.CreateNormalsAttr([Gf.Vec3f(x, y, 0) for x, y, _ in points])
    skin.SetNormalsInterpolation("vertex")
    smile = UsdSkel.BlendShape.Define(stage, "/Top/Body/Skin/smile")
    smile.CreatePointIndicesAttr([3, 17])
    smile.CreateOffsetsAttr([Gf.Vec3f(1, 0, 0), Gf.Vec3f(0, 1, 0.5)])
    frown = UsdSkel.BlendShape.Define(stage, "/Top/Body/Skin/frown")
    frown.CreateOffsetsAttr([Gf.Vec3f(0.01 * at, 0, 0.02) for at in range(len(points))])
    binding.CreateBlendShapesAttr(["frown", "smile"])
    binding.CreateBlendShapeTargetsRel().SetTargets([frown.GetPath(), smile.GetPath()])
    hat = faces(UsdGeom.Mesh.Define(stage, "/Top/Body/Hat"), [(0, 0, 6), (1, 0, 6), (0, 1, 6)], [3], [0, 1, 2])
    hat.AddTranslateOp().Set(Gf.Vec3d(9, 9, 9))
    binding = UsdSkel.BindingAPI.Apply(hat.GetPrim())
    binding.CreateJointsAttr(["root/mid/tip", "side"])
    binding.CreateJointIndicesPrimvar(True, 1).Set([0])
    binding.CreateJointWeightsPrimvar(True, 1).Set([1.0])
    red = UsdShade.Material.Define(stage, "/Top/Red")
    surface = UsdShade.Shader.Define(stage, "/Top/Red/Surface")
    surface.CreateIdAttr("UsdPreviewSurface")
    surface.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(Gf.Vec3f(0.5, 0.25, 0.125))
    surface.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(0.25)
    red.CreateSurfaceOutput().ConnectToSource(surface.ConnectableAPI(), "surface")
    subset = UsdGeom.Subset.CreateGeomSubset(skin, "part", "face", [1, 3, 4], "materialBind")
    UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(red)
    stage.GetRootLayer().Save()


def mouth(path):
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 1)
    stage.SetTimeCodesPerSecond(25)
    root = UsdSkel.Root.Define(stage, "/Face")
    stage.SetDefaultPrim(root.GetPrim())
    skeleton = UsdSkel.Skeleton.Define(stage, "/Face/Bones")
    skeleton.CreateJointsAttr(["head"])
    skeleton.CreateRestTransformsAttr([Gf.Matrix4d(1)])
    skeleton.CreateBindTransformsAttr([Gf.Matrix4d(1)])
    talk = UsdSkel.Animation.Define(stage, "/Face/Bones/Talk")
    talk.CreateJointsAttr(["head"])
    talk.CreateTranslationsAttr([Gf.Vec3f(0)])
    talk.CreateScalesAttr([Gf.Vec3h(1)])
    for frame in (0, 10, 20):
        talk.CreateRotationsAttr().Set([turn((0, 1, 0), 3 * frame)], frame)
    talk.CreateBlendShapesAttr(["smile", "open"])
    for frame, weights in ((0, (0.5, 0)), (5, (0, 1)), (10, (-1.25, 0.375)), (20, (0.25, 1.5)), (30, (1, -0.75))):
        talk.CreateBlendShapeWeightsAttr().Set(list(weights), frame)
    UsdSkel.BindingAPI.Apply(root.GetPrim()).CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([talk.GetPath()])
    for name, along in (("Lips", 0.0), ("Teeth", 2.0)):
        points = [(along + x, y, 0.0) for y in range(3) for x in range(3)]
        cells = [[3 * y + x, 3 * y + x + 1, 3 * y + x + 4, 3 * y + x + 3] for y in range(2) for x in range(2)]
        mesh = faces(UsdGeom.Mesh.Define(stage, f"/Face/{name}"), points, [4] * 4, [vertex for cell in cells for vertex in cell])
        binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
        binding.CreateJointIndicesPrimvar(True, 1).Set([0])
        binding.CreateJointWeightsPrimvar(True, 1).Set([1.0])
        wide, half = (UsdSkel.BlendShape.Define(stage, f"/Face/{name}/{shape}") for shape in ("wide", "half"))
        half.CreateOffsetsAttr([Gf.Vec3f(0, 0.1 * at, 0) for at in range(9)])
        wide.CreatePointIndicesAttr([2, 4, 7])
        wide.CreateOffsetsAttr([Gf.Vec3f(0, -1, 0), Gf.Vec3f(0, -0.5, 0), Gf.Vec3f(0, 0, 0.25)])
        if name == "Lips":
            # Not in the order of their weights; one is no knot, which UsdSkel leaves out.
            for between, weight, offset in (("none", 0.0, 9.0), ("more", 0.75, 0.4), ("back", -0.5, -0.3), ("first", 0.25, 0.2)):
                own = wide.CreateInbetween(between)
                own.SetWeight(weight)
                own.SetOffsets([Gf.Vec3f(offset, 0, 0), Gf.Vec3f(0, 0, offset), Gf.Vec3f(0, offset, offset)])
            own.CreateNormalOffsetsAttr([Gf.Vec3f(0, 0, 1)] * 3)
        binding.CreateBlendShapesAttr(["open", "smile"])
        binding.CreateBlendShapeTargetsRel().SetTargets([wide.GetPath(), half.GetPath()])
    stage.GetRootLayer().Save()


def sheet(path):
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 1)
    top = UsdGeom.Xform.Define(stage, "/Top")
    pivot, turned, scale = top.AddTranslateOp(opSuffix="pivot"), top.AddRotateZXYOp(), top.AddScaleOp()
    pivot.Set(Gf.Vec3d(1, 2, 3))
    for frame in range(8):
        turned.Set(Gf.Vec3f(10 * frame, 5, -3 * frame), frame)
    scale.Set(Gf.Vec3f(1, -2, 0.5))
    top.AddTranslateOp(opSuffix="pivot", isInverseOp=True)
    cells = [[5 * y + x, 5 * y + x + 1, 5 * y + x + 6, 5 * y + x + 5] for y in range(4) for x in range(4)]
    cloth = faces(UsdGeom.Mesh.Define(stage, "/Top/Cloth"), None, [4] * 16, [vertex for cell in cells for vertex in cell])
    for frame in range(0, 8, 2):
        cloth.CreatePointsAttr().Set([Gf.Vec3f(at % 5, at // 5, math.sin(at + frame)) for at in range(25)], frame)
    free = UsdGeom.Xform.Define(stage, "/Top/Free")
    free.AddTransformOp().Set(Gf.Matrix4d(Gf.Rotation(Gf.Vec3d(1, 1, 1), 40), Gf.Vec3d(5, 6, 7)))
    free.SetResetXformStack(True)
    flag = faces(UsdGeom.Mesh.Define(stage, "/Top/Free/Flag"), [(0, 0, 0), (1, 0, 0), (0, 1, 0)], [3], [0, 1, 2])
    flag.AddOrientOp().Set(Gf.Quatf(0.8, 0.6, 0, 0))
    flag.CreateOrientationAttr("leftHanded")
    grows = UsdGeom.Mesh.Define(stage, "/Top/Grows")
    for frame in (0, 1):
        grows.CreatePointsAttr().Set([Gf.Vec3f(0)] * (3 + frame), frame)
        grows.CreateFaceVertexCountsAttr().Set([3 + frame], frame)
        grows.CreateFaceVertexIndicesAttr().Set(list(range(3 + frame)), frame)
    stage.GetRootLayer().Save()


TRIANGLE = """
point3f[] points = [(0, 0, 0), ({0}, 0, 0), (0, {0}, 0)]
int[] faceVertexCounts = [3]
int[] faceVertexIndices = [0, 1, 2]
"""

SCENE = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    subLayers = [
        @./parts/below.usda@ (offset = 3; scale = 2)
    ]
)

class "_base"
{
    def Mesh "Inherited"
    {""" + TRIANGLE.format(1) + """
    }
}

def "Proto"
{
    def Mesh "Shared"
    {""" + TRIANGLE.format(2) + """
    }
}

def Xform "World"
{
    def Xform "Class" (
        inherits = </_base>
    )
    {
        double3 xformOp:translate = (1, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]

        over "Inherited"
        {
            point3f[] points = [(0, 0, 0), (3, 0, 0), (0, 3, 0)]
        }
    }

    def "Instance" (
        instanceable = true
        references = </Proto>
    )
    {
        over "Shared"
        {
            point3f[] points = [(9, 9, 9), (8, 8, 8), (7, 7, 8)]
        }
    }

    def Xform "Both" (
        prepend references = [@parts/asset.usdc@ (offset = 10; scale = 0.5), </Proto>]
        variants = {
            string size = "big"
        }
    )
    {
        float xformOp:rotateY = 90
        uniform token[] xformOpOrder = ["xformOp:rotateY"]
    }

    def "Payload" (
        payload = @parts/asset.usdc@</Asset/Geo>
    )
    {
    }

    def "Special" (
        specializes = </_base>
        variants = {
            string kind = "two"
        }
        prepend variantSets = "kind"
    )
    {
        variantSet "kind" = {
            "one" {
                def Mesh "First"
                {""" + TRIANGLE.format(2) + """
                }
            }
            "two" {
                def "Inner" (
                    references = </Proto>
                )
                {
                }
            }
        }
    }
}
"""


def scene(folder):
    (folder / "parts").mkdir(exist_ok=True)
    stage = Usd.Stage.CreateNew(str(folder / "parts/asset.usdc"))
    asset = UsdGeom.Xform.Define(stage, "/Asset")
    stage.SetDefaultPrim(asset.GetPrim())
    UsdGeom.Xform.Define(stage, "/Asset/Geo")
    sizes = asset.GetPrim().GetVariantSets().AddVariantSet("size")
    for name, size in (("small", 1), ("big", 5)):
        sizes.AddVariant(name)
        sizes.SetVariantSelection(name)
        with sizes.GetVariantEditContext():
            mesh = faces(UsdGeom.Mesh.Define(stage, "/Asset/Geo/Mesh"), None, [3], [0, 1, 2])
            for frame in (0, 4):
                mesh.CreatePointsAttr().Set([Gf.Vec3f(0), Gf.Vec3f(size, frame, 0), Gf.Vec3f(0, size, 0)], frame)
    sizes.SetVariantSelection("small")
    stage.GetRootLayer().Save()
    stage = Usd.Stage.CreateNew(str(folder / "parts/below.usda"))
    mesh = faces(UsdGeom.Mesh.Define(stage, "/World/Below"), None, [3], [0, 1, 2])
    for frame in (1, 2):
        mesh.CreatePointsAttr().Set([Gf.Vec3f(frame), Gf.Vec3f(1, 0, 0), Gf.Vec3f(0, 1, 0)], frame)
    stage.GetRootLayer().Save()
    (folder / "scene.usda").write_text(SCENE)


def positions(stage, time):
    """All points in the world, Y up and metres, mesh after mesh, as UsdSkel skins them."""
    cache, xforms, made = UsdSkel.Cache(), UsdGeom.XformCache(time), []
    start = stage.GetDefaultPrim() or stage.GetPseudoRoot()
    prims = list(Usd.PrimRange(start, Usd.TraverseInstanceProxies()))
    for prim in prims:
        if prim.IsA(UsdSkel.Root):
            cache.Populate(UsdSkel.Root(prim), Usd.TraverseInstanceProxies())
    for prim in prims:
        if not prim.IsA(UsdGeom.Mesh) or prim.GetName() == "Grows":
            continue
        points = np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get(time), float)
        world = np.array(xforms.GetLocalToWorldTransform(prim))
        query = cache.GetSkinningQuery(prim)
        if query:
            binding = UsdSkel.BindingAPI(prim)
            skeleton = cache.GetSkelQuery(binding.GetInheritedSkeleton())
            animation = skeleton.GetAnimQuery()
            weights = dict(zip(animation.GetBlendShapeOrder(), animation.ComputeBlendShapeWeights(time)))
            shapes = UsdSkel.BlendShapeQuery(binding)
            weights = [weights[name] for name in binding.GetBlendShapesAttr().Get() or []]
            places, offsets = shapes.ComputeBlendShapePointIndices(), shapes.ComputeSubShapePointOffsets()
            for weight, shape, own in zip(*shapes.ComputeSubShapeWeights(weights)):
                places_of = np.array(places[shape]) if len(places[shape]) else np.arange(len(points))
                points[places_of] += weight * np.array(offsets[own], float)
            skinning = skeleton.ComputeSkinningTransforms(time)
            order, joints = list(skeleton.GetJointOrder()), query.GetJointOrder()
            matrices = np.array([np.array(skinning[order.index(joint)]) for joint in (joints or order)])
            bones, shares = query.ComputeVaryingJointInfluences(len(points), time)
            bones, shares = (np.array(values).reshape(len(points), -1) for values in (bones, shares))
            points = np.c_[points, np.ones(len(points))] @ np.array(query.GetGeomBindTransform(time))
            points = np.einsum("vi,vbij,vb->vj", points, matrices[bones], shares.astype(float))[:, :3]
            world = np.array(xforms.GetLocalToWorldTransform(binding.GetInheritedSkeleton().GetPrim()))
        points = points @ world[:3, :3] + world[3, :3]
        if UsdGeom.GetStageUpAxis(stage) == "Z":
            points = np.c_[points[:, 0], points[:, 2], -points[:, 1]]
        made.append(points * UsdGeom.GetStageMetersPerUnit(stage))
    return np.concatenate(made)


def main(folder):
    folder.mkdir(exist_ok=True)
    arm(folder / "arm.usda")
    arm(folder / "arm.usdc")
    UsdUtils.CreateNewUsdzPackage(str(folder / "arm.usdc"), str(folder / "arm.usdz"))
    mouth(folder / "mouth.usda")
    mouth(folder / "mouth.usdc")
    sheet(folder / "sheet.usdc")
    scene(folder)
    told = {}
    for name, times in (("arm.usdc", (0, 2.5, 5, 13, 20)), ("mouth.usdc", (0, 1, 2.5, 5, 9, 10, 14, 20, 27, 30)), ("sheet.usdc", (0, 1, 5, 7)), ("scene.usda", (5, 10, 12))):
        stage = Usd.Stage.Open(str(folder / name))
        rate = stage.GetTimeCodesPerSecond()
        frames = [{"time": time / rate, "positions": positions(stage, time).tolist()} for time in times]
        told[name] = frames
    (folder / "positions.json").write_text(json.dumps(told, indent=None) + "\n")


main(pathlib.Path(sys.argv[1]))
