//! The page as `dermis studio` serves it: without the engine, which is the program's own.

use crate::parts::{STYLES, app, filled};

/// The policy of the page with the engine inside, which speaks to nobody.
const ALONE: &str = "connect-src 'none'";

/// What the page says of licences; those of the page with the engine inside are in it.
const LICENCES: &str = "Dermis is licensed under MIT or Apache-2.0, at your choice. The file THIRD-PARTY.txt beside the program has \
                        the notices of the libraries in it.";

/// Returns the page for the program that listens at `address`, such as 127.0.0.1:41234: the browser lets it speak to that program alone.
///
/// # Errors
/// A text for people, if the parts of the page do not fit together.
pub fn studio_page(address: &str) -> Result<String, String> {
    Ok(without_engine()?.replacen(ALONE, &format!("connect-src ws://{address}"), 1))
}

/// The page with everything but an engine, and with the policy of the page that has one.
fn without_engine() -> Result<String, String> {
    filled(&[
        ("STYLE", STYLES.concat()),
        ("LICENCES", LICENCES.to_owned()),
        ("APP", app()),
        ("WORKER", String::new()),
        ("WASM", String::new()),
        ("BODY", String::new()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_the_program_speaks_to_it_alone_and_has_no_engine() {
        let page = studio_page("127.0.0.1:41234").unwrap();
        let policies: Vec<&str> = page.match_indices("connect-src ").map(|(at, _)| &page[at..at + 34]).collect();
        assert_eq!(policies, ["connect-src ws://127.0.0.1:41234; "]);
        assert!(page.contains("id=\"worker\"></script>") && page.contains("id=\"wasm\"></script>"));
        // The same page with an engine differs in the policy and in what is inside.
        let alone = without_engine();
        let differ = |(a, b): &(&str, &str)| a != b;
        assert_eq!(alone.unwrap().lines().zip(page.lines()).filter(differ).count(), 1);
    }

    #[test]
    fn a_place_that_nothing_fills_is_named() {
        assert!(filled(&[]).unwrap_err().contains("STYLE"));
    }
}
