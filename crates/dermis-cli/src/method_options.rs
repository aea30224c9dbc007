//! The options of methods, and the method that they make.
//!
//! Every method takes the options it has settings for. What is left over is refused by name, with the methods that would
//! take it: which those are is found out by making every method.

use crate::options::add_defaults;
use crate::pose_space_options::PoseSpaceArgs;
use crate::ui::Stop;
use crate::weight_options::WeightArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Command};
use dermis_workflow::Error;
use dermis_workflow::deform::baked::CoefficientPrecision;
use dermis_workflow::deform::joints::CorrectionFrame;
use dermis_workflow::fits::maps::MapSettings;
use dermis_workflow::fits::method::weights::CandidateSource;
use dermis_workflow::fits::method::{
    AnchorChoice, AnimationSpaceMethod, BaseChoice, CompositeChoice, CorrectivesMethod, DeltaMushMethod,
    EigenSkinMethod, FoldChoice, JointMethod, LbsMethod, MapSource, Method, MweMethod, MweRidge, PoseBlendshapesMethod,
    PoseSpaceSettings, PsdMethod, RidgeChoice, RotationalMethod, ShapeByExampleMethod,
};
use dermis_workflow::fits::mwe::{Centring, MweSettings, RidgeMode, RowChoice, SolvePrecision};
use dermis_workflow::recipe::Input;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// What is learnt, and how
#[derive(Args, Clone)]
#[command(next_help_heading = "Method")]
pub struct MethodArgs {
    /// What is learnt [default: joint; correctives for --sculpts; mwe with --published]
    #[arg(long, value_parser = METHODS)]
    method: Option<String>,
    /// The deformer a correction is learnt over: rigid, lbs, dqs, ddm (direct delta mush, which smooths the posed surface; ddm:N
    /// with N steps, else those of least training error), auto (lbs or ddm by cross-validation, for the joint model), given
    /// (positions from --base-cache), rest (the rest pose itself, for shapes that invert wrote with --rest-space)
    /// [default: auto for the joint model, lbs for others]
    #[arg(long, value_parser = |text: &str| BaseChoice::try_from(text.to_owned()))]
    base: Option<BaseChoice>,
    /// Positions of the base in every example's pose (.pc2, .mdd, .npz, OBJ folder), for --base given
    #[arg(long, value_name = "FILE")]
    base_cache: Option<PathBuf>,
    /// Deformers one after another as the base, from a JSON file (docs/invert.md): psd and shape-by-example invert the examples
    /// through them, and the model runs them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "base_cache"])]
    stack: Option<PathBuf>,
    /// Smoothing steps of direct delta mush [default: those of least training error]
    #[arg(help_heading = "Direct delta mush (--method ddm)", long, value_name = "N")]
    steps: Option<u32>,
    /// The published form of multi-weight enveloping, to the letter: world rows, its centring, its ridge s / variance
    /// with s = 1e-3, SVD, no guard. Other options still apply
    #[arg(help_heading = "Multi-weight enveloping (--method mwe)", long)]
    published: bool,
    /// Frame that the joint model's corrections are seen from: the dominant bone, the rest pose (precedes skinning, as morph
    /// targets do), or the blend of the bones' rotations
    #[arg(help_heading = "The joint model (--method joint)", long, value_parser = of::<CorrectionFrame, 3>(["anchor", "rest", "blend"]))]
    frame: Option<CorrectionFrame>,
    /// Width of the kernel of the joint model or of a pose space, as a chord 2 sin(angle/2); pose spaces choose it by
    /// cross-validation
    #[arg(long, allow_negative_numbers = true)]
    sigma: Option<f64>,
    /// Let every example teach both sides of a rig with a left and a right. The joint model mirrors only if that lowers the
    /// cross-validation error; with --s it always mirrors. Pose spaces mirror every example [default: on; off for pose spaces]
    #[arg(long, value_parser = ["on", "off"])]
    mirror: Option<String>,
    /// Inducing rotations per joint, at most
    #[arg(help_heading = "The joint model (--method joint)", long, value_name = "N")]
    inducing: Option<usize>,
    /// Composite joints, which learn what two neighbouring joints do together where the examples moved both: auto (by
    /// cross-validation), off, or the factor on their relevance
    #[arg(long, value_name = "auto|off|FACTOR", value_parser = |text: &str| CompositeChoice::try_from(text.to_owned()))]
    composites: Option<CompositeChoice>,
    /// Frame that features of multi-weight enveloping are seen from: world, root, dominant, bone:NAME, or file:PATH with a
    /// bone name per line and vertex [default: dominant]
    #[arg(help_heading = "Multi-weight enveloping (--method mwe)", long, value_name = "ANCHOR")]
    anchor: Option<String>,
    /// Features each axis reads [default: full; auto below 16 poses]
    #[arg(help_heading = "Multi-weight enveloping (--method mwe)", long, value_parser = of::<RowChoice, 3>(["row", "full", "auto"]))]
    rows: Option<RowChoice>,
    /// What is subtracted from the features
    #[arg(help_heading = "Multi-weight enveloping (--method mwe)", long, value_parser = of::<Centring, 4>(["rest", "mean", "raw", "paper"]))]
    centring: Option<Centring>,
    /// How the ridge depends on the data
    #[arg(help_heading = "Multi-weight enveloping (--method mwe)", long, value_parser = of::<RidgeMode, 4>(["absolute", "paper", "unit", "relative"]))]
    ridge: Option<RidgeMode>,
    /// λ, the strength of the ridge: 0 follows the examples closely, larger is calmer between them [default: chosen by
    /// cross-validation over 1e-4 .. 10 (1e-10 .. 10 for other ridges; the smoothing of a pose-space deformation over
    /// 1e-9 .. 1; the stretches of rotational regression over 1e-4 .. 100)]
    #[arg(short, long, allow_negative_numbers = true)]
    s: Option<f64>,
    /// Choose s by generalised cross-validation instead of leaving poses out
    #[arg(help_heading = "Multi-weight enveloping (--method mwe)", long)]
    gcv: bool,
    /// What is left out while s is chosen: "single" poses, or a number of contiguous blocks [default: 5 blocks for
    /// clips, single poses otherwise]
    #[arg(long, value_name = "single|N")]
    blocks: Option<String>,
    /// Take the largest s whose cross-validated error is within this factor of the best [default: 1.03; 1.02 for the joint model; 1 for ridges
    /// other than absolute]
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Merge poses whose features around a vertex agree within this; negative: never
    #[arg(long, value_name = "DIFFERENCE", allow_negative_numbers = true)]
    duplicates: Option<f64>,
    /// Drop principal axes with less than this share of the largest variance; the absolute ridge drops none. Shapes by example
    /// leave them to the radial functions, by default by held-out error
    #[arg(
        help_heading = "Multi-weight enveloping (--method mwe)",
        long,
        value_name = "SHARE",
        allow_negative_numbers = true
    )]
    eig_tol: Option<f64>,
    /// Drop singular values below this share of the largest, with the published centring
    #[arg(
        help_heading = "Multi-weight enveloping (--method mwe)",
        long,
        value_name = "SHARE",
        allow_negative_numbers = true
    )]
    svd_tol: Option<f64>,
    /// Numbers the vertices are solved in, once s is known: single is faster, moves vertices by at most 5e-5 of the
    /// character's length in poses like the examples', and leaves those it does not suit to double
    #[arg(help_heading = "Multi-weight enveloping (--method mwe)", long, value_parser = of::<SolvePrecision, 2>(["double", "single"]))]
    solve_precision: Option<SolvePrecision>,
    /// Joint limits, welding of frozen joints, and the ball around the base [default: on; off with --published]
    #[arg(long, value_parser = ["on", "off"])]
    guard: Option<String>,
    /// Influence maps of methods other than the joint model: auto, weights, file, examples (bones that the examples show to
    /// move a vertex), table:BUNDLE.npz, or colors:RED,GREEN,BLUE,ALPHA with bone names (empty: unused) [default: auto]
    #[arg(help_heading = "Influence maps (all methods but joint)", long, value_name = "SOURCE")]
    maps: Option<String>,
    /// Joints away from a weighted bone that still matter in influence maps; pose spaces choose this or fewer by
    /// leave-one-out
    #[arg(help_heading = "Influence maps (all methods but joint)", long)]
    rings: Option<usize>,
    /// What each joint on the way costs
    #[arg(help_heading = "Influence maps (all methods but joint)", long, allow_negative_numbers = true)]
    decay: Option<f64>,
    /// Smoothing passes of the maps over the surface
    #[arg(help_heading = "Influence maps (all methods but joint)", long)]
    smoothing: Option<usize>,
    /// Maps at or below this are zero
    #[arg(help_heading = "Influence maps (all methods but joint)", long, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// Bits of the model's coefficients: 16 halves the model (multi-weight enveloping and the joint model) [default: 32]
    #[arg(long, value_parser = ["16", "32"], value_name = "BITS")]
    coefficients: Option<String>,
    #[command(flatten)]
    pose_space: PoseSpaceArgs,
    #[command(flatten)]
    weights: WeightArgs,
}

/// A method as it was asked for, with the files it needs.
pub struct Chosen {
    /// The method.
    pub method: Method,
    /// Positions of a given base.
    pub base_cache: Option<Input>,
    /// A table of influence maps.
    pub map_table: Option<Input>,
    /// Anchors per vertex.
    pub anchors: Option<Input>,
    /// Deformers one after another.
    pub stack: Option<Input>,
}

/// The methods by name.
const METHODS: [&str; 13] = [
    "joint",
    "own-weights",
    "lbs",
    "dqs",
    "ddm",
    "animation-space",
    "mwe",
    "psd",
    "eigenskin",
    "pose-blendshapes",
    "shape-by-example",
    "correctives",
    "rotational-regression",
];

/// Values that a library names by text.
pub fn of<T: DeserializeOwned + Clone + Send + Sync + 'static, const N: usize>(
    names: [&'static str; N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(|name| serde_json::from_value(serde_json::Value::String(name)))
}

/// Adds the defaults that settings have to the help of their options.
pub fn with_defaults(command: Command) -> Command {
    let (joint, mwe, maps) = (JointMethod::default(), MweMethod::default(), MapSettings::default());
    let settings = MweSettings::for_poses(usize::MAX, false);
    let word = |value: serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let named = |value: Result<serde_json::Value, serde_json::Error>| value.map_or_else(|_| String::new(), word);
    let defaults = [
        ("frame", named(serde_json::to_value(joint.frame))),
        ("sigma", format!("{} for the joint model", joint.sigma)),
        ("inducing", joint.inducing.to_string()),
        ("composites", joint.composites.to_string()),
        ("centring", named(serde_json::to_value(mwe.centring))),
        ("ridge", named(serde_json::to_value(mwe.ridge_mode))),
        ("duplicates", format!("{:e}", mwe.duplicates)),
        ("eig_tol", format!("{:e}", settings.eig_tol)),
        ("svd_tol", format!("{:e}", settings.svd_tol)),
        ("solve_precision", named(serde_json::to_value(mwe.solve_precision))),
        ("rings", maps.rings.to_string()),
        ("decay", maps.decay.to_string()),
        ("smoothing", maps.smoothing.to_string()),
        ("threshold", maps.threshold.to_string()),
    ];
    let defaults = defaults.into_iter().chain(crate::pose_space_options::defaults());
    add_defaults(command, defaults.chain(crate::weight_options::defaults()))
}

impl MethodArgs {
    /// The method with the settings asked for. Without a name it is the default one for `sculpts`, or for other examples.
    ///
    /// # Errors
    /// [`Stop`] for values that make no sense, and for options that the method has no setting for.
    pub fn chosen(&self, sculpts: bool) -> Result<Chosen, Stop> {
        let default = if sculpts { "correctives" } else { "joint" };
        let name = self.method.as_deref().unwrap_or(if self.published { "mwe" } else { default });
        let mut rest = self.clone();
        let chosen = rest.take(name);
        if let Some(&option) = rest.left().first().filter(|_| chosen.is_ok()) {
            return Err(Stop::Usage(self.refusal(option, name)));
        }
        let chosen = chosen?;
        let given = matches!(chosen.method.base(), Some(BaseChoice::Given));
        match (given, &chosen.base_cache) {
            (true, None) => Err(Stop::Usage("--base given needs --base-cache FILE".into())),
            (false, Some(_)) => Err(Stop::Usage("--base-cache serves --base given only".into())),
            _ => {
                chosen.method.check().map_err(Error::from)?;
                Ok(chosen)
            }
        }
    }

    /// Why an option that was left over is refused.
    fn refusal(&self, option: &str, name: &str) -> String {
        let takes = |method: &&&str| {
            let mut rest = self.clone();
            let _ = rest.take(method);
            !rest.left().contains(&option)
        };
        let methods: Vec<&str> = METHODS.iter().filter(takes).copied().collect();
        match methods.is_empty() {
            true => format!("{option} has no effect beside the other options"),
            false => format!("{option} serves --method {}, not {name}", methods.join(", ")),
        }
    }

    /// Makes the method of a name from the options it has settings for, and takes these away.
    fn take(&mut self, name: &str) -> Result<Chosen, Stop> {
        self.method = None;
        let mut files = Files::default();
        let method = match name {
            "own-weights" => Method::OwnWeights,
            "dqs" => Method::Dqs,
            "ddm" => Method::DirectDeltaMush(DeltaMushMethod { steps: self.steps.take() }),
            "lbs" => Method::Lbs(self.take_lbs(&mut files)?),
            "animation-space" => Method::AnimationSpace(AnimationSpaceMethod {
                maps: self.take_maps(&mut files)?,
                ridge: self.take_ridge()?,
            }),
            "mwe" => Method::Mwe(self.take_mwe(&mut files)?),
            "psd" => Method::Psd(self.take_psd(&mut files)?),
            "eigenskin" => {
                let pose_space = self.take_pose_space(&mut files)?;
                let kept = self.pose_space.take_kept();
                let own = EigenSkinMethod { pose_space, sigma: self.sigma.take(), ..EigenSkinMethod::default() };
                Method::EigenSkin(EigenSkinMethod { kept: kept.unwrap_or(own.kept), ..own })
            }
            "pose-blendshapes" => {
                let pose_space = self.take_pose_space(&mut files)?;
                Method::PoseBlendshapes(PoseBlendshapesMethod { pose_space, budget: self.pose_space.take_budget()? })
            }
            "shape-by-example" => Method::ShapeByExample(self.take_by_example(&mut files)?),
            "correctives" => Method::Correctives(self.take_correctives(&mut files)?),
            "rotational-regression" => Method::RotationalRegression(RotationalMethod { ridge: self.take_ridge()? }),
            _ => Method::Joint(self.take_joint(&mut files)?),
        };
        let Files { base_cache, map_table, anchors, stack } = files;
        Ok(Chosen { method, base_cache, map_table, anchors, stack })
    }

    fn take_joint(&mut self, files: &mut Files) -> Result<JointMethod, Stop> {
        let mut own = JointMethod { ridge: self.take_ridge()?, ..JointMethod::default() };
        self.take_base(&mut own.base, files);
        set(&mut own.frame, self.frame.take());
        set(&mut own.sigma, self.sigma.take());
        set(&mut own.inducing, self.inducing.take());
        set(&mut own.composites, self.composites.take());
        set(&mut own.mirror, on(self.mirror.take()));
        set(&mut own.guard, on(self.guard.take()));
        own.coefficients = self.take_coefficients();
        Ok(own)
    }

    fn take_mwe(&mut self, files: &mut Files) -> Result<MweMethod, Stop> {
        let mut own = match std::mem::take(&mut self.published) {
            true => MweMethod::published(),
            false => MweMethod::default(),
        };
        self.take_base(&mut own.base, files);
        own.maps = self.take_maps(files)?;
        if let Some(text) = self.anchor.take() {
            own.anchor = anchor(&text, files)?;
        }
        own.rows = self.rows.take().or(own.rows);
        set(&mut own.centring, self.centring.take());
        set(&mut own.ridge_mode, self.ridge.take());
        let gcv = std::mem::take(&mut self.gcv);
        let searched = gcv || self.blocks.is_some() || self.tolerance.is_some();
        if self.s.is_some() || searched {
            own.ridge = match (gcv, self.take_ridge()?) {
                (true, RidgeChoice::Fixed(_)) => return Err(fixed("--gcv")),
                (true, RidgeChoice::CrossValidated { folds: FoldChoice::Auto, tolerance }) => {
                    MweRidge::Gcv { tolerance }
                }
                (true, _) => {
                    return Err(Stop::Usage("--blocks has no effect beside --gcv, which leaves nothing out".into()));
                }
                (false, RidgeChoice::Fixed(ridge)) => MweRidge::Fixed(ridge),
                (false, RidgeChoice::CrossValidated { folds, tolerance }) => {
                    MweRidge::CrossValidated { folds, tolerance }
                }
            };
        }
        own.eig_tol = self.eig_tol.take();
        own.svd_tol = self.svd_tol.take();
        set(&mut own.duplicates, self.duplicates.take());
        set(&mut own.solve_precision, self.solve_precision.take());
        set(&mut own.guard, on(self.guard.take()));
        own.coefficients = self.take_coefficients();
        Ok(own)
    }

    fn take_lbs(&mut self, files: &mut Files) -> Result<LbsMethod, Stop> {
        let (mut own, candidates) = self.weights.take()?;
        own.candidates = match candidates.as_deref() {
            None => CandidateSource::Auto(self.take_maps(files)?),
            Some("maps") => CandidateSource::Maps(self.take_maps(files)?),
            Some("all") => CandidateSource::All,
            Some(_) => CandidateSource::Examples,
        };
        Ok(own)
    }

    fn take_psd(&mut self, files: &mut Files) -> Result<PsdMethod, Stop> {
        let mut own = PsdMethod { pose_space: self.take_pose_space(files)?, ..PsdMethod::default() };
        own.sigma = self.sigma.take();
        own.kernel = self.pose_space.take_kernel();
        own.linear = self.pose_space.take_linear();
        set(&mut own.singular, self.pose_space.take_singular()?);
        own.budget = self.pose_space.take_budget()?;
        files.stack = self.stack.take().map(Input::from);
        if files.stack.is_some() {
            own.pose_space.base = BaseChoice::Stack;
        }
        Ok(own)
    }

    fn take_by_example(&mut self, files: &mut Files) -> Result<ShapeByExampleMethod, Stop> {
        let (coordinates, channels) = self.pose_space.take_coordinates()?;
        let mut own = ShapeByExampleMethod { channels, sigma: self.sigma.take(), ..ShapeByExampleMethod::default() };
        set(&mut own.coordinates, coordinates);
        own.kernel = self.pose_space.take_kernel();
        own.eig_tol = self.eig_tol.take();
        own.smoothing = self.s.take();
        if let Some(text) = self.blocks.take() {
            own.folds = folds(&text)?;
        }
        set(&mut own.duplicates, self.duplicates.take());
        set(&mut own.mirror, on(self.mirror.take()));
        set(&mut own.guard, on(self.guard.take()));
        self.take_base(&mut own.base, files);
        files.stack = self.stack.take().map(Input::from);
        if files.stack.is_some() {
            own.base = BaseChoice::Stack;
        }
        Ok(own)
    }

    fn take_correctives(&mut self, files: &mut Files) -> Result<CorrectivesMethod, Stop> {
        let (coordinates, channels) = self.pose_space.take_coordinates()?;
        let mut own = CorrectivesMethod { channels, sigma: self.sigma.take(), ..CorrectivesMethod::default() };
        set(&mut own.coordinates, coordinates);
        set(&mut own.kernel, self.pose_space.take_kernel());
        self.take_base(&mut own.base, files);
        own.maps = self.take_maps(files)?;
        set(&mut own.mirror, on(self.mirror.take()));
        set(&mut own.guard, on(self.guard.take()));
        Ok(own)
    }

    fn take_pose_space(&mut self, files: &mut Files) -> Result<PoseSpaceSettings, Stop> {
        let mut own = self.pose_space.take_shared()?;
        self.take_base(&mut own.base, files);
        own.fewer_rings = self.rings.is_none();
        own.maps = self.take_maps(files)?;
        set(&mut own.mirror, on(self.mirror.take()));
        own.smoothing = self.s.take();
        if let Some(text) = self.blocks.take() {
            own.folds = folds(&text)?;
        }
        set(&mut own.duplicates, self.duplicates.take());
        set(&mut own.guard, on(self.guard.take()));
        Ok(own)
    }

    fn take_base(&mut self, base: &mut BaseChoice, files: &mut Files) {
        set(base, self.base.take());
        files.base_cache = self.base_cache.take().map(Input::from);
    }

    fn take_coefficients(&mut self) -> CoefficientPrecision {
        match self.coefficients.take().as_deref() {
            Some("16") => CoefficientPrecision::Sixteen,
            _ => CoefficientPrecision::Single,
        }
    }

    fn take_ridge(&mut self) -> Result<RidgeChoice, Stop> {
        let folds = self.blocks.take().as_deref().map(folds).transpose()?;
        let tolerance = self.tolerance.take();
        match self.s.take() {
            Some(_) if folds.is_some() => Err(fixed("--blocks")),
            Some(_) if tolerance.is_some() => Err(fixed("--tolerance")),
            Some(ridge) => Ok(RidgeChoice::Fixed(ridge)),
            None => Ok(RidgeChoice::CrossValidated { folds: folds.unwrap_or_default(), tolerance }),
        }
    }

    fn take_maps(&mut self, files: &mut Files) -> Result<MapSource, Stop> {
        let mut maps = match self.maps.take().as_deref().unwrap_or("auto") {
            "auto" => MapSource::default(),
            "weights" => MapSource::Weights(MapSettings::default()),
            "file" => MapSource::File,
            "examples" => MapSource::Examples(MapSettings::default()),
            other => match other.split_once(':') {
                Some(("colors", names)) => {
                    let mut channels: [Option<String>; 4] = Default::default();
                    for (channel, name) in channels.iter_mut().zip(names.split(',')) {
                        *channel = (!name.is_empty()).then(|| name.to_owned());
                    }
                    MapSource::Colors(channels)
                }
                Some(("table", path)) => {
                    files.map_table = Some(Input::of_path(path.as_ref()));
                    MapSource::Table
                }
                _ => {
                    return Err(Stop::Usage(format!(
                        "--maps {other}: use auto, weights, file, examples, table:FILE or colors:R,G,B,A"
                    )));
                }
            },
        };
        if let Some(settings) = maps.settings_mut() {
            set(&mut settings.rings, self.rings.take());
            set(&mut settings.decay, self.decay.take());
            set(&mut settings.smoothing, self.smoothing.take());
            set(&mut settings.threshold, self.threshold.take());
        }
        Ok(maps)
    }

    /// The options that no setting took.
    fn left(&self) -> Vec<&'static str> {
        let own = [
            ("--base", self.base.is_some()),
            ("--base-cache", self.base_cache.is_some()),
            ("--steps", self.steps.is_some()),
            ("--stack", self.stack.is_some()),
            ("--published", self.published),
            ("--frame", self.frame.is_some()),
            ("--sigma", self.sigma.is_some()),
            ("--mirror", self.mirror.is_some()),
            ("--inducing", self.inducing.is_some()),
            ("--composites", self.composites.is_some()),
            ("--anchor", self.anchor.is_some()),
            ("--rows", self.rows.is_some()),
            ("--centring", self.centring.is_some()),
            ("--ridge", self.ridge.is_some()),
            ("--s", self.s.is_some()),
            ("--gcv", self.gcv),
            ("--blocks", self.blocks.is_some()),
            ("--tolerance", self.tolerance.is_some()),
            ("--duplicates", self.duplicates.is_some()),
            ("--eig-tol", self.eig_tol.is_some()),
            ("--svd-tol", self.svd_tol.is_some()),
            ("--solve-precision", self.solve_precision.is_some()),
            ("--guard", self.guard.is_some()),
            ("--maps", self.maps.is_some()),
            ("--rings", self.rings.is_some()),
            ("--decay", self.decay.is_some()),
            ("--smoothing", self.smoothing.is_some()),
            ("--threshold", self.threshold.is_some()),
            ("--coefficients", self.coefficients.is_some()),
        ];
        let own = own.into_iter().filter(|(_, set)| *set).map(|(name, _)| name);
        own.chain(self.pose_space.left()).chain(self.weights.left()).collect()
    }
}

/// Files that options name.
#[derive(Default)]
struct Files {
    base_cache: Option<Input>,
    map_table: Option<Input>,
    anchors: Option<Input>,
    stack: Option<Input>,
}

/// Sets what was asked for.
fn set<T>(setting: &mut T, asked: Option<T>) {
    if let Some(asked) = asked {
        *setting = asked;
    }
}

fn on(asked: Option<String>) -> Option<bool> {
    asked.map(|text| text == "on")
}

fn fixed(option: &str) -> Stop {
    Stop::Usage(format!("{option} has no effect beside --s, which fixes the ridge"))
}

fn anchor(text: &str, files: &mut Files) -> Result<AnchorChoice, Stop> {
    Ok(match text {
        "world" => AnchorChoice::World,
        "root" => AnchorChoice::Root,
        "dominant" => AnchorChoice::Dominant,
        other => match other.split_once(':') {
            Some(("bone", name)) => AnchorChoice::Bone(name.into()),
            Some(("file", path)) => {
                files.anchors = Some(Input::of_path(path.as_ref()));
                AnchorChoice::PerVertex
            }
            _ => {
                return Err(Stop::Usage(format!(
                    "--anchor {other}: use world, root, dominant, bone:NAME or file:PATH"
                )));
            }
        },
    })
}

fn folds(text: &str) -> Result<FoldChoice, Stop> {
    match (text, text.parse::<usize>()) {
        ("single", _) => Ok(FoldChoice::Single),
        (_, Ok(blocks)) if blocks >= 2 => Ok(FoldChoice::Blocks(blocks)),
        _ => Err(Stop::Usage(format!("--blocks {text}: use \"single\", or two blocks or more"))),
    }
}
