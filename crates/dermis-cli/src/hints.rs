//! What went wrong in the words of the command line: libraries speak of things, the program of options.

use crate::method_options::{spelled, spelled_with};
use dermis_workflow::autorig::AutoRigError;
use dermis_workflow::compile::{CompileError, Limited};
use dermis_workflow::drivers::Refusal;
use dermis_workflow::fits::decompose::DecomposeError;
use dermis_workflow::fits::method::{Lack, MethodError};
use dermis_workflow::fits::register::Failure;
use dermis_workflow::fits::{FitError, ScanError};
use dermis_workflow::io::{MatchError, ReadError};
use dermis_workflow::measure::MeasureError;
use dermis_workflow::motion::retarget::RetargetError;
use dermis_workflow::{Error, ExportError, FileError};

/// The message of an error, with settings by the names of their options.
pub fn message(error: &Error) -> String {
    match error {
        Error::Method(MethodError::Setting { setting, value, rule }) => {
            format!("{}: {rule}", spelled_with(setting, &value.to_string()))
        }
        Error::Method(MethodError::Unused { setting, with }) => format!("{} has no effect {with}", spelled(setting)),
        Error::Setting { .. } | Error::TimeLimit { .. } => format!("--{error}"),
        Error::Cut { cut, frames } => format!("--cuts {cut}: the motion's {frames} frames are numbered from 0"),
        Error::SubsetSize { poses: 0, .. } => "--poses 0: nothing can be learnt from no pose".into(),
        Error::SubsetSize { poses, examples } => {
            format!("--poses {poses}: there are {examples} examples to draw from; name {examples} for all of them")
        }
        Error::File(FileError::NoSuchFrame { .. }) => format!("--rest {error}"),
        Error::File(FileError::Unused { .. }) => format!("--{error}"),
        Error::NoSuchBone { .. } => format!("--skip {error}"),
        Error::Method(MethodError::Base { base: "stack", method }) => {
            format!("--stack serves --method psd in the inverse form and shape-by-example, not {method}")
        }
        Error::Method(MethodError::Base { base, method }) => {
            format!("--base {base} serves --method psd, eigenskin, pose-blendshapes and shape-by-example, not {method}")
        }
        Error::Compile(CompileError::FewShapes(shapes)) => {
            format!("--shapes {shapes}: driven shapes are two at least, as one of them holds the bind pose")
        }
        Error::Compile(CompileError::NoKernels) => "--kernels 0: it must be at least one".into(),
        Error::Compile(CompileError::Budget { what, found, most }) => {
            let option = if *what == Limited::Shapes { "--shapes" } else { "--kernels" };
            format!("{option} {most}: the model is shapes already and needs {found} {what}")
        }
        Error::Compile(CompileError::Ridge(_)) => "the model's report lacks its ridge \"s\"".into(),
        Error::Export(ExportError::Kernels { .. }) => format!("--{error}"),
        Error::Export(ExportError::AllBaked) => "--shapes all needs --drivers, or a pose space".into(),
        Error::Export(ExportError::Refused(reason)) if refusal_remedy(*reason).is_some() => {
            format!("{error}: {}", refusal_remedy(*reason).unwrap_or_default())
        }
        _ => error.to_string(),
    }
}

/// What to do about it; empty if there is nothing to say.
pub fn hint(error: &Error) -> String {
    options(remedy(error))
}

/// Settings in backquotes by the names of their options.
fn options(text: &str) -> String {
    let word = |(at, part): (usize, &str)| match at % 2 {
        0 => part.to_owned(),
        _ => format!("--{}", part.replace('_', "-")),
    };
    text.split('`').enumerate().map(word).collect()
}

fn remedy(error: &Error) -> &str {
    match error {
        Error::File(FileError::Ending { endings, .. }) => endings,
        Error::Retarget(RetargetError::NothingInCommon { .. } | RetargetError::NoBone { .. }) => {
            "name pairs in a file for `map`: {\"bone of the rig\": \"bone of the source\"}; dermis inspect lists the bones"
        }
        Error::AutoRig(AutoRigError::NoFit { .. }) => {
            "say which way is up with `up`, or take another `template`: biped, quadruped, hand, or a skinned rig of a like character"
        }
        Error::AutoRig(AutoRigError::UnknownPin { .. }) => "`write_joints` writes the names of all joints",
        Error::AutoRig(AutoRigError::Hollow { .. } | AutoRigError::Flat { .. }) => {
            "a mesh to be rigged has an inside: close large holes, and give thin sheets a thickness"
        }
        Error::File(FileError::Lacks { hint, .. }) => hint,
        Error::Sculpt { hint, .. } => hint,
        Error::NothingHeldOut { .. } => {
            "name examples in --hold-out that the fit does not see; dermis fit cross-validates without any"
        }
        Error::File(FileError::OwnInput { .. }) => "choose another output: --force replaces no input",
        Error::File(FileError::Exists { .. }) => "choose another output, or add --force to replace it",
        Error::File(FileError::Read { source: ReadError::Unsupported { feature }, .. })
            if feature.contains("draco") || feature.contains("meshopt") =>
        {
            "export it without compression: in Blender's glTF export leave Compression off; gltf-transform copies a file without it"
        }
        Error::File(FileError::Match { source: MatchError::Counts { .. }, .. }) => {
            "export without splitting at UV seams, or use a file that holds its rest mesh, so that vertices can be matched by \
             position"
        }
        Error::File(FileError::Match { source: MatchError::Position { .. }, .. }) => {
            "check that both files show the same mesh in the same rest pose and unit, or raise --match-tolerance"
        }
        Error::Scans(ScanError::Apart { turned_away, too_far, .. }) => match turned_away > too_far {
            true => "is the scan inside out? Its triangles must be counter-clockwise seen from outside",
            false => {
                "check unit and axes of the scan (--up) and that the pose is its own, or raise --reach; the rig's rest pose moved \
                 by the pose must lie on the scan"
            }
        },
        Error::NoScanPosed { reasons } => match reasons.iter().any(|(_, why)| matches!(why, Failure::Size { .. })) {
            true => "name the unit of the scans: --unit 0.01 for centimetres, 0.001 for millimetres",
            false => {
                "check that the scans show this rig's character, cut away what they show besides, or give rough poses: --motion poses.npz --rough"
            }
        },
        Error::Fit(FitError::SingularAnchor { .. }) => {
            "a bone scaled to zero cannot anchor skin: use --set anchor=root"
        }
        Error::Method(MethodError::RigLacks { what, .. }) => match what {
            Lack::Weights => {
                "make weights with dermis weights --heat, or use --method mwe with --base given and --base-cache"
            }
            Lack::MapsAndWeights | Lack::WeightsToLock => "make weights with dermis weights --heat",
            Lack::Maps => "use --maps weights, or a bundle with influence_maps",
            Lack::Colors => "paint the mesh, or use --maps weights",
            Lack::Symmetry => "leave out --set symmetric and --mirror",
            Lack::Faces => "give the rig faces, or use another method",
        },
        Error::Method(MethodError::NotFromSums { .. }) => {
            "--stream, --accumulate and --merge take the joint model over a base of its own, and --method mwe without --guard, --set centring, --set ridge-mode and --maps examples"
        }
        Error::Method(MethodError::InputLacks { .. }) => {
            "name the file that holds them: --base-cache, --stack, --maps table:FILE, --set anchor=file:PATH"
        }
        Error::Measure(MeasureError::NoGiven { .. }) => "name the base's positions in every pose with --base-cache",
        Error::Measure(MeasureError::Memory { .. }) => "lower --fps, or choose a part of the motion",
        Error::Compile(error) => compile_hint(error),
        Error::Export(ExportError::GivenDriven) => "leave --drivers or --base-cache out",
        Error::Export(ExportError::NotDriven { .. }) => {
            "export it with --motion, without --drivers, --driven and --viewer"
        }
        Error::Export(ExportError::ViewerChannels { .. }) => {
            "export it with --driven: js/dermis.js takes values of channels"
        }
        Error::Export(ExportError::ViewerTable) => "leave --drivers out",
        Error::Export(ExportError::ViewerFolder { .. }) => "name a folder with -o",
        Error::Export(ExportError::NothingToBake) => "add --motion or --drivers, or leave --shapes out",
        Error::Export(ExportError::Refused(_)) => "or export it with --motion alone, for that motion",
        Error::NoSkinning { .. } => "name its deformer with --stack or --program, or make weights with dermis weights",
        Error::RestVertices { .. } => "--rest-space is for .npz",
        Error::NormalsLeftOut { .. } => "--normals is for .obj and for folders of OBJ files",
        Error::NoMorphNormals { .. } | Error::Export(ExportError::NoTargets) => "leave --no-normals out",
        Error::TiedGivenBones => "leave --skeleton and --rotation-only out",
        Error::Decompose(DecomposeError::OutOfReach { .. }) => {
            "allow more with --bones, or let them bend with --affine"
        }
        Error::TwoEndings => "leave --stop-at or --max-error out",
        Error::TiedShear => "leave --affine or --near-rigid out",
        Error::NoFarSkinning { .. } => "show all of them by the model, with a large `full_within`",
        Error::Camera(_) => "state `camera` and `look_at`, `field` and `size`",
        Error::Program(_) => "docs/invert-protocol.md says what is spoken, with an example in Python",
        _ => "",
    }
}

fn compile_hint(error: &CompileError) -> &'static str {
    match error {
        CompileError::NoWeights { .. } => "make weights with dermis weights --heat, and fit to that rig",
        CompileError::NoPoses => "name a --motion or --examples",
        CompileError::GivenPositions("a linear blend") => "fit one over a base of its own",
        CompileError::GivenPositions(_) => "export it with --motion, without --drivers",
        CompileError::UnusualWeights { .. } => "fit with --set kind=convex",
        CompileError::Budget { .. } => "export it with as many, or fit it with a smaller --set budget or --set kept",
        CompileError::TooLarge { .. } => "ask for fewer with --shapes",
        CompileError::NotDrivable(refusal) => refusal_remedy(*refusal).unwrap_or_default(),
        CompileError::NoTraining | CompileError::Ridge(_) => "fit it again",
        _ => "",
    }
}

/// The options that make a pose space one that shapes before skinning can hold.
pub fn refusal_remedy(refusal: Refusal) -> Option<&'static str> {
    match refusal {
        Refusal::AfterSkinning => Some("fit it with --set form=inverse"),
        Refusal::OtherBase => Some("fit it with --base lbs"),
        Refusal::NoPoseSpace | Refusal::GivenPositions => None,
    }
}
