"""Verbs over files: recipes of the library, which the program runs as well."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, Union, cast

from . import _dermis
from ._progress import Progress, watching

Path = Union[str, "os.PathLike[str]"]
"""A file; ``'walk.glb#Walk'`` is the clip Walk of walk.glb, ``'poses.npz#arm*'`` records of a bundle by label."""

Files = Union[Path, Sequence[Path]]
"""One file or several."""


_Call = TypeVar("_Call", bound=Callable[..., Any])


def _renamed(**new: str) -> Callable[[_Call], _Call]:
    """Refuses keywords of former versions, by their old names, with the new ones."""

    def refusing(call: _Call) -> _Call:
        @functools.wraps(call)
        def checked(*arguments: Any, **keywords: Any) -> Any:
            for old, name in new.items():
                if old in keywords:
                    raise TypeError(f"{call.__name__}() has no {old}; say {name}")
            return call(*arguments, **keywords)

        return cast(_Call, checked)

    return refusing


def run(recipe: dict[str, Any], progress: Progress = None) -> Any:
    """Runs a recipe: a verb with its inputs, settings and outputs.

    Parameters
    ----------
    recipe : dict
        The JSON form of a recipe, ``{"fit": {...}}``; `dermis recipe MODEL` prints that of a model. Lengths of settings are
        metres.
    progress : bool or callable, optional
        True shows a bar by tqdm, if it is installed. A callable gets (step, fraction of the whole).

    Returns
    -------
    dict or list
        What the program prints with ``--json``.

    Raises
    ------
    dermis.Error
        For a recipe that is not understood, and for whatever its run meets.
    """
    try:
        text = json.dumps(recipe, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise _error(f"this is no recipe: {error}") from None
    with watching(progress) as callback:
        return json.loads(_dermis._run(text, callback))


@_renamed(poses="count", fps="rate")
def exercise(
    rig: Path,
    out: Path,
    *,
    count: int | None = None,
    tilt: int | None = None,
    in_betweens: int | None = None,
    rate: float | None = None,
    apart: bool = False,
    limits: Path | None = None,
    write_limits: Path | None = None,
    replace: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Makes the poses to sculpt or to simulate: every joint through its range.

    Parameters
    ----------
    rig : path
        A file with mesh and skeleton.
    out : path
        A bundle (.npz) with the rig and the poses, or a GLB with a clip.
    count : int, optional
        How many poses, the rest pose included; 42 by default.
    tilt : int, optional
        Further poses in which the whole character is tilted, for skin that sags; none by default.
    in_betweens : int, optional
        Frames between a pose and the next, for a simulation to run through; none by default.
    rate : float, optional
        Frames per second with in-betweens; 24 by default.
    apart : bool
        Whether a pose moves one joint, or one pair of neighbours. Otherwise joints that share no skin move together.
    limits : path, optional
        Joint limits (.json) that differ from those of anatomy.
    write_limits : path, optional
        Where the limits of all joints go, to be changed and named as `limits`.
    replace : bool
        Whether outputs that exist are replaced.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    dict
        What `dermis exercise --json` prints.
    """
    recipe = _given(
        rig=_input(rig), out=_text(out), poses=count, tilt=tilt, in_betweens=in_betweens, rate=rate, apart=apart or None,
        limits=_input(limits), write_limits=_text(write_limits), existing=_existing(replace),
    )
    return run({"exercise": recipe}, progress)  # type: ignore[no-any-return]


def rig(
    mesh: Path,
    out: Path,
    template: Path = "biped",
    *,
    names: Literal["unreal", "mixamo", "rigify", "vrm"] | None = None,
    up: Literal["x", "y", "z", "-x", "-y", "-z"] | None = None,
    front: Literal["x", "y", "z", "-x", "-y", "-z"] | None = None,
    joints: Path | None = None,
    write_joints: Path | None = None,
    influences: int | None = None,
    report: Path | None = None,
    exercise: Path | None = None,
    replace: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Embeds a skeleton in a bare mesh, and weighs it.

    Parameters
    ----------
    mesh : path
        The mesh (.obj, .glb, .gltf, .fbx, .npz); a skeleton that it has is left out.
    out : path
        Where the rig goes (.glb, .npz).
    template : path
        What to look for: ``"biped"``, ``"quadruped"``, ``"hand"``, or a file with a skinned rig.
    names : str, optional
        How the bones of the biped are named; ``"unreal"`` by default.
    up : str, optional
        The direction that is up in the file; what the file states by default, and ``"y"`` for OBJ.
    front : str, optional
        The direction that the character faces in the file; every way is tried by default.
    joints : path, optional
        Joints whose place is known, as `write_joints` writes them. The others are solved for again.
    write_joints : path, optional
        Where the places of all joints go, with how sure each is (.json).
    influences : int, optional
        Influences per vertex at most; 4 by default.
    report : path, optional
        Where a page with the rig in motion and its joints in the mesh goes (.html).
    exercise : path, optional
        Where an exercise of the new rig goes: the poses to sculpt or to simulate (.npz, .glb).
    replace : bool
        Whether outputs that exist are replaced.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    dict
        What `dermis rig --json` prints.
    """
    recipe = _given(
        mesh=_input(mesh), template=_input(template), names=names, up=up, front=front, joints=_input(joints),
        write_joints=_text(write_joints), influences=influences, report=_text(report), exercise=_text(exercise),
        out=_text(out), existing=_existing(replace),
    )
    return run({"rig": recipe}, progress)  # type: ignore[no-any-return]


def suggest(
    model: Path,
    motion: Path,
    *,
    among: Path | None = None,
    count: int | None = None,
    out: Path | None = None,
    replace: bool = False,
    fps: float | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """Says which poses to sculpt next.

    Parameters
    ----------
    model : path
        The model (.dermis), or a rig that nothing was learnt for yet.
    motion : path
        The motion that the model shall become better at.
    among : path, optional
        Poses to choose among; the frames of the motion by default.
    count : int, optional
        How many poses; 4 by default.
    out : path, optional
        A bundle (.npz) with the rig and the poses, for the sculptor to fill.
    replace : bool
        Whether an output that exists is replaced.
    fps : float, optional
        Frames per second at which clips are sampled; their own keys by default.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    dict
        What `dermis suggest --json` prints.
    """
    recipe = _given(
        model=_input(model), motion=_input(motion), among=_input(among), count=count, out=_text(out),
        read=_read(fps=fps), existing=_existing(replace),
    )
    return run({"suggest": recipe}, progress)  # type: ignore[no-any-return]


def transfer(
    body: Path,
    meshes: Files | None,
    out: Path,
    *,
    objects: Sequence[str] = (),
    format: str | None = None,
    weights: bool = False,
    corrections: bool = False,
    shapes: bool = False,
    influences: int | None = None,
    stiff_islands: float | None = None,
    falloff: float | None = None,
    map: Path | None = None,
    pairs: Path | None = None,
    gain: float | None = None,
    report: Path | None = None,
    replace: bool = False,
    up: str | None = None,
    unit: float | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """Carries weights, corrections and shapes from a body to clothes, levels of detail, other meshes and other characters.

    Parameters
    ----------
    body : path
        A skinned rig, or a model (.dermis).
    meshes : path or list of paths
        Meshes that lie on the body at rest, or another character with its skeleton; a folder stands for the meshes in it.
    out : path
        A file for one mesh (.dermis, .glb, .fbx, .usda, .usdz, .npz), a folder for several.
    objects : list of str
        Objects of the body's own file that are clothes over the others, by name; `meshes` is then None.
    format : str, optional
        What files in a folder are: "dermis", "glb", "fbx", "usda", "usdz" or "npz"; "dermis" for a model, "glb" for a rig by default.
    weights, corrections, shapes : bool
        What is carried; all that the body has if none is named.
    influences : int, optional
        Influences per vertex, at most; as many as the body has by default.
    stiff_islands : float, optional
        Connected pieces smaller than this are rigid, metres on a body of 1.7 m; 0.03 by default.
    falloff : float, optional
        The distance over which corrections fade off the body, metres on a body of 1.7 m; they do not by default.
    map : path, optional
        Pairs of bones for another character, as for `retarget`.
    pairs : path, optional
        Pairs of vertices for another character: each line names a vertex of the body and its counterpart, counted from zero.
    gain : float, optional
        The corrections of another character are multiplied by this. It is fitted to examples in the character's file by
        default, and 1 without any.
    report : path, optional
        A page (.html) that shows the meshes on the body in motion.
    replace : bool
        Whether outputs that exist are replaced.
    up, unit : optional
        Axis that points up ("y" or "z") and metres per unit of files that do not state them.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    dict
        What `dermis transfer --json` prints.
    """
    recipe = _given(
        **{"from": _input(body)}, to=_inputs(meshes or ()), objects=list(objects), out=_text(out), format=format,
        weights=weights, corrections=corrections, shapes=shapes, influences=influences,
        stiff_islands=stiff_islands, falloff=falloff, map=_input(map), pairs=_input(pairs), gain=gain,
        report=_text(report), read=_read(up=up, unit=unit),
        existing=_existing(replace),
    )
    return run({"transfer": recipe}, progress)  # type: ignore[no-any-return]


def weights(
    rig: Path,
    out: Path,
    source: Literal["heat", "single-bone", "scans", "plan"] = "heat",
    *,
    examples: Files = (),
    rule: Literal["shares", "published", "nearest"] | None = None,
    scans: Files = (),
    poses: Path | None = None,
    start: Literal["own-or-heat", "heat", "rig"] | None = None,
    reach: float | None = None,
    smoothness: float | None = None,
    rounds: int | None = None,
    rough: bool = False,
    limits: Path | None = None,
    pose_rounds: int | None = None,
    symmetric: bool = False,
    registered: Path | None = None,
    hold_out: Files = (),
    report: Path | None = None,
    degrees: float | None = None,
    skip: Sequence[str] | None = None,
    transfer: float | None = None,
    skeleton: Path | None = None,
    influences: int | None = None,
    check: Files = (),
    up: Literal["y", "z"] | None = None,
    unit: float | None = None,
    fps: float | None = None,
    replace: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Makes skinning weights.

    Parameters
    ----------
    rig : path
        Mesh and skeleton at rest, or a mesh alone with `skeleton`.
    out : path
        Where the rig with its weights goes: a GLB or a bundle.
    source : {'heat', 'single-bone', 'scans', 'plan'}
        From the shapes alone (bone heat), from examples in each of which one joint is turned, from scans; or
        the poses to make such examples of.
    examples : paths
        Of 'single-bone': the examples.
    rule : {'shares', 'published', 'nearest'}, optional
        Of 'single-bone' and 'scans': how the bones that may move a vertex are chosen.
    scans : paths
        Of 'scans': folders or files.
    poses : path, optional
        Of 'scans': the poses of the scans, where their files do not hold them. Without any, the poses are found.
    start : {'own-or-heat', 'heat', 'rig'}, optional
        Of 'scans': the weights that the fit begins with.
    reach : float, optional
        Of 'scans': how far a scan may be from the posed skin, in length units (diagonals of the box along the rig's
        principal axes): 0.1, and 0.02 where poses are found.
    smoothness : float, optional
        Of 'scans': how strongly neighbouring vertices agree.
    rounds : int, optional
        Of 'scans': rounds at most.
    rough : bool
        Of 'scans': whether the poses of `poses` are rough. They are found, beginning there.
    limits : path, optional
        Of 'scans': how far joints turn, a file of joint limits.
    pose_rounds : int, optional
        Of 'scans': how often poses and weights are found in turn, 5 by default.
    symmetric : bool
        Of 'scans': whether left and right get the same weights, learnt from every scan and from its mirror image.
    registered : path, optional
        Of 'scans': where the mesh on every scan goes, a bundle of examples for `fit`.
    hold_out : paths
        Of 'scans': scans that the fit does not see. Their distance from the skin is the held-out error.
    report : path, optional
        Of 'scans': where a page with a picture of every scan goes (.html).
    degrees : float, optional
        Of 'plan': how far each joint turns.
    skip : sequence of str, optional
        Of 'heat' and 'plan': bones that no skin follows, by name; ``*`` stands for any text.
    transfer : float, optional
        Of 'heat' and 'plan': how strongly skin takes the warmth of its bone.
    skeleton : path, optional
        The skeleton of a mesh alone.
    influences : int, optional
        Influences per vertex at most; 4 by default.
    check : paths
        Examples that the weights are measured on.
    up, unit, fps
        How files are read that do not say it themselves.
    replace : bool
        Whether an output that exists is replaced.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    dict
        What `dermis weights --json` prints.
    """
    heat = _given(skip=None if skip is None else list(skip), transfer=transfer)
    settings = {
        "heat": heat,
        "single-bone": _given(examples=_inputs(examples), rule=rule),
        "scans": _given(
            scans=_inputs(scans), poses=_input(poses), reach=reach, smoothness=smoothness, rounds=rounds, rule=rule,
            rough=rough or None, limits=_input(limits), pose_rounds=pose_rounds,
            symmetric=symmetric or None,
            examples=None if registered is None else _text(registered), hold_out=_inputs(hold_out) or None,
            report=None if report is None else _text(report),
            start=start if start in (None, "rig") else {start: {}},
        ),
        "plan": _given(degrees=degrees, heat=heat or None),
    }
    if source not in settings:
        raise _error(f"source is {source!r}; one of {', '.join(map(repr, settings))} is expected")
    own = {
        "heat": {"skip", "transfer"},
        "single-bone": {"examples", "rule"},
        "scans": {
            "scans", "poses", "start", "reach", "smoothness", "rounds", "rule", "rough", "limits", "pose_rounds",
            "symmetric", "registered", "hold_out", "report",
        },
        "plan": {"degrees", "skip", "transfer"},
    }[source]
    named = _given(
        rule=rule, poses=poses, start=start, reach=reach, smoothness=smoothness, rounds=rounds, degrees=degrees,
        skip=skip, transfer=transfer, examples=examples or None, scans=scans or None, rough=rough or None, limits=limits,
        pose_rounds=pose_rounds, symmetric=symmetric or None, registered=registered, hold_out=hold_out or None,
        report=report,
    )
    for name in (name.replace("-", "_") for name in named):
        if name not in own:
            raise _error(f"{name} has no effect with source={source!r}")
    recipe = _given(
        rig=_input(rig), skeleton=_input(skeleton), source={source: settings[source]}, influences=influences,
        check=_inputs(check), read=_read(up=up, unit=unit, fps=fps), out=_text(out), existing=_existing(replace),
    )
    return run({"weights": recipe}, progress)  # type: ignore[no-any-return]


def export(
    model: Path,
    out: Path,
    *,
    motion: Path | None = None,
    shapes: int | Literal["all"] | None = None,
    kernels: int | None = None,
    influences: int | None = None,
    normals: bool | None = None,
    base_cache: Path | None = None,
    table: Path | None = None,
    springs: Path | None = None,
    linear: bool = False,
    motions: Files = (),
    examples: Files = (),
    hold_out: Files = (),
    helpers: int | None = None,
    weight_bits: Literal["eight", "sixteen"] | None = None,
    seed: int | None = None,
    compress: Literal["meshopt"] | None = None,
    fps: float | None = None,
    to_up: Literal["y", "z"] | None = None,
    to_unit: float | None = None,
    drafts: bool | None = None,
    replace: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Compiles a model for an engine or a viewer.

    Parameters
    ----------
    model : path
        The model (.dermis).
    out : path
        The GLB, FBX or USD file.
    motion : path, optional
        The motion that becomes the clip.
    shapes : int or 'all', optional
        Morph targets at most, or all that the model has.
    kernels : int, optional
        Kernels per region of a pose space at most.
    influences : int, optional
        Influences per vertex at most.
    normals : bool, optional
        Whether morph targets hold changes of normals; true by default.
    base_cache : path, optional
        Positions of a given base in every frame.
    table : path, optional
        A table (.json) of how an engine computes the weights of the shapes, or the motion of the helper bones, in any pose.
    springs : path, optional
        A table (.json) of the springs of bone chains, for an engine that has such springs.
    linear : bool
        Weights and helper bones instead of morph targets. `motions`, `examples`, `hold_out`, `helpers`, `weight_bits` and
        `seed` belong to it.
    motions : paths
        Motions to compile for, each a clip.
    examples : paths
        Poses to compile for whose true skin is known.
    hold_out : paths
        Poses that are only measured.
    helpers : int, optional
        Bones that may be added.
    weight_bits : {'eight', 'sixteen'}, optional
        How weights are stored.
    seed : int, optional
        Seed of the search for helpers.
    compress : {'meshopt'}, optional
        Compresses the GLB without loss, by EXT_meshopt_compression, which its readers must know.
    fps : float, optional
        Frames per second at which clips are sampled.
    to_up, to_unit : optional
        Axis that points up ("y" or "z") and metres per unit of an FBX or USD file that is written; Y by default, and 0.01 for FBX, 1 for USD.
    drafts : bool, optional
        Whether a GLB keeps glTF extensions that are drafts and may change: KHR_character, KHR_character_skeleton_mapping.
    replace : bool
        Whether an output that exists is replaced.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    dict
        What `dermis export --json` prints.
    """
    of_shapes = _given(
        motion=_input(motion), base_cache=_input(base_cache), kernels=kernels, normals=normals,
        shapes=shapes if shapes in (None, "all") else {"most": shapes},
    )
    of_linear = _given(
        motions=_inputs(motions) or None, examples=_inputs(examples) or None, hold_out=_inputs(hold_out) or None,
        helpers=helpers, weight_bits=weight_bits, seed=seed,
    )
    unused = of_shapes if linear else of_linear
    if unused:
        name = next(iter(unused)).replace("-", "_")
        raise _error(f"{name} has no effect {'with' if linear else 'without'} linear=True")
    form = of_linear if linear else of_shapes
    form.update(_given(influences=influences))
    recipe = _given(
        model=_input(model), form={"linear" if linear else "shapes": form}, read=_read(fps=fps),
        write=_read(up=to_up, unit=to_unit, drafts=drafts), out=_text(out), table=_text(table), springs=_text(springs), compress=compress,
        existing=_existing(replace),
    )
    return run({"export": recipe}, progress)  # type: ignore[no-any-return]


def convert(
    *inputs: Path,
    out: Path,
    normals: bool | None = None,
    compress: Literal["meshopt"] | None = None,
    partial: bool | None = None,
    up: Literal["y", "z"] | None = None,
    unit: float | None = None,
    fps: float | None = None,
    to_up: Literal["y", "z"] | None = None,
    to_unit: float | None = None,
    drafts: bool | None = None,
    replace: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Writes files in another format.

    Parameters
    ----------
    *inputs : path
        A file; or a rig, then a motion or examples; or a mesh, then its shapes.
    out : path
        Where it goes; the ending of the name is the format.
    normals : bool, optional
        Whether morph targets of a GLB hold changes of normals; true by default.
    compress : {'meshopt'}, optional
        Compresses a GLB without loss, by EXT_meshopt_compression, which its readers must know.
    partial : bool, optional
        Whether a motion may lack bones of the rig, which then stay at rest; false by default.
    up, unit, fps
        How files are read that do not say it themselves.
    to_up, to_unit : optional
        Axis that points up ("y" or "z") and metres per unit of an FBX, USD or Alembic file that is written; Y by default, and 0.01
        for FBX, 1 for USD, the input's unit for Alembic.
    drafts : bool, optional
        Whether a GLB keeps glTF extensions that are drafts and may change: KHR_character, KHR_character_skeleton_mapping.
    replace : bool
        Whether an output that exists is replaced.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    dict
        What `dermis convert --json` prints.
    """
    recipe = _given(
        inputs=_inputs(inputs), read=_read(up=up, unit=unit, fps=fps, partial=partial), normals=normals, compress=compress,
        write=_read(up=to_up, unit=to_unit, drafts=drafts), out=_text(out), existing=_existing(replace),
    )
    return run({"convert": recipe}, progress)  # type: ignore[no-any-return]


def animate(
    scene: Path,
    out: Path,
    *,
    fps: float | None = None,
    replace: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Plays a scene on a rig: keys, expressions, maps, layered clips and goals become a motion.

    Parameters
    ----------
    scene : path
        The scene (.json); the files that it names lie relative to it. docs/motion.md says what may stand in one.
    out : path
        Where the motion goes; the ending of the name is the format.
    fps : float, optional
        Frames per second at which clips of layers are sampled; their own keys by default.
    replace : bool
        Whether an output that exists is replaced.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    dict
        What `dermis animate --json` prints.
    """
    recipe = _given(scene=_input(scene), read=_read(fps=fps), out=_text(out), existing=_existing(replace))
    return run({"animate": recipe}, progress)  # type: ignore[no-any-return]


def crowd(
    model: Path,
    *,
    motions: Files,
    out: Path,
    instances: int | None = None,
    seed: int | None = None,
    spacing: float | None = None,
    spread: float | None = None,
    scale: tuple[float, float] | None = None,
    full_within: float | None = None,
    blended_within: float | None = None,
    shared_every: int | None = None,
    frames: int | None = None,
    rate: float | None = None,
    camera: Sequence[float] | None = None,
    look_at: Sequence[float] | None = None,
    skins: Sequence[int] | None = None,
    picture: Path | None = None,
    size: tuple[int, int] | None = None,
    field: float | None = None,
    colours: Literal["instances", "levels", "clips"] | None = None,
    fps: float | None = None,
    replace: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Shows many instances of a model, each with a clip, a time, a place and a size of its own.

    Parameters
    ----------
    model : path
        The model (.dermis).
    motions : path or sequence of paths
        Clips that instances play over and over; FILE#CLIP is one clip of a file.
    out : path
        Where the instances go, with clip, time, level and transform of each (.npz).
    instances : int, optional
        How many there are; 10,000 by default.
    seed : int, optional
        What all chance follows from.
    spacing : float, optional
        Metres from an instance to the next.
    spread : float, optional
        How far a heading is from the clip's at most, degrees.
    scale : (float, float), optional
        The smallest and the largest size.
    full_within, blended_within : float, optional
        Metres from the camera up to which the full model shows an instance, and up to which it has a pose of its own.
    shared_every : int, optional
        Frames for which the poses stay that the farthest share.
    frames, rate : optional
        Frames, and frames per second.
    camera, look_at : sequence of 3 floats, optional
        Where the camera stands and looks, metres, Y up.
    skins : sequence of int, optional
        Instances whose skins are stored too.
    picture : path, optional
        A PNG, or a folder of PNGs for several frames.
    size, field, colours : optional
        Pixels across and down, degrees from top to bottom, and what colours tell.
    fps : float, optional
        As in `pose`.
    replace : bool
        Whether outputs that exist are replaced.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    dict
        What `dermis crowd --json` prints.
    """
    drawn = None if picture is None else _given(out=_text(picture), size=size, field=field, colours=colours)
    recipe = _given(
        model=_input(model), motions=_inputs(motions), out=_text(out),
        instances=instances, seed=seed, spacing=spacing, spread=spread, scale=scale,
        full_within=full_within, blended_within=blended_within, shared_every=shared_every,
        frames=frames, rate=rate, camera=camera, look_at=look_at, skins=skins, picture=drawn,
        read=_read(fps=fps), existing=_existing(replace),
    )
    return run({"crowd": recipe}, progress)  # type: ignore[no-any-return]


def retarget(
    source: Path,
    rig: Path,
    *,
    out: Path,
    map: Path | None = None,
    write_map: Path | None = None,
    partial: bool | None = None,
    contacts: bool | None = None,
    still: bool | None = None,
    up: Literal["y", "z"] | None = None,
    unit: float | None = None,
    fps: float | None = None,
    replace: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Brings a motion onto another character.

    Parameters
    ----------
    source : path
        The motion with the skeleton it moves; FILE#CLIP is one clip of a file.
    rig : path
        The rig that it is brought onto: a file with a skeleton, or a model.
    out : path
        Where it goes; the ending of the name is the format.
    map : path, optional
        A JSON file with pairs of bones, from names of the rig's to names of the source's, or to null.
    write_map : path, optional
        Where the pairs found go, as such a file. It is written also if the motion is refused; bones of limbs without partner then
        have an empty name to fill in.
    partial : bool, optional
        Whether an arm, a leg, the spine or the head that both characters have may go without partner; false by default.
    contacts : bool, optional
        Whether feet and hands are kept where the source's stand; true by default.
    still : bool, optional
        Whether they stand still also where the source's slide.
    up, unit, fps
        How files are read that do not say it themselves.
    replace : bool
        Whether an output that exists is replaced.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    dict
        What `dermis retarget --json` prints.
    """
    recipe = _given(
        source=_input(source), rig=_input(rig), map=_input(map), write_map=_text(write_map), partial=partial,
        contacts=contacts, still=still,
        read=_read(up=up, unit=unit, fps=fps), out=_text(out), existing=_existing(replace),
    )
    return run({"retarget": recipe}, progress)  # type: ignore[no-any-return]


def markers(
    take: Path,
    rig: Path,
    *,
    set: Path,
    out: Path,
    calibration: Path | None = None,
    noise: float | None = None,
    wrong: float | None = None,
    pixels: float | None = None,
    up: Literal["y", "z"] | None = None,
    unit: float | None = None,
    replace: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Turns markers of motion capture into the motion of a rig.

    Parameters
    ----------
    take : path
        The take: C3D or TRC, or what calibrated cameras saw (JSON).
    rig : path
        The rig that it moves: a file with a skeleton, or a model.
    set : path
        A JSON file: which bone carries which marker, and where on the rest pose.
    out : path
        Where the motion goes; the ending of the name is the format.
    calibration : path, optional
        A take in which the subject stands as the rig does at rest.
    noise : float, optional
        Noise of a coordinate in millimetres; 1 by default.
    wrong : float, optional
        How far a marker may be from where the others put it, in millimetres; 80 by default.
    pixels : float, optional
        How far a camera may see a marker from where the other cameras put it; 4 by default.
    up, unit
        How takes are read that do not say it themselves.
    replace : bool
        Whether an output that exists is replaced.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    dict
        What `dermis markers --json` prints.
    """
    recipe = _given(
        take=_input(take), rig=_input(rig), set=_input(set), calibration=_input(calibration), noise=noise, wrong=wrong,
        pixels=pixels, read=_read(up=up, unit=unit), out=_text(out), existing=_existing(replace),
    )
    return run({"markers": recipe}, progress)  # type: ignore[no-any-return]


def inspect(*files: Path) -> list[dict[str, Any]]:
    """Says what files hold, and what is wrong with them.

    Parameters
    ----------
    *files : path
        The files, or folders of OBJ files.

    Returns
    -------
    list of dict
        An object for every file. That of a file that cannot be read holds the reason as ``error``.
    """
    return run({"inspect": {"files": _inputs(files)}})  # type: ignore[no-any-return]


def pose(
    model: Path,
    motion: Path,
    out: Path,
    *,
    normals: bool = False,
    base_cache: Path | None = None,
    swing: dict[str, Any] | None = None,
    still: bool = False,
    cuts: Sequence[int] = (),
    partial: bool | None = None,
    fps: float | None = None,
    replace: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Runs a model on a motion and writes the skins.

    Parameters
    ----------
    model : path
        The model (.dermis).
    motion : path
        The motion.
    out : path
        Where the skins go: a point cache, a bundle, or a folder for OBJ files.
    normals : bool
        Whether OBJ and Alembic files hold the normals of every skin.
    base_cache : path, optional
        Positions of a given base in every frame.
    swing : dict, optional
        Soft parts that swing by one spring: ``frequency`` (cycles per second), ``damping``, ``gain`` (``"rig"``, a number or a
        file), ``gravity`` (m/s²), ``limit`` (metres). Springs that the model has learnt swing without it.
    still : bool
        Whether the springs that the model has learnt are left out.
    cuts : sequence of int
        Frames that begin after a cut: the skin starts at rest there.
    partial : bool, optional
        Whether the motion may lack bones of the rig, which then stay at rest; false by default.
    fps : float, optional
        Frames per second at which clips are sampled.
    replace : bool
        Whether an output that exists is replaced.
    progress : bool or callable, optional
        As in `run`.

    Returns
    -------
    dict
        What was written, and how far the motion is from training.
    """
    recipe = _given(
        model=_input(model), motion=_input(motion), base_cache=_input(base_cache), swing=swing, still=still or None,
        cuts=list(cuts) or None, normals=normals, read=_read(fps=fps, partial=partial), out=_text(out), existing=_existing(replace),
    )
    return run({"pose": recipe}, progress)  # type: ignore[no-any-return]


def report(
    first: Path | dict[str, Any],
    second: Path | dict[str, Any],
    out: Path | None = None,
    *,
    provenance: Literal["relative", "full"] | None = None,
    replace: bool = False,
) -> dict[str, Any]:
    """Compares two outcomes of fits, evaluations or comparisons side by side.

    Parameters
    ----------
    first, second : path or dict
        JSON files of outcomes, or outcomes such as ``fit.report.to_dict()``.
    out : path, optional
        Where the page goes (.html).
    provenance : {'relative', 'full'}, optional
        How the page states the files: by paths below its own folder, and by the names alone of files elsewhere, which is the default;
        or as they were named.
    replace : bool
        Whether a page that exists is replaced.

    Returns
    -------
    dict
        What `dermis report --json` prints.
    """
    with tempfile.TemporaryDirectory() as folder:
        files: list[Path] = []
        for name, outcome in (("first", first), ("second", second)):
            if isinstance(outcome, dict):
                file = os.path.join(folder, f"{name}.json")
                with open(file, "w", encoding="utf-8") as stream:
                    json.dump(outcome, stream)
                files.append(file)
            else:
                files.append(outcome)
        recipe = _given(
            first=_input(files[0]), second=_input(files[1]), out=_text(out), provenance=provenance,
            existing=_existing(replace),
        )
        return run({"report": recipe})  # type: ignore[no-any-return]


def _error(message: str) -> Exception:
    from ._errors import Error

    return Error(message)


def _text(path: Path | None) -> str | None:
    return None if path is None else os.fspath(path)


def _input(path: Path | None) -> dict[str, str] | None:
    return None if path is None else {"file": os.fspath(path)}


def _inputs(paths: Files) -> list[dict[str, str]]:
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return [{"file": os.fspath(path)} for path in paths]


def _existing(replace: bool) -> str:
    return "replace" if replace else "keep"


def _given(**settings: Any) -> dict[str, Any]:
    """Settings by their names in recipes, without those that are left to their defaults."""
    return {name.replace("_", "-"): value for name, value in settings.items() if value is not None}


def _read(**options: Any) -> dict[str, Any] | None:
    return _given(**options) or None
