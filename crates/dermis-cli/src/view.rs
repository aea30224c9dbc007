//! `dermis view`

use crate::options::{ReadArgs, existing, page};
use crate::ui::{Stop, Ui};
use dermis_workflow::FileError;
use dermis_workflow::load::Source;
use dermis_workflow::recipe::{Input, ViewOutcome, ViewRecipe};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show a model, a rig, a motion or a mesh in the browser
#[derive(clap::Args)]
pub struct ViewArgs {
    /// A model (.dermis); a rig, a motion, a mesh or its shapes over time (.glb, .gltf, .fbx, .bvh, .npz, .abc, .obj, a folder of OBJ
    /// files). FILE#CLIP is one clip of a file
    #[arg(value_name = "FILE")]
    file: Source,
    /// A motion for the model or the rig, or the shapes of the mesh (.pc2, .mdd, .abc, ...); true skins in its file are shown, too
    #[arg(long, value_name = "FILE")]
    motion: Option<Source>,
    /// Where the page goes (.html), which is then not opened; a temporary folder by default
    #[arg(short, long, value_name = "PAGE", value_parser = page)]
    out: Option<PathBuf>,
    /// Write the page and say where it is, without opening it
    #[arg(long)]
    no_open: bool,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace an existing page
    #[arg(long, requires = "out")]
    force: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// Runs the verb.
pub fn run(args: &ViewArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let mut temporary = None;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => temporary.insert(temporary_folder()?).path().join(page_name(&args.file.path)),
    };
    let recipe = ViewRecipe {
        motion: args.motion.clone().map(Input::from),
        read: args.read.options()?,
        existing: existing(args.force),
        ..ViewRecipe::new(args.file.clone().into(), out)
    };
    let outcome = recipe.run(ui)?;
    // The browser reads the page after the program has ended; a page that was not made leaves no folder behind.
    let wanted = temporary.map(tempfile::TempDir::keep).is_some() && !args.no_open;
    let opened = if wanted { open_page(outcome.written.as_os_str()) } else { None };
    let is_open = matches!(opened, Some(Ok(())));
    if args.json {
        let mut value = outcome.json();
        value["opened"] = is_open.into();
        ui.print_json(&value);
        return Ok(ExitCode::SUCCESS);
    }
    show(&outcome, ui, false);
    if wanted {
        tell_opened(opened, ui);
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens a page, by its path or its address, in the browser; nothing where no screen is.
pub fn open_page(page: &OsStr) -> Option<io::Result<()>> {
    has_display().then(|| open::that_detached(page))
}

/// Says what came of it.
pub fn tell_opened(opened: Option<io::Result<()>>, ui: &Ui) {
    match opened {
        Some(Ok(())) => ui.print("opened in the browser"),
        Some(Err(error)) => ui.note(&format!("warning: no browser could be started ({error}): open the page yourself")),
        None => ui.note("there is no display here: open the page in a browser"),
    }
}

/// Shows the outcome.
pub fn show(outcome: &ViewOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    let counted = [(outcome.vertices, "vertices"), (outcome.bones, "bones"), (outcome.frames, "frames")];
    let counted = counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    ui.print(&format!("{}: {}", outcome.shows.name(), counted.collect::<Vec<_>>().join(", ")));
    outcome.notes.iter().for_each(|note| ui.print(&format!("  {note}")));
    ui.print(&format!("written: {}", outcome.written.display()));
    ExitCode::SUCCESS
}

/// A folder of the user's own for a page that nobody named.
fn temporary_folder() -> Result<tempfile::TempDir, FileError> {
    let made = tempfile::Builder::new().prefix("dermis-view-").tempdir();
    made.map_err(|source| FileError::System { path: std::env::temp_dir(), source })
}

/// The name of a page of a file: letters and digits, so that every program takes it.
fn page_name(path: &Path) -> String {
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = stem.chars().take(60).map(plain).collect();
    format!("{}.html", if name.is_empty() { "view" } else { &name })
}

/// Whether there is a screen that a browser could appear on.
fn has_display() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(windows, target_os = "macos")) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_plain_name() {
        for (path, name) in [
            ("a/hero v2.glb", "hero_v2.html"),
            ("x\u{202e}\n.bvh", "x__.html"),
            ("..", "view.html"),
            ("肘.npz", "肘.html"),
        ] {
            assert_eq!(page_name(Path::new(path)), name);
        }
    }
}
