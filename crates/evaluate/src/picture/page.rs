//! A page that opens from disk: light and dark, wide and narrow, nothing from the network.

use std::path::Path;

use abridge_base::files::read_text;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");
/// Marks a page as one of this program's, which may be replaced by a newer one.
const MARK: &str = r#"<meta name="generator" content="abridge">"#;
/// A larger file was not written by this program.
const LARGEST: u64 = 256 << 20;

/// Whether a file is a page that this program wrote.
pub fn is_own_page(path: &Path) -> bool {
    read_text(path, LARGEST).is_ok_and(|text| text.contains(MARK))
}

/// A whole page. Text inside `body` is escaped by `maud`; `script` is the program's own.
pub fn page(title: &str, body: Markup, script: Option<&'static str>) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Nothing can be loaded, so even a bug in the page cannot reach the network.
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
                meta name="color-scheme" content="light dark";
                (PreEscaped(MARK))
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main { h1 { (title) } (body) }
                @if let Some(script) = script {
                    script { (PreEscaped(script)) }
                }
            }
        }
    }
    .into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_with_markup_is_text_and_nothing_is_fetched() {
        let page = page("<img src=x>", html! { p { ("a & b") } }, None);
        assert!(page.contains("<title>&lt;img src=x&gt;</title>"));
        assert!(page.contains("<p>a &amp; b</p>") && page.contains(MARK));
        assert!(!page.contains("<img") && !page.contains("http://") && !page.contains("https://"));
    }
}
