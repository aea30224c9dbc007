//! Options that several verbs share.

use crate::pose_space_options::PoseSpaceArgs;
use crate::weight_options::WeightArgs;
use clap::{Args, ValueEnum};
use dermis_workflow::Error;
use dermis_workflow::deform::joints::{Frame, MOST_INDUCING};
use dermis_workflow::fit::{AnchorChoice, BaseChoice, FitOptions, MapSource, Method, PoseSpaceOptions};
use dermis_workflow::fits::Folds;
use dermis_workflow::fits::maps::MapSettings;
use dermis_workflow::fits::mwe::{Centring, RidgeMode, RowChoice, SolvePrecision};
use dermis_workflow::io::UpAxis;
use dermis_workflow::load::{LoadedRig, ReadOptions, read_bytes, read_contents};
use std::path::PathBuf;

/// How files are read where they do not say it themselves
#[derive(Args, Clone)]
#[command(next_help_heading = "Reading")]
pub struct ReadArgs {
    /// Axis that points up in OBJ, PC2, MDD and Alembic files; the rig file's own by default, Y for Alembic
    #[arg(long, value_enum)]
    up: Option<Up>,
    /// Metres per unit of OBJ, PC2, MDD and Alembic files (0.01 for centimetres); the rig file's own by default
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    unit: Option<f64>,
    /// Sample clips at this rate instead of at their own keys
    #[arg(long, value_name = "FRAMES_PER_SECOND", allow_negative_numbers = true)]
    fps: Option<f64>,
    /// How far apart two positions may be at rest and still be the same vertex, in rest diagonals
    #[arg(long, default_value_t = 1e-4, value_name = "DIAGONALS", allow_negative_numbers = true)]
    match_tolerance: f64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Up {
    Y,
    Z,
}

impl ReadArgs {
    /// As the library takes them.
    ///
    /// # Errors
    /// [`Error::Option`] for a rate or tolerance out of range.
    pub fn options(&self) -> Result<ReadOptions, Error> {
        if let Some(fps) = self.fps.filter(|f| !(*f > 0.0 && f.is_finite())) {
            return Err(Error::Option(format!("--fps {fps}: it must be positive")));
        }
        if let Some(unit) = self.unit.filter(|unit| !(1e-12..=1e9).contains(unit)) {
            return Err(Error::Option(format!("--unit {unit}: it must lie between a picometre and a gigametre")));
        }
        if !(self.match_tolerance >= 0.0 && self.match_tolerance.is_finite()) {
            return Err(Error::Option(format!("--match-tolerance {}: it must be zero or more", self.match_tolerance)));
        }
        let up = self.up.map(|up| match up {
            Up::Y => UpAxis::Y,
            Up::Z => UpAxis::Z,
        });
        Ok(ReadOptions { up, unit: self.unit, fps: self.fps, match_tolerance: self.match_tolerance })
    }
}

/// What is learnt, and how
#[derive(Args, Clone)]
#[command(next_help_heading = "Method")]
pub struct MethodArgs {
    /// What is learnt [default: joint; mwe with --published]
    #[arg(long, value_enum)]
    method: Option<MethodName>,
    /// The deformer a correction is learnt over; "given" takes positions from --base-cache, "rest" is the rest pose itself,
    /// for shapes that invert wrote with --rest-space [default: lbs]
    #[arg(long, value_enum)]
    base: Option<BaseName>,
    /// Positions of the base in every example's pose (.pc2, .mdd, .npz, OBJ folder), for --base given
    #[arg(long, value_name = "FILE")]
    pub base_cache: Option<PathBuf>,
    /// The published form of multi-weight enveloping, to the letter: world rows, its centring, its ridge s / variance
    /// with s = 1e-3, SVD, no guard. Other options still apply
    #[arg(long)]
    published: bool,
    /// Frame that the joint model's corrections are seen from: the dominant bone, the rest pose (precedes skinning, as morph
    /// targets do), or the blend of the bones' rotations [default: blend]
    #[arg(long, value_enum)]
    frame: Option<FrameName>,
    /// Width of the kernel of the joint model or of pose-space deformation, as a chord 2 sin(angle/2) [default: 1.4; psd
    /// chooses it by cross-validation]
    #[arg(long, allow_negative_numbers = true)]
    sigma: Option<f64>,
    /// On a rig with a left and a right, let every example teach both. The joint model does where the poses left out agree (with
    /// --s always) [default: on; off for pose spaces, which mirror every example]
    #[arg(long, value_enum)]
    mirror: Option<OnOff>,
    /// Inducing rotations per joint, at most
    #[arg(long, value_name = "N")]
    inducing: Option<usize>,
    /// Frame that features of multi-weight enveloping are seen from: world, root, dominant, bone:NAME, or file:PATH with a bone name per line and
    /// vertex [default: dominant]
    #[arg(long, value_name = "ANCHOR")]
    anchor: Option<String>,
    /// Features each axis reads [default: full; auto below 16 poses]
    #[arg(long, value_enum)]
    rows: Option<RowsName>,
    /// What is subtracted from the features [default: rest]
    #[arg(long, value_enum)]
    centring: Option<CentringName>,
    /// How the ridge depends on the data [default: absolute]
    #[arg(long, value_enum)]
    ridge: Option<RidgeName>,
    /// Strength of the ridge: 0 follows the examples closely, larger is calmer between them [default: chosen by
    /// cross-validation over 1e-4 .. 10 (1e-10 .. 10 for other ridges; the smoothing of a pose-space deformation over
    /// 1e-9 .. 1; the stretches of rotational regression over 1e-4 .. 100)]
    #[arg(short, long, allow_negative_numbers = true)]
    s: Option<f64>,
    /// Choose s by generalised cross-validation instead of leaving poses out
    #[arg(long)]
    gcv: bool,
    /// What is left out while s is chosen: "single" poses, or a number of contiguous blocks [default: 5 blocks for
    /// clips, single poses otherwise]
    #[arg(long, value_name = "single|N")]
    blocks: Option<String>,
    /// Take the largest s whose cross-validated error is within this factor of the best [default: 1.03; 1 for ridges
    /// other than absolute]
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Merge poses whose features around a vertex agree within this; negative: never [default: 1e-6]
    #[arg(long, value_name = "DIFFERENCE", allow_negative_numbers = true)]
    duplicates: Option<f64>,
    /// Drop principal axes with less than this share of the largest variance [default: 1e-10]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    eig_tol: Option<f64>,
    /// Drop singular values below this share of the largest, in the published solve [default: 1e-12]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    svd_tol: Option<f64>,
    /// Numbers the vertices are solved in, once s is known: single is faster, moves vertices by at most 5e-5 of the
    /// character's length in poses like the examples', and leaves those it does not suit to double [default: double]
    #[arg(long, value_enum)]
    solve_precision: Option<SolvePrecisionName>,
    /// Joint limits, welding of frozen joints, and the ball around the base [default: on; off with --published]
    #[arg(long, value_enum)]
    guard: Option<OnOff>,
    /// Influence maps of methods other than the joint model: auto, weights, file, examples (bones that the examples show to move a vertex), table:BUNDLE.npz, or
    /// colors:RED,GREEN,BLUE,ALPHA with bone names (empty: unused) [default: auto]
    #[arg(long, value_name = "SOURCE")]
    maps: Option<String>,
    /// Joints away from a weighted bone that still matter in influence maps [default: 2; pose spaces choose 0, 1 or 2 by
    /// leave-one-out]
    #[arg(long)]
    rings: Option<usize>,
    /// What each joint on the way costs [default: 0.3]
    #[arg(long, allow_negative_numbers = true)]
    decay: Option<f64>,
    /// Smoothing passes of the maps over the surface [default: 4]
    #[arg(long)]
    smoothing: Option<usize>,
    /// Maps at or below this are zero [default: 0.004]
    #[arg(long, allow_negative_numbers = true)]
    threshold: Option<f64>,
    #[command(flatten)]
    pose_space: PoseSpaceArgs,
    #[command(flatten)]
    weights: WeightArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum MethodName {
    Joint,
    OwnWeights,
    Lbs,
    Dqs,
    AnimationSpace,
    Mwe,
    Psd,
    #[value(name = "eigenskin")]
    EigenSkin,
    #[value(name = "pose-blendshapes")]
    PoseBlendshapes,
    RotationalRegression,
}

#[derive(Clone, Copy, ValueEnum)]
enum BaseName {
    Rigid,
    Lbs,
    Dqs,
    Rest,
    Given,
}

#[derive(Clone, Copy, ValueEnum)]
enum SolvePrecisionName {
    Double,
    Single,
}

#[derive(Clone, Copy, ValueEnum)]
enum FrameName {
    Anchor,
    Rest,
    Blend,
}

#[derive(Clone, Copy, ValueEnum)]
enum RowsName {
    Row,
    Full,
    Auto,
}

#[derive(Clone, Copy, ValueEnum)]
enum CentringName {
    Rest,
    Mean,
    Raw,
    Paper,
}

#[derive(Clone, Copy, ValueEnum)]
enum RidgeName {
    Absolute,
    Paper,
    Unit,
    Relative,
}

#[derive(Clone, Copy, ValueEnum)]
enum OnOff {
    On,
    Off,
}

impl MethodArgs {
    /// As the library takes them.
    ///
    /// # Errors
    /// [`Error`] for values that make no sense.
    pub fn options(&self, rig: &LoadedRig) -> Result<FitOptions, Error> {
        let method = match self.method.unwrap_or(if self.published { MethodName::Mwe } else { MethodName::Joint }) {
            MethodName::Joint => Method::Joint,
            MethodName::OwnWeights => Method::OwnWeights,
            MethodName::Lbs => Method::Lbs,
            MethodName::Dqs => Method::Dqs,
            MethodName::AnimationSpace => Method::AnimationSpace,
            MethodName::Mwe => Method::Mwe,
            MethodName::Psd => Method::Psd,
            MethodName::EigenSkin => Method::EigenSkin,
            MethodName::PoseBlendshapes => Method::PoseBlendshapes,
            MethodName::RotationalRegression => Method::RotationalRegression,
        };
        self.check_method(method)?;
        for (name, value, low, high) in [
            ("--decay", self.decay, 0.0, 1.0),
            ("--threshold", self.threshold, 0.0, 1.0),
            ("--s", self.s, 0.0, f64::MAX),
            ("--tolerance", self.tolerance, 1.0, f64::MAX),
            ("--sigma", self.sigma, 1e-3, 1e6),
            ("--duplicates", self.duplicates, f64::MIN, f64::MAX),
            ("--eig-tol", self.eig_tol, 0.0, 1.0),
            ("--svd-tol", self.svd_tol, 0.0, 1.0),
        ] {
            value.map(|value| within(name, value, low, high)).transpose()?;
        }
        // No skeleton is deeper, no mesh is smoother; more would only keep the user waiting.
        for (name, value) in [("--rings", self.rings), ("--smoothing", self.smoothing)] {
            if let Some(value) = value.filter(|v| *v > 1000) {
                return Err(Error::Option(format!("{name} {value}: it must be 1000 or less")));
            }
        }
        if let Some(inducing) = self.inducing.filter(|n| !(1..=MOST_INDUCING).contains(n)) {
            return Err(Error::Option(format!("--inducing {inducing}: it must lie in 1..{MOST_INDUCING}")));
        }
        let base = match (self.base.unwrap_or(BaseName::Lbs), &self.base_cache) {
            (BaseName::Given, None) => return Err(Error::Option("--base given needs --base-cache FILE".into())),
            (BaseName::Given, Some(_)) => BaseChoice::Given,
            (_, Some(_)) => return Err(Error::Option("--base-cache serves --base given only".into())),
            (BaseName::Rigid, None) => BaseChoice::Rigid,
            (BaseName::Lbs, None) => BaseChoice::Lbs,
            (BaseName::Dqs, None) => BaseChoice::Dqs,
            (BaseName::Rest, None) => match method {
                Method::Psd | Method::EigenSkin | Method::PoseBlendshapes => BaseChoice::Rest,
                other => {
                    return Err(Error::Option(format!(
                        "--base rest serves --method psd, eigenskin and pose-blendshapes, not {other}"
                    )));
                }
            },
        };
        let maps = MapSettings::default();
        Ok(FitOptions {
            published: self.published,
            base,
            maps: self.map_source(rig)?,
            map_settings: MapSettings {
                rings: self.rings.unwrap_or(maps.rings),
                decay: self.decay.unwrap_or(maps.decay),
                smoothing: self.smoothing.unwrap_or(maps.smoothing),
                threshold: self.threshold.unwrap_or(maps.threshold),
            },
            anchor: self.anchor.as_deref().map(anchor).transpose()?,
            rows: self.rows.map(|rows| match rows {
                RowsName::Row => RowChoice::Row,
                RowsName::Full => RowChoice::Full,
                RowsName::Auto => RowChoice::Auto,
            }),
            centring: self.centring.map(|centring| match centring {
                CentringName::Rest => Centring::Rest,
                CentringName::Mean => Centring::Mean,
                CentringName::Raw => Centring::Raw,
                CentringName::Paper => Centring::Paper,
            }),
            ridge: self.ridge.map(|ridge| match ridge {
                RidgeName::Absolute => RidgeMode::Absolute,
                RidgeName::Paper => RidgeMode::Paper,
                RidgeName::Unit => RidgeMode::Unit,
                RidgeName::Relative => RidgeMode::Relative,
            }),
            frame: self.frame.map(|frame| match frame {
                FrameName::Anchor => Frame::Anchor,
                FrameName::Rest => Frame::Rest,
                FrameName::Blend => Frame::Blend,
            }),
            sigma: self.sigma,
            mirror: self.mirror.map(|mirror| matches!(mirror, OnOff::On)),
            inducing: self.inducing,
            s: self.s,
            gcv: self.gcv,
            folds: self.blocks.as_deref().map(folds).transpose()?,
            tolerance: self.tolerance,
            eig_tol: self.eig_tol,
            svd_tol: self.svd_tol,
            solve_in: self.solve_precision.map(|precision| match precision {
                SolvePrecisionName::Double => SolvePrecision::Double,
                SolvePrecisionName::Single => SolvePrecision::Single,
            }),
            duplicates: self.duplicates,
            guard: self.guard.map(|guard| matches!(guard, OnOff::On)),
            pose_space: PoseSpaceOptions { rings_given: self.rings.is_some(), ..self.pose_space.options()? },
            weights: self.weights.options()?,
            ..FitOptions::new(method)
        })
    }

    /// An option that the method does not know is a mistake, not something to pass over.
    fn check_method(&self, method: Method) -> Result<(), Error> {
        use Method::{AnimationSpace, EigenSkin, Joint, Lbs, Mwe, PoseBlendshapes, Psd, RotationalRegression};
        let learnt = &[Joint, Mwe, Psd, EigenSkin, PoseBlendshapes, AnimationSpace, RotationalRegression];
        let corrections = &[Joint, Mwe, Psd, EigenSkin, PoseBlendshapes];
        let mapped = &[Mwe, Psd, EigenSkin, PoseBlendshapes, AnimationSpace, Lbs];
        let serves: [(&str, bool, &[Method]); 24] = [
            ("--base", self.base.is_some(), corrections),
            ("--s", self.s.is_some(), learnt),
            ("--blocks", self.blocks.is_some(), learnt),
            ("--tolerance", self.tolerance.is_some(), &[Joint, Mwe, AnimationSpace, RotationalRegression]),
            ("--guard", self.guard.is_some(), corrections),
            ("--maps", self.maps.is_some(), mapped),
            ("--rings", self.rings.is_some(), mapped),
            ("--decay", self.decay.is_some(), mapped),
            ("--smoothing", self.smoothing.is_some(), mapped),
            ("--threshold", self.threshold.is_some(), mapped),
            ("--published", self.published, &[Mwe]),
            ("--anchor", self.anchor.is_some(), &[Mwe]),
            ("--rows", self.rows.is_some(), &[Mwe]),
            ("--centring", self.centring.is_some(), &[Mwe]),
            ("--ridge", self.ridge.is_some(), &[Mwe]),
            ("--gcv", self.gcv, &[Mwe]),
            ("--duplicates", self.duplicates.is_some(), &[Mwe, Psd, EigenSkin, PoseBlendshapes]),
            ("--eig-tol", self.eig_tol.is_some(), &[Mwe]),
            ("--svd-tol", self.svd_tol.is_some(), &[Mwe]),
            ("--solve-precision", self.solve_precision.is_some(), &[Mwe]),
            ("--sigma", self.sigma.is_some(), &[Joint, Psd, EigenSkin]),
            ("--frame", self.frame.is_some(), &[Joint]),
            ("--inducing", self.inducing.is_some(), &[Joint]),
            ("--mirror", self.mirror.is_some(), &[Joint, Psd, EigenSkin, PoseBlendshapes]),
        ];
        if let Some(name) = self.weights.given().first().filter(|_| method != Lbs) {
            return Err(Error::Option(format!("{name} serves --method lbs, not {method}")));
        }
        match serves
            .iter()
            .chain(&self.pose_space.serves())
            .find(|(_, set, methods)| *set && !methods.contains(&method))
        {
            Some((name, _, methods)) => {
                let methods: Vec<String> = methods.iter().map(Method::to_string).collect();
                Err(Error::Option(format!("{name} serves --method {}, not {method}", methods.join(", "))))
            }
            None => Ok(()),
        }
    }

    fn map_source(&self, rig: &LoadedRig) -> Result<MapSource, Error> {
        Ok(match self.maps.as_deref().unwrap_or("auto") {
            "auto" => MapSource::Auto,
            "weights" => MapSource::Weights,
            "file" => MapSource::File,
            "examples" => MapSource::Examples,
            other => match other.split_once(':') {
                Some(("colors", names)) => {
                    let mut channels: [Option<String>; 4] = Default::default();
                    for (channel, name) in channels.iter_mut().zip(names.split(',')) {
                        *channel = (!name.is_empty()).then(|| name.to_owned());
                    }
                    MapSource::Colors(channels)
                }
                Some(("table", path)) => MapSource::Table(table(path.as_ref(), rig)?),
                _ => {
                    return Err(Error::Option(format!(
                        "--maps {other}: use auto, weights, file, examples, table:FILE or colors:R,G,B,A"
                    )));
                }
            },
        })
    }
}

/// The influence maps of another bundle, which must be of the same rig.
fn table(path: &std::path::Path, rig: &LoadedRig) -> Result<dermis_workflow::rig::Influences, Error> {
    let (contents, _) = read_contents(path, &rig.space)?;
    let lacks = |what: String| Error::Lacks {
        path: path.into(),
        what,
        hint: "a table of maps is a bundle with influence_maps (vertices × bones) of the same rig",
    };
    let maps = contents.influence_maps.ok_or_else(|| lacks("it has no influence maps".into()))?;
    if let Some(skeleton) = &contents.skeleton
        && skeleton.names() != rig.rig.skeleton.names()
    {
        return Err(lacks("its bones are not the rig's".into()));
    }
    if maps.vertices() != rig.rig.mesh.positions.len() {
        return Err(lacks(format!(
            "its maps cover {} vertices, the rig has {}",
            maps.vertices(),
            rig.rig.mesh.positions.len()
        )));
    }
    Ok(maps)
}

/// The value, if it lies between `low` and `high`.
///
/// # Errors
/// [`Error::Option`] that names the option.
pub fn within(name: &str, value: f64, low: f64, high: f64) -> Result<f64, Error> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    let rule = match (low > f64::MIN, high < f64::MAX) {
        (true, true) => format!("it must lie in {low}..{high}"),
        (true, false) => format!("it must be {low} or more, and finite"),
        _ => "it must be finite".into(),
    };
    Err(Error::Option(format!("{name} {value}: {rule}")))
}

fn anchor(text: &str) -> Result<AnchorChoice, Error> {
    Ok(match text {
        "world" => AnchorChoice::World,
        "root" => AnchorChoice::Root,
        "dominant" => AnchorChoice::Dominant,
        other => match other.split_once(':') {
            Some(("bone", name)) => AnchorChoice::Bone(name.into()),
            Some(("file", path)) => {
                let bytes = read_bytes(path.as_ref())?;
                AnchorChoice::PerVertex(String::from_utf8_lossy(&bytes).lines().map(|l| l.trim().to_owned()).collect())
            }
            _ => {
                return Err(Error::Option(format!(
                    "--anchor {other}: use world, root, dominant, bone:NAME or file:PATH"
                )));
            }
        },
    })
}

fn folds(text: &str) -> Result<Folds, Error> {
    match (text, text.parse::<usize>()) {
        ("single", _) => Ok(Folds::Single),
        (_, Ok(blocks)) if blocks >= 2 => Ok(Folds::Blocks(blocks)),
        _ => Err(Error::Option(format!("--blocks {text}: use \"single\", or two blocks or more"))),
    }
}
