//! `dermis studio`: the page that fits ([`studio_page`]), served to this machine alone, with the program's own engine behind it.
//!
//! `folder` has the files of the session, `engine` runs the jobs of the page one after another, `door` decides who is let in, and `wire` says
//! how jobs and answers cross. A browser connects from this machine; whoever else does lacks the token, a random number in the address
//! that is printed. Programs of the same user can read that address, as they can read everything that is his.

mod door;
mod engine;
mod fault;
mod folder;
mod wire;

use crate::ui::{INTERRUPTED, Stop, Ui};
use crate::view::{open_page, tell_opened};
use dermis_browser::studio_page;
use dermis_workflow::{Error, FileError};
use door::{Door, Seat};
use engine::Engine;
use fault::UnderWay;
use folder::Folder;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use tempfile::Builder;

/// Fit in a page of the browser, with all cores of this machine
///
/// The page takes files that are dropped on it, fits, shows the report and saves what came of it. Nothing leaves this machine: the program
/// listens to this machine alone, and to one page that has the address. It ends when the page is closed, or by Ctrl-C.
#[derive(clap::Args)]
pub struct StudioArgs {
    /// Files that are in the page from the start: a rig, examples, what is held out; of a folder its files
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The port of the address; any free one by default
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Print the address, without opening it
    #[arg(long)]
    no_open: bool,
}

/// How long the program waits for a page that is gone: one that is loaded again is back sooner.
const GRACE: Duration = Duration::from_secs(4);
/// How long a job that was stopped may take to end, before the program ends around it.
const WIND_DOWN: Duration = Duration::from_secs(10);
/// How often the program looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the verb.
pub fn run(args: &StudioArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let again = fault::begun_again();
    let port = again.as_ref().map(|(port, _)| *port).or(args.port);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).map_err(|error| {
        Stop::Usage(match port {
            Some(port) => {
                format!("port {port} of this machine cannot be used ({error}): leave --port out, or name another")
            }
            None => format!("no port of this machine can be used ({error})"),
        })
    })?;
    let internal = |error: &dyn std::fmt::Display| Stop::Recipe(Error::Internal(error.to_string()));
    let address = listener.local_addr().map_err(|error| internal(&error))?;
    let token = match &again {
        Some((_, token)) => token.clone(),
        None => random_token().map_err(|error| internal(&error))?,
    };
    let session = Builder::new().prefix("dermis-studio-").tempdir();
    let session = session.map_err(|source| FileError::System { path: std::env::temp_dir(), source })?;
    let [files, incoming] = ["files", "incoming"].map(|name| session.path().join(name));
    for folder in [&files, &incoming] {
        std::fs::create_dir(folder).map_err(|source| FileError::System { path: folder.clone(), source })?;
    }
    let folder = Folder::new(files.clone(), &args.files)?;
    let page = studio_page(&address.to_string()).map_err(|error| internal(&error))?;
    let from = std::env::current_dir().map_err(|source| FileError::System { path: ".".into(), source })?;
    // Recipes name files by their names in this folder.
    std::env::set_current_dir(&files).map_err(|source| FileError::System { path: files, source })?;

    let (seat, under_way) = (Arc::new(Seat::default()), UnderWay::default());
    fault::begin_again_after_one(&from, address.port(), &token, session.path(), &under_way);
    let (jobs, asked) = channel();
    let (working, interrupted) = (under_way.clone(), ui.interrupted());
    let working = std::thread::spawn(move || Engine::new(folder).work(&asked, &working, &interrupted));
    let url = format!("http://{address}/?token={token}");
    let door = Door { address: address.to_string(), token, page, incoming, seat: Arc::clone(&seat), jobs };
    std::thread::spawn(move || Arc::new(door).stand(&listener));

    if again.is_none() {
        ui.print(&format!("the studio is at {url}"));
        ui.print("it ends when its page is closed, or by Ctrl-C");
        if !args.no_open {
            tell_opened(open_page(url.as_ref()), ui);
        }
    }
    let begun = Instant::now();
    let code = loop {
        if ui.stopped() {
            break ExitCode::from(INTERRUPTED);
        }
        // A program that began anew has a page that looks for it.
        let left = seat.left().or(again.as_ref().map(|_| begun).filter(|_| !seat.was_taken()));
        if left.is_some_and(|left| left.elapsed() > GRACE) {
            break ExitCode::SUCCESS;
        }
        if working.is_finished() {
            return Err(internal(&"the thread that works has ended"));
        }
        std::thread::sleep(LOOK);
    };
    // What runs was stopped; its files go when it has ended.
    let stopped = Instant::now();
    while under_way.is_one() && stopped.elapsed() < WIND_DOWN {
        std::thread::sleep(LOOK);
    }
    // Some systems keep a folder that a process is in.
    let _ = std::env::set_current_dir(from);
    Ok(code)
}

/// A random number of 128 bits, hexadecimal.
fn random_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
