//! `dermis inspect`

use crate::ui::Ui;
use dermis_workflow::{Error, inspect};
use std::path::PathBuf;
use std::process::ExitCode;

/// Say what a file holds, and what is wrong with it
#[derive(clap::Args)]
pub struct InspectArgs {
    /// Files, or folders of OBJ files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON array and nothing else
    #[arg(long)]
    json: bool,
}

/// Runs the verb: every file is looked at, also after one that cannot be read.
pub fn run(args: &InspectArgs, ui: &Ui) -> Result<ExitCode, Error> {
    let (mut found, mut failed) = (Vec::new(), false);
    for path in &args.files {
        match ui.step("inspect", |_| inspect::inspect(path)) {
            Ok(value) if args.json => found.push(value),
            Ok(value) => inspect::lines(&value).iter().for_each(|line| ui.print(line)),
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(error) => {
                failed = true;
                ui.fail(&error.to_string(), error.hint());
            }
        }
    }
    if args.json {
        ui.print(&serde_json::Value::Array(found).to_string());
    }
    Ok(if failed { ExitCode::from(2) } else { ExitCode::SUCCESS })
}
