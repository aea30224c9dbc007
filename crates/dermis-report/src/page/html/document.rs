//! What every page is made of besides its body: head, policy, style, data and scripts.
//!
//! The policy names the SHA-256 of the page's own styles and scripts and allows nothing else: no network, no attribute `style` or `on…`,
//! no script that a name in a file might bring along. Scripts set what depends on data, such as the place of a tip, through the DOM.

use super::escape;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// A whole page.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Document<'a> {
    /// The title of the browser's tab, as text.
    pub title: &'a str,
    /// The style sheets, in order.
    pub styles: &'a [&'a str],
    /// What the page shows, as HTML.
    pub body: &'a str,
    /// What its scripts read.
    pub data: &'a [Data<'a>],
    /// The scripts, each an element of its own. They mark the root element: `data-state` is "loading", then "ready" or "error".
    pub scripts: &'a [&'a str],
}

/// A block of data that scripts read by its id. The text holds no `<`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'a> {
    pub id: &'a str,
    pub kind: DataKind,
    pub text: &'a str,
}

/// What a block of data holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataKind {
    Json,
    /// Bytes in base64.
    Bytes,
}

impl Document<'_> {
    /// Returns the page as HTML text.
    pub fn to_html(self) -> String {
        // A browser takes the hash of what it parsed, with plain ends of lines.
        let element = |text: &str| format!("\n{}\n", text.replace("\r\n", "\n").trim_end_matches('\n'));
        let style = element(&self.styles.concat());
        let scripts: Vec<String> = self.scripts.iter().map(|script| element(script)).collect();
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\"{}>\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
             <title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{style}</style>\n</head>\n<body>\n<main>\n{}</main>\n",
            if scripts.is_empty() { "" } else { " data-state=\"loading\"" },
            policy(&style, &scripts),
            escape(self.title),
            self.body
        );
        if !scripts.is_empty() {
            html += "<div id=\"tip\" role=\"status\" hidden></div>\n";
        }
        for Data { id, kind, text } in self.data {
            let kind = match kind {
                DataKind::Json => "application/json",
                DataKind::Bytes => "application/octet-stream",
            };
            let _ = writeln!(html, "<script type=\"{kind}\" id=\"{id}\">{text}</script>");
        }
        for script in &scripts {
            let _ = writeln!(html, "<script>{script}</script>");
        }
        html + "</body>\n</html>\n"
    }
}

/// Returns the content policy of a page with this style and these scripts. Blocks of data never run, so they need no leave.
fn policy(style: &str, scripts: &[String]) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())));
    let scripts: Vec<String> = scripts.iter().map(|script| hash(script)).collect();
    let scripts = if scripts.is_empty() { "'none'".into() } else { scripts.join(" ") };
    format!(
        "default-src 'none'; style-src {}; script-src {scripts}; img-src data:; base-uri 'none'; form-action 'none'",
        hash(style)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash of `echo -ne '\nalert(1)\n' | openssl dgst -sha256 -binary | base64`.
    #[test]
    fn a_policy_names_the_hash_of_a_script() {
        let page = Document { scripts: &["alert(1)\r\n"], ..Document::default() }.to_html();
        assert!(page.contains("<script>\nalert(1)\n</script>"), "{page}");
        assert!(page.contains("script-src 'sha256-J8+4/wmqNoqVGih0Xof49bzVEIwR8aHhR5HvZK1wlzY='"), "{page}");
        assert!(page.contains("data-state=\"loading\""));
        let still = Document { title: "<b>", ..Document::default() }.to_html();
        assert!(still.contains("script-src 'none'") && !still.contains("<script") && still.contains("&lt;b&gt;"));
    }
}
