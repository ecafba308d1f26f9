//! HTML tables.

use maud::{Markup, html};

/// A table that scrolls on a narrow screen; the first `words` columns are text, the others numbers.
pub fn html_table(words: usize, header: &[String], rows: &[Vec<String>]) -> Markup {
    let class = |column: usize| (column >= words).then_some("number");
    html! {
        div.wide {
            table {
                thead {
                    tr {
                        @for (column, cell) in header.iter().enumerate() {
                            th scope="col" class=[class(column)] { (cell) }
                        }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            @for (column, cell) in row.iter().enumerate() {
                                td class=[class(column)] { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_text() {
        let table = html_table(1, &["a".into(), "b".into()], &[vec!["<i>".into(), "1".into()]]);
        let table = table.into_string();
        assert!(table.contains("<td>&lt;i&gt;</td><td class=\"number\">1</td>"), "{table}");
    }
}
