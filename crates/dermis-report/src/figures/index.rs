//! The page that leads to the pages of all papers.

use super::FiguresPage;
use super::html::{FIGURES_STYLE, parts, tally, verdict_html};
use crate::page::html::{Document, STYLE, escape};
use std::fmt::Write as _;

/// A page that the index leads to.
#[derive(Clone, Copy, Debug)]
pub struct IndexEntry<'a> {
    /// Its file, in the folder of the index.
    pub file: &'a str,
    /// The page.
    pub page: &'a FiguresPage,
}

/// Returns a page with every figure of the pages, its verdict, and a link to it.
pub fn index_page(entries: &[IndexEntry<'_>]) -> String {
    let mut body = String::from(
        "<header><h1>Papers in figures</h1>\n<p class=\"subtitle\">Figures and experiments of papers, made again and measured.</p></header>\n",
    );
    for IndexEntry { file, page } in entries {
        let (file, title) = (escape(file), escape(&page.title));
        let listed = page.listed();
        let tally = tally(listed.iter().map(|listed| listed.verdict.clone()));
        let _ = writeln!(body, "<section><h2><a href=\"{file}\">{title}</a></h2><p class=\"tally\">{tally}</p>");
        body += &parts(page, &file);
        for (at, figure) in page.figures.iter().enumerate().filter(|_| page.parts.is_empty()) {
            let _ = writeln!(
                body,
                "<div class=\"entry\"><a href=\"{file}#figure-{at}\">{}</a> <span class=\"count\">{}</span>{}</div>",
                escape(&figure.name),
                escape(&figure.title),
                verdict_html(&figure.verdict())
            );
        }
        body += "</section>\n";
    }
    let styles = &[STYLE, FIGURES_STYLE];
    Document { title: "Papers in figures", styles, body: &body, ..Document::default() }.to_html()
}
