//! A page that opens from disk: light and dark, wide and narrow, nothing from the network.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");

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
        assert!(page.contains("<p>a &amp; b</p>"));
        assert!(!page.contains("<img") && !page.contains("http://") && !page.contains("https://"));
    }
}
