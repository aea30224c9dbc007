//! Options that have a new name: the old spelling is refused with the new one.

use crate::export;
use crate::ui::joined;

/// An option that was renamed.
pub struct OldSpelling {
    /// The verb that had it.
    pub verb: &'static str,
    /// The option as it was.
    pub old: &'static str,
    /// The option as it is.
    pub new: &'static str,
}

const fn renamed(verb: &'static str, old: &'static str, new: &'static str) -> OldSpelling {
    OldSpelling { verb, old, new }
}

/// Every renamed option. Those of methods are in `method_options.rs`, the forms of `export` in `export.rs`.
pub const OLD_SPELLINGS: [OldSpelling; 10] = [
    renamed("compare", "--poses", "--counts"),
    renamed("decompose", "--method", "--algorithm"),
    renamed("decompose", "--skeleton", "--tree"),
    renamed("decompose", "--smooth", "--smoothness"),
    renamed("exercise", "--fps", "--rate"),
    renamed("exercise", "--poses", "--count"),
    renamed("invert", "--method", "--algorithm"),
    renamed("rig", "--exercise", "--write-exercise"),
    renamed("weights", "--examples", "--registered"),
    renamed("weights", "--motion", "--poses"),
];

/// The message for a refused command line (without the program's name) that holds an old spelling.
pub fn message(words: &[String]) -> Option<String> {
    let verb = words.iter().position(|word| !word.starts_with('-') && word.parse::<u32>().is_err())?;
    let (verb, rest) = (words[verb].as_str(), &words[verb + 1..]);
    if verb == "export" {
        return export::respelled(rest).map(|line| format!("export has subcommands: say dermis export {line}"));
    }
    rest.iter().enumerate().find_map(|(at, word)| {
        let (option, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let OldSpelling { new, .. } = OLD_SPELLINGS.iter().find(|row| row.verb == verb && row.old == option)?;
        let value = value.or(rest.get(at + 1).map(String::as_str).filter(|next| !next.starts_with('-')));
        let [old, new] = [option, *new].map(|name| joined([name].into_iter().chain(value)));
        Some(format!("{old}: say {new}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The new option exists, the old one does not, and a command line that holds it names the new one.
    #[test]
    fn every_old_spelling_is_refused_with_the_new_one() {
        let program = crate::command();
        for OldSpelling { verb, old, new } in OLD_SPELLINGS {
            let options = program.find_subcommand(verb).unwrap().get_arguments().filter_map(|arg| arg.get_long());
            let options: Vec<String> = options.map(|name| format!("--{name}")).collect();
            assert!(options.iter().any(|name| name == new), "{verb} has no {new}");
            for (value, said) in [(vec![old.to_owned(), "7".to_owned()], "7"), (vec![format!("{old}=7")], "7")] {
                let words = [vec!["dermis".to_owned(), verb.to_owned(), "rig.glb".to_owned()], value].concat();
                assert!(crate::command().try_get_matches_from(&words).is_err(), "{verb} {old} is taken");
                assert_eq!(message(&words[1..]).unwrap(), format!("{old} {said}: say {new} {said}"));
            }
        }
        assert_eq!(message(&["pose".to_owned(), "--examples".to_owned()]), None, "an option of another verb");
    }
}
