//! Our own copy of the cases passes, completely.

use dermis_oracle::{FILES, Verdict, run_folder};
use std::path::Path;

#[test]
fn every_known_case_agrees_and_answers_all_that_is_expected() {
    let results = run_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases"), None).unwrap();
    for result in results.iter().filter(|result| !result.not_run()) {
        assert!(result.passed(), "{result}");
        let Verdict::Compared { unanswered, .. } = &result.verdict else { unreachable!() };
        assert!(unanswered.is_empty(), "{result}");
    }
    for (name, _) in FILES {
        let of_file = || results.iter().filter(|result| result.file.starts_with(name));
        assert!(of_file().count() > 0 && of_file().all(|result| result.passed()), "{name}: some case was not run");
    }
}
