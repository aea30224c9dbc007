//! `dermis man`

use crate::options::existing;
use crate::ui::{Stop, Ui};
use dermis_workflow::Error;
use dermis_workflow::output::reserve_folder;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write manual pages, one for the program and one for every verb
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub struct ManArgs {
    /// Folder for the pages; "man -M" takes its parent if it is called man1
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Write into a folder that holds files, and replace pages there
    #[arg(long)]
    force: bool,
}

/// Runs the verb on the command line of the program.
pub fn run(args: &ManArgs, mut program: clap::Command, ui: &Ui) -> Result<ExitCode, Stop> {
    let output = reserve_folder(&args.out, existing(args.force)).map_err(Error::from)?;
    let write = output.folder().map_err(Error::from)?;
    program = program.disable_help_subcommand(true);
    program.build();
    let mut commands = vec![&program];
    let mut pages = 0;
    while let Some(command) = commands.pop() {
        let man = clap_mangen::Man::new(command.clone());
        let mut page = Vec::new();
        let rendered = man.render(&mut page);
        rendered.map_err(|source| Stop::Usage(format!("a page cannot be written: {source}")))?;
        write(&man.get_filename(), &page).map_err(Error::from)?;
        pages += 1;
        commands.extend(command.get_subcommands().filter(|command| !command.is_hide_set()));
    }
    ui.print(&format!("written: {}, {pages} pages", args.out.display()));
    Ok(ExitCode::SUCCESS)
}
