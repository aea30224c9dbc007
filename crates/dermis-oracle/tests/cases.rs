//! Our own copy of the cases passes, every one.

use dermis_oracle::{FILES, Verdict, run_folder};
use std::path::Path;

#[test]
fn every_known_case_agrees_and_answers_all_that_is_expected() {
    let results = run_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases"), None).unwrap();
    for result in &results {
        assert!(result.passed(), "{result}");
        let Verdict::Compared { unanswered, .. } = &result.verdict else { unreachable!() };
        assert!(unanswered.is_empty(), "{result}");
    }
    for (name, _) in FILES {
        assert!(
            results.iter().any(|result| result.file.starts_with(name) && result.passed()),
            "{name}: no case was run"
        );
    }
}
