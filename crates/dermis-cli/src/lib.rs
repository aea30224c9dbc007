//! The program `dermis`: a thin layer over `dermis-workflow`, one file per verb.
//!
//! It is a library, so that what carries the program along (the Python package) runs the same code: [`main_with`] is all of the
//! program. `hints` writes errors in the program's words.

mod animate;
mod compare;
mod convert;
mod crowd;
mod decompose;
mod demo;
mod eval;
mod exercise;
mod export;
mod figures;
mod fit;
mod hints;
mod inspect;
mod invert;
mod man;
mod markers;
mod method_options;
mod old_spellings;
mod options;
mod pose;
mod recipe;
mod report;
mod retarget;
mod rig;
mod run;
mod session;
mod show;
mod studio;
mod suggest;
mod transfer;
mod ui;
mod view;
mod weights;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use dermis_workflow::Error;
use dermis_workflow::report::visible;
use hints::spelled;
use std::ffi::OsString;
use std::process::ExitCode;
use ui::{Stop, Ui};

/// What the exit codes mean, below the help of the program and of every verb.
const EXIT_CODES: &str = "Exit codes: 0 done; 1 done, but a check that was asked for failed; 2 not done, with the reason and the remedy; \
                          130 stopped by Ctrl-C";

/// Learns how a character's skin moves from examples
#[derive(Parser)]
#[command(name = "dermis", version, max_term_width = 110, arg_required_else_help = true, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    /// Threads to use; all cores by default. Results do not depend on it
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,
    /// No progress bars
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Say more: remarks on files, all settings
    #[arg(short, long, global = true)]
    verbose: bool,
}

#[derive(Subcommand)]
enum Verb {
    Demo(demo::DemoArgs),
    Inspect(inspect::InspectArgs),
    View(view::ViewArgs),
    Studio(studio::StudioArgs),
    Fit(Box<fit::FitArgs>),
    Recipe(recipe::RecipeArgs),
    Run(run::RunArgs),
    Eval(eval::EvalArgs),
    Compare(compare::CompareArgs),
    Report(report::ReportArgs),
    Pose(pose::PoseArgs),
    Suggest(suggest::SuggestArgs),
    Transfer(transfer::TransferArgs),
    Session(session::SessionArgs),
    Exercise(exercise::ExerciseArgs),
    Retarget(retarget::RetargetArgs),
    Rig(Box<rig::RigArgs>),
    Markers(markers::MarkersArgs),
    Export(export::ExportArgs),
    Convert(convert::ConvertArgs),
    Weights(Box<weights::WeightsArgs>),
    Decompose(Box<decompose::DecomposeArgs>),
    Invert(Box<invert::InvertArgs>),
    Figures(figures::FiguresArgs),
    Animate(animate::AnimateArgs),
    Crowd(Box<crowd::CrowdArgs>),
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    Man(man::ManArgs),
}

/// Runs the program with these arguments, its name first.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    refuse_large_files_by_error();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    ui::keep_command_line(&arguments);
    let words: Vec<String> = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if let [help, fit, topic] = &words[..]
        && (help.as_str(), fit.as_str()) == ("help", "fit")
        && let Some(text) = fit::help(topic, command())
    {
        Ui::new(true, false).print_text(&text);
        return ExitCode::SUCCESS;
    }
    let cli = match command().try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            let renamed = || method_options::former(&error, &words).or_else(|| old_spellings::message(&words));
            if let Some(text) = renamed().filter(|_| error.use_stderr()) {
                return Ui::new(true, false).fail(&text, "");
            }
            let error = safe(error, &words);
            let code = error.print().map_or_else(|error| ui::unprinted(&error), |()| error.exit_code());
            return ExitCode::from(code as u8);
        }
    };
    let ui = Ui::new(cli.quiet, cli.verbose);
    /// More than any machine has; each takes memory before it does anything.
    const MOST_THREADS: usize = 1024;
    if let Some(threads) = cli.threads.filter(|&threads| threads > MOST_THREADS) {
        return ui.fail(&format!("--threads {threads}: it must be {MOST_THREADS} or less"), "");
    }
    // Now, as an error; at its first use, a pool that cannot start would end the program. 0 is the default.
    if let Err(error) = rayon::ThreadPoolBuilder::new().num_threads(cli.threads.unwrap_or(0)).build_global() {
        let what = cli.threads.map_or_else(|| "the threads".into(), |threads| format!("--threads {threads}"));
        return ui.fail(&format!("{what}: {error}"), "");
    }
    if let Err(error) = choose_simd() {
        return ui.fail(&format!("DERMIS_SIMD: {error}"), "Without it the best this machine has is used.");
    }
    let done = match &cli.verb {
        Verb::Demo(args) => demo::run(args, &ui),
        Verb::Inspect(args) => inspect::run(args, &ui),
        Verb::View(args) => view::run(args, &ui),
        Verb::Studio(args) => studio::run(args, &ui),
        Verb::Fit(args) => fit::run(args, &ui),
        Verb::Recipe(args) => recipe::run(args, &ui),
        Verb::Run(args) => run::run(args, &ui),
        Verb::Eval(args) => eval::run(args, &ui),
        Verb::Compare(args) => compare::run(args, &ui),
        Verb::Report(args) => report::run(args, &ui),
        Verb::Pose(args) => pose::run(args, &ui),
        Verb::Suggest(args) => suggest::run(args, &ui),
        Verb::Transfer(args) => transfer::run(args, &ui),
        Verb::Session(args) => session::run(args, &ui),
        Verb::Exercise(args) => exercise::run(args, &ui),
        Verb::Retarget(args) => retarget::run(args, &ui),
        Verb::Rig(args) => rig::run(args, &ui),
        Verb::Markers(args) => markers::run(args, &ui),
        Verb::Export(args) => export::run(args, &ui),
        Verb::Convert(args) => convert::run(args, &ui),
        Verb::Weights(args) => weights::run(args, &ui),
        Verb::Decompose(args) => decompose::run(args, &ui),
        Verb::Invert(args) => invert::run(args, &ui),
        Verb::Figures(args) => figures::run(args, &ui),
        Verb::Animate(args) => animate::run(args, &ui),
        Verb::Crowd(args) => crowd::run(args, &ui),
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut command(), "dermis", &mut script);
            ui.print_text(String::from_utf8_lossy(&script).trim_end());
            Ok(ExitCode::SUCCESS)
        }
        Verb::Man(args) => man::run(args, command(), &ui),
    };
    done.unwrap_or_else(|stop| match stop {
        Stop::Usage(text) => ui.fail(&text, ""),
        Stop::Recipe(Error::Cancelled) => {
            ui.fail(&Error::Cancelled.to_string(), "");
            ExitCode::from(ui::INTERRUPTED)
        }
        Stop::Recipe(error) => ui.fail(&spelled(&error.message()), &spelled(&error.remedy())),
    })
}

/// Runs the program as [`main_with`] does, for a process that ends itself; the exit code.
pub fn exit_byte(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let code = main_with(arguments);
    (0..=u8::MAX).find(|byte| ExitCode::from(*byte) == code).unwrap_or(1)
}

/// The refusal of a command line, which quotes its words: those that would steer the terminal, such as a file's name, are shown as they are.
fn safe(error: clap::Error, words: &[String]) -> clap::Error {
    let shown: Vec<_> = words.iter().map(|word| visible(word)).collect();
    match shown.iter().zip(words).any(|(shown, word)| shown != word) {
        false => error,
        true => {
            let shown = std::iter::once("dermis").chain(shown.iter().map(AsRef::as_ref));
            let again = command().try_get_matches_from(shown).and_then(|matches| Cli::from_arg_matches(&matches));
            let plain = || command().error(error.kind(), visible(error.to_string().trim_end()));
            again.err().unwrap_or_else(plain)
        }
    }
}

/// Whether the verb that runs, or one of its subcommands, has an option of this name.
fn runs_with_option(name: &str) -> bool {
    let program = command();
    let Some(verb) = ui::words().iter().find_map(|word| program.find_subcommand(word)) else { return false };
    let options = verb.get_arguments().chain(verb.get_subcommands().flat_map(clap::Command::get_arguments));
    options.filter_map(clap::Arg::get_long).any(|long| long == name)
}

/// The command line, with the defaults of settings in the help of their options.
fn command() -> clap::Command {
    let program = Cli::command().mut_subcommands(|verb| verb.after_help(EXIT_CODES));
    let template =
        format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}", verbs(&program));
    program
        .help_template(template)
        .mut_subcommand("fit", |fit| {
            fit::with_recipe_alone(fit)
                .mut_arg("match_tolerance", |arg| arg.hide(true))
                .mut_arg("trust_order", |arg| arg.hide(true))
                .mut_arg("provenance", |arg| arg.hide(true))
                .after_help(format!("{}\n{EXIT_CODES}", fit::MORE))
        })
        .mut_subcommand("weights", weights::with_defaults)
        .mut_subcommand("decompose", decompose::with_defaults)
        .mut_subcommand("export", export::with_defaults)
        .mut_subcommand("invert", invert::with_defaults)
}

/// Headings of the help with their verbs.
const GROUPS: [(&str, &[&str]); 8] = [
    ("Start", &["demo", "inspect", "view", "studio", "convert"]),
    ("Learn", &["fit", "suggest", "session", "recipe", "run"]),
    ("Judge", &["eval", "compare", "report", "figures"]),
    ("Deliver", &["pose", "export", "crowd"]),
    ("Weights and rigs", &["rig", "weights", "transfer", "decompose"]),
    ("Motion", &["exercise", "retarget", "markers", "animate"]),
    ("Inverse", &["invert"]),
    ("The program", &["completions", "man"]),
];

/// The verbs in groups, a line each.
fn verbs(program: &clap::Command) -> String {
    let line = |verb: &&str| {
        let about = program.find_subcommand(verb).and_then(clap::Command::get_about);
        format!("  {verb:<11}  {}\n", about.map_or_else(String::new, ToString::to_string))
    };
    GROUPS.iter().map(|(title, verbs)| format!("{title}:\n{}\n", verbs.iter().map(line).collect::<String>())).collect()
}

/// A file beyond the size that the system allows is an error of the write, not the end of the program: what is under way
/// is then removed. To be called before any thread is started.
fn refuse_large_files_by_error() {
    #[cfg(unix)]
    let _ = nix::sys::signal::SigSet::from(nix::sys::signal::Signal::SIGXFSZ).thread_block();
}

/// Vector instructions other than the best of this machine, for tests and measurements.
fn choose_simd() -> Result<(), dermis_workflow::simd::LevelError> {
    match std::env::var("DERMIS_SIMD") {
        Ok(name) => dermis_workflow::simd::set_level(name.parse()?),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_groups_every_verb_once() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| *verbs).copied().collect();
        let program = Cli::command();
        let mut known: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
        grouped.sort_unstable();
        known.sort_unstable();
        assert_eq!(grouped, known);
    }
}
