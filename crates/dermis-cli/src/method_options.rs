//! The options of methods, and the method that they make.
//!
//! The library lists the settings of methods. Those that most people need are options; `--set NAME=VALUE` says any of them, and
//! `dermis help fit METHOD` shows those of a method.

use crate::ui::Stop;
use clap::builder::PossibleValuesParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use dermis_workflow::Error;
use dermis_workflow::fits::method::{Audience, BaseChoice, Method, MweMethod, Setting, SettingError};
use dermis_workflow::load::read_bytes;
use dermis_workflow::recipe::Input;
use std::path::{Path, PathBuf};

/// What is learnt, and how
#[derive(Args, Clone)]
#[command(next_help_heading = "Method")]
pub struct MethodArgs {
    /// What is learnt [default: joint; mwe with --published]
    #[arg(long, value_parser = PossibleValuesParser::new(Method::all().iter().map(Method::name)))]
    method: Option<String>,
    #[command(flatten)]
    settings: SettingArgs,
    /// The published form of multi-weight enveloping, to the letter: world rows, its centring, its ridge lambda / variance
    /// with lambda = 1e-3, SVD, no guard. Other settings still apply
    #[arg(long)]
    published: bool,
    /// A setting of the method, such as sigma=0.7; several times for several. dermis help fit METHOD lists them
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Positions of the base in every example's pose (.pc2, .mdd, .npz, OBJ folder), for --base given
    #[arg(long, value_name = "FILE", hide = true)]
    base_cache: Option<PathBuf>,
    /// Deformers one after another as the base, from a JSON file (docs/invert.md), for mwe, psd and shape-by-example: the last two
    /// invert the examples through them. The model runs them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "base_cache"], hide = true)]
    stack: Option<PathBuf>,
}

/// The settings that are options, with the values given.
#[derive(Clone)]
struct SettingArgs(Vec<(String, String)>);

impl Args for SettingArgs {
    fn augment_args(command: Command) -> Command {
        options().into_iter().fold(command, |command, setting| {
            let option = Arg::new(setting.name).long(setting.name).value_name(setting.form).allow_hyphen_values(true);
            let option = option.help(format!("{} [default: {}]", setting.help, defaults(setting.name)));
            command.arg(if setting.name == "lambda" { option.short('s') } else { option })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value =
            |setting: Setting| Some((setting.name.to_owned(), matches.get_one::<String>(setting.name)?.clone()));
        Ok(Self(options().into_iter().filter_map(value).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
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
    /// A model that another correction is learnt over.
    pub base_model: Option<Input>,
}

/// Settings of all methods, each name once.
fn settings() -> Vec<Setting> {
    let mut all: Vec<Setting> = Vec::new();
    for setting in Method::all().iter().flat_map(Method::settings) {
        if all.iter().all(|known| known.name != setting.name) {
            all.push(setting);
        }
    }
    all
}

/// Settings that are options.
fn options() -> Vec<Setting> {
    settings().into_iter().filter(|setting| setting.audience == Audience::Everyone).collect()
}

/// The default of a setting: that of most methods, and of others beside their names.
fn defaults(name: &str) -> String {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for method in Method::all() {
        let Some(setting) = method.settings().into_iter().find(|setting| setting.name == name) else { continue };
        match found.iter_mut().find(|(default, _)| *default == setting.default) {
            Some((_, methods)) => methods.push(method.name()),
            None => found.push((setting.default, vec![method.name()])),
        }
    }
    found.sort_by_key(|(_, methods)| std::cmp::Reverse(methods.len()));
    let text = |(at, (default, methods)): (usize, &(&str, Vec<&str>))| match at {
        0 => (*default).to_owned(),
        _ => format!("{default} for {}", methods.join(", ")),
    };
    found.iter().enumerate().map(text).collect::<Vec<_>>().join("; ")
}

/// A setting as the command line says it: `--base`, `--set sigma`.
pub fn spelled(name: &str) -> String {
    match settings().iter().find(|setting| setting.name == name) {
        Some(setting) if setting.audience != Audience::Everyone => format!("--set {name}"),
        _ => format!("--{name}"),
    }
}

/// A setting and its value as the command line says them.
pub fn spelled_with(name: &str, value: &str) -> String {
    let name = spelled(name);
    if name.starts_with("--set ") { format!("{name}={value}") } else { format!("{name} {value}") }
}

impl MethodArgs {
    /// The method with the settings asked for.
    ///
    /// # Errors
    /// [`Stop`] for values that make no sense, and for settings that the method does not have.
    pub fn chosen(&self) -> Result<Chosen, Stop> {
        let name = self.method.as_deref().unwrap_or(if self.published { "mwe" } else { "joint" });
        let named = Method::all().into_iter().find(|method| method.name() == name);
        let named = named.ok_or_else(|| Stop::Usage(format!("there is no method {name}")))?;
        let method = match (self.published, named) {
            (true, Method::Mwe(_)) => Method::Mwe(MweMethod::published()),
            (true, other) => return Err(Stop::Usage(format!("--published serves --method mwe, not {other}"))),
            (false, method) => method,
        };
        let mut said = self.settings.0.clone();
        for pair in &self.set {
            let (name, value) =
                pair.split_once('=').ok_or_else(|| Stop::Usage(format!("--set {pair}: write --set NAME=VALUE")))?;
            said.push((name.to_owned(), value.to_owned()));
        }
        if self.stack.is_some() {
            match method.base() {
                Some(_) => said.push(("base".into(), BaseChoice::Stack.to_string())),
                None => {
                    return Err(Stop::Usage(format!(
                        "--stack serves --method mwe, psd in the inverse form and shape-by-example, not {method}"
                    )));
                }
            }
        }
        for (_, value) in said.iter_mut().filter(|(name, value)| name == "base" && value.ends_with(".dermis")) {
            if !value.starts_with("model:") {
                *value = format!("model:{value}");
            }
        }
        let base_model = file_of("base", "model", &mut said);
        let (map_table, anchors) = (file_of("maps", "table", &mut said), file_of("anchor", "file", &mut said));
        for (name, value) in &mut said {
            if matches!(name.as_str(), "lock-vertices" | "lock-weights") && Path::new(value).is_file() {
                *value = String::from_utf8_lossy(&read_bytes(Path::new(value))?).into_owned();
            }
        }
        let method = method.with(&said).map_err(|error| Stop::Usage(refusal(&error)))?;
        match (method.base(), &self.base_cache) {
            (Some(BaseChoice::Given), None) => return Err(Stop::Usage("--base given needs --base-cache FILE".into())),
            (Some(BaseChoice::Given), Some(_)) | (_, None) => {}
            (_, Some(_)) => return Err(Stop::Usage("--base-cache serves --base given only".into())),
        }
        if method.base() == Some(BaseChoice::Model) && base_model.is_none() {
            return Err(Stop::Usage("--base model needs a file: --base hero.dermis".into()));
        }
        method.check().map_err(Error::from)?;
        let [base_cache, stack] = [&self.base_cache, &self.stack].map(|path| path.clone().map(Input::from));
        Ok(Chosen { method, base_cache, map_table, anchors, stack, base_model })
    }
}

/// The file behind a value such as `table:FILE`, of which the value itself remains.
fn file_of(name: &str, kind: &str, said: &mut [(String, String)]) -> Option<Input> {
    let (_, value) = said.iter_mut().find(|(said, _)| said == name)?;
    let path = value.strip_prefix(kind)?.strip_prefix(':')?;
    let file = Input::of_path(path.as_ref());
    *value = kind.to_owned();
    Some(file)
}

/// Why a setting is refused, in the words of the command line.
pub fn refusal(error: &SettingError) -> String {
    match error {
        SettingError::Unknown { name, .. } => match newer(name, None) {
            Some(new) => format!("--set {name}: say {new}"),
            None => format!("--set {error}"),
        },
        SettingError::Elsewhere { name, method, serves } => {
            format!("{} serves --method {}, not {method}", spelled(name), serves.join(", "))
        }
        SettingError::Twice { name } => format!("{} is given twice", spelled(name)),
        SettingError::Value { name, text, why } => format!("{}: {why}", spelled_with(name, text)),
    }
}

/// Options of former versions whose settings have other names.
const RENAMED: [(&str, &str); 10] = [
    ("s", "lambda="),
    ("channel", "channels="),
    ("pose-space", "reach="),
    ("ridge", "ridge-mode="),
    ("smoothing", "map-smoothing="),
    ("energy", "kept=energy:"),
    ("joint-shapes", "kept=count:"),
    ("weights-kind", "kind="),
    ("smooth-weights", "smoothness="),
    ("weight-bits", "bits="),
];

/// How a former option is said now; none for what never was one.
fn newer(option: &str, value: Option<&str>) -> Option<String> {
    let renamed = RENAMED.iter().find(|(old, _)| *old == option).and_then(|(_, new)| new.split_once('='));
    let (name, before) = renamed.unwrap_or((option, ""));
    let setting = settings().into_iter().find(|setting| setting.name == name)?;
    let value = value.unwrap_or(if setting.form == "on|off" { "on" } else { setting.form });
    Some(spelled_with(name, &format!("{before}{value}")))
}

/// What to say instead of a former option of `fit`, where that is what clap refuses. `arguments` come without the program's name.
pub fn former(error: &clap::Error, arguments: &[String]) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument || arguments.first().is_none_or(|verb| verb != "fit") {
        return None;
    }
    let at = arguments.iter().position(|argument| argument.split('=').next() == Some(option))?;
    let value = match arguments[at].split_once('=') {
        Some((_, value)) => Some(value),
        None => arguments.get(at + 1).map(String::as_str).filter(|next| !next.starts_with("--")),
    };
    let new = newer(option.strip_prefix("--")?, value)?;
    let said = value.map_or_else(String::new, |value| format!(" {value}"));
    Some(format!("{option}{said}: say {new}"))
}

/// The settings of a method, for `dermis help fit METHOD`.
pub fn help(name: &str) -> Option<String> {
    let method = Method::all().into_iter().find(|method| method.name() == name)?;
    let mut lines = vec![format!("dermis fit --method {name}: {}", method.about())];
    for (title, audience) in
        [("Options", Audience::Everyone), ("Settings", Audience::Method), ("Settings for research", Audience::Expert)]
    {
        let settings: Vec<Setting> = method.settings().into_iter().filter(|s| s.audience == audience).collect();
        if !settings.is_empty() {
            lines.extend([String::new(), format!("{title}:")]);
        }
        for setting in settings {
            lines.push(format!("  {}", spelled_with(setting.name, setting.form)));
            let default = if setting.default.is_empty() { "none" } else { setting.default };
            let notes =
                [("", setting.unit.to_owned()), ("range: ", setting.limits()), ("default: ", default.to_owned())];
            let notes =
                notes.iter().filter(|(_, note)| !note.is_empty()).map(|(what, note)| format!(" [{what}{note}]"));
            lines.extend(wrapped(&format!("{}{}", setting.help, notes.collect::<String>())));
        }
    }
    if method.base().is_some() {
        lines.extend([String::new(), "--base given takes --base-cache FILE (dermis help fit all).".into()]);
    }
    Some(lines.join("\n"))
}

/// Lines of at most a hundred characters, indented.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        match lines[last].chars().count() + word.chars().count() < 92 {
            true => lines[last] += &format!(" {word}"),
            false => lines.push(format!(" {word}")),
        }
    }
    lines.iter().map(|line| format!("       {line}")).collect()
}
