//! `dermis suggest`

use crate::options::ReadArgs;
use crate::show;
use crate::ui::Ui;
use dermis_workflow::Error;
use dermis_workflow::io::npz::{Precision, write};
use dermis_workflow::load::{Source, load_model, load_motion};
use dermis_workflow::output::reserve_file;
use dermis_workflow::suggest::{Suggestions, suggest};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Say which frames of a motion to sculpt next
#[derive(clap::Args)]
pub struct SuggestArgs {
    /// The model (.dermis)
    model: PathBuf,
    /// What it shall become better at: a clip (.glb, .gltf, .fbx) or a bundle with poses (.npz)
    #[arg(long, value_name = "FILE")]
    motion: Source,
    /// The clip, if the file has several; FILE#CLIP does the same
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// Choose among the poses of this file instead of the motion's own frames
    #[arg(long, value_name = "FILE")]
    among: Option<Source>,
    /// How many poses
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    count: u16,
    /// Write them as a bundle with the rig (.npz), for the sculptor to fill
    #[arg(short, long, value_name = "POSES")]
    out: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace an existing output
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// Runs the verb.
pub fn run(args: &SuggestArgs, ui: &Ui) -> Result<ExitCode, Error> {
    if let Some(path) = args.out.as_deref().filter(|path| !is_bundle(path)) {
        return Err(Error::Option(format!("-o {}: poses are written as a bundle: name it .npz", path.display())));
    }
    let out = args.out.as_deref().map(|path| reserve_file(path, args.force)).transpose()?;
    let read = args.read.options()?;
    let (model, note) = ui.step("read model", |_| load_model(&args.model))?;
    let mut source = args.motion.clone();
    source.part = args.clip.clone().or(source.part);
    let (motion, motion_note) = ui.step("read motion", |_| load_motion(&model.rig, &source, &read))?;
    let mut notes = vec![note, motion_note];
    let mut among = None;
    if let Some(source) = &args.among {
        let (poses, note) = ui.step("read poses", |_| load_motion(&model.rig, source, &read))?;
        notes.push(note);
        among = Some(poses);
    }
    show::files(ui, &notes);
    let found = ui.step("suggest", |p| suggest(&model, &motion, among.as_ref(), usize::from(args.count), p))?;
    if let Some(out) = out.as_ref().filter(|_| !found.list.is_empty()) {
        let contents = found.bundle(&model, among.as_ref().unwrap_or(&motion));
        let failed =
            |e: dermis_workflow::io::WriteError| Error::Write { path: out.path().into(), reason: e.to_string() };
        out.write(&write(&contents, Precision::Single).map_err(failed)?)?;
    }
    if args.json {
        ui.print(&found.json().to_string());
        return Ok(ExitCode::SUCCESS);
    }
    table(ui, &found, &motion.name);
    match (&out, found.list.is_empty()) {
        (Some(out), false) => ui.print(&format!("written: {} (rig and poses, no skins yet)", out.path().display())),
        (Some(_), true) => ui.print("nothing written: there is nothing to sculpt"),
        _ => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn is_bundle(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz"))
}

fn table(ui: &Ui, found: &Suggestions, name: &str) {
    let looked_at = match found.looked_at == found.frames {
        true => String::new(),
        false => format!(", of which {} were looked at", found.looked_at),
    };
    ui.print(&format!(
        "\"{name}\": {} frames{looked_at}; the model holds {} training poses",
        found.frames, found.trained
    ));
    ui.print(&format!(
        "{:.0} % of what the motion is expected to ask of the correction is not in the training poses",
        100.0 * found.unknown
    ));
    if found.list.is_empty() {
        ui.print("nothing to suggest: the motion stays in the bind pose, where nothing is corrected");
        return;
    }
    ui.print(&format!(
        "\n{:>5}  {:<22}{:>8}{:>7}{:>7}{:>7}  {}",
        "frame", "label", "time", "skin", "gain", "left", "new joints, degrees from training"
    ));
    for s in &found.list {
        let time = s.time.map_or_else(|| "–".into(), |t| format!("{t:.2} s"));
        let joint = |(bone, degrees): &(String, f64)| format!("{bone} {degrees:.0}°");
        let joints = match s.new.len() {
            0 => format!("none; farthest {}", joint(&s.farthest)),
            1..=3 => s.new.iter().map(joint).collect::<Vec<_>>().join(", "),
            more => format!("{}, {} more", s.new[..3].iter().map(joint).collect::<Vec<_>>().join(", "), more - 3),
        };
        ui.print(&format!(
            "{:>5}  {:<22.21}{time:>8}{:>5.0} %{:>5.0} %{:>5.0} %  {joints}",
            s.frame,
            s.label,
            100.0 * s.skin,
            100.0 * s.gain,
            100.0 * s.left
        ));
    }
    ui.print(
        "skin: area that the new joints move; gain: squared error of the whole motion that the pose is expected to take away; \
         left: rms error expected after it",
    );
}
