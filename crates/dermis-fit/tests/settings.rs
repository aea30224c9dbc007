//! The table of settings in the documentation and the words of Blender's panel, made of the settings themselves.

use dermis_fit::method::{Audience, Method, Setting};
use dermis_testkit::snapshot::compare_with_stored;
use std::path::Path;

const BEGIN: &str =
    "<!-- The table of settings: DERMIS_UPDATE_SNAPSHOTS=1 cargo test -p dermis-fit --test settings -->\n";
const END: &str = "<!-- The end of the table -->\n";

#[test]
fn the_documentation_has_every_setting() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/methods.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    compare_with_stored(&path, &format!("{before}{BEGIN}{}{END}{after}", table()));
}

/// The settings that the Blender add-on shows, each with a method that has it.
const IN_BLENDER: [(&str, &str); 2] = [("lambda", "joint"), ("mirror", "psd")];

#[test]
fn the_blender_add_on_has_the_words_of_its_settings() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../blender/dermis_blender/settings.py");
    let mut text = String::from(
        "# SPDX-License-Identifier: GPL-3.0-or-later\n\"\"\"What settings of methods do, in the library's words. Made by crates/dermis-fit/tests/settings.rs; do not edit.\"\"\"\n\nHELP = {\n",
    );
    for (name, method) in IN_BLENDER {
        let method = Method::all().into_iter().find(|known| known.name() == method).unwrap();
        let setting = method.settings().into_iter().find(|setting| setting.name == name).unwrap();
        text += &format!("    {name:?}: {:?},\n", setting.help);
    }
    compare_with_stored(&path, &(text + "}\n"));
}

/// A row for a setting with the methods for which it reads alike.
fn table() -> String {
    let mut rows: Vec<(Setting, Vec<&str>)> = Vec::new();
    for method in Method::all() {
        for setting in method.settings() {
            let alike = |known: &Setting| {
                (known.name, known.default, known.help) == (setting.name, setting.default, setting.help)
            };
            match rows.iter_mut().find(|(known, _)| alike(known)) {
                Some((_, methods)) => methods.push(method.name()),
                None => rows.push((setting, vec![method.name()])),
            }
        }
    }
    rows.sort_by_key(|(setting, _)| (setting.audience == Audience::Expert, setting.audience != Audience::Everyone));
    let mut text = String::from("| setting | default | methods | what it does |\n|---|---|---|---|\n");
    for (setting, methods) in rows {
        let form = setting.form.replace('|', "\\|");
        let said = match setting.audience {
            Audience::Everyone => format!("`--{} {form}`", setting.name),
            Audience::Method | Audience::Expert => format!("`--set {}={form}`", setting.name),
        };
        let notes = [setting.unit.to_owned(), setting.limits()].into_iter().filter(|note| !note.is_empty());
        let notes: Vec<String> =
            notes.chain((setting.audience == Audience::Expert).then(|| "research".into())).collect();
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        let default = if setting.default.is_empty() { "none" } else { setting.default };
        text += &format!("| {said} | {default} | {} | {}{notes} |\n", methods.join(", "), setting.help);
    }
    text
}
