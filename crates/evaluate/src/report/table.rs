//! A table that can be shown in a terminal or as Markdown.

/// Cells in rows.
pub(super) struct Table {
    /// The indices of text columns, aligned left; all others are numbers, aligned right.
    pub(super) words: &'static [usize],
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// Columns of equal width with two spaces between.
    pub(super) fn to_text(&self) -> String {
        let widths: Vec<usize> = (0..self.header.len())
            .map(|column| {
                self.lines().map(|row| row[column].chars().count()).max().unwrap_or_default()
            })
            .collect();
        let mut text = String::new();
        for row in self.lines() {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, &width))| {
                    if self.words.contains(&column) {
                        format!("{cell:<width$}")
                    } else {
                        format!("{cell:>width$}")
                    }
                })
                .collect();
            text.push_str(cells.join("  ").trim_end());
            text.push('\n');
        }
        text
    }

    /// A pipe table.
    pub(super) fn to_markdown(&self) -> String {
        let mut lines = self.lines().map(|row| {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        });
        let mut text = lines.next().unwrap_or_default();
        let rule: Vec<&str> = (0..self.header.len())
            .map(|column| if self.words.contains(&column) { "---" } else { "---:" })
            .collect();
        text.extend(["| ", &rule.join(" | "), " |\n"]);
        text.extend(lines);
        text
    }

    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        std::iter::once(&self.header).chain(&self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_pipes_are_escaped() {
        let cells = |row: [&str; 2]| row.map(str::to_owned).to_vec();
        let table = Table {
            words: &[0],
            header: cells(["system", "BLEU"]),
            rows: vec![cells(["ä|b", "7.0"])],
        };
        assert_eq!(table.to_text(), "system  BLEU\nä|b      7.0\n");
        assert_eq!(table.to_markdown(), "| system | BLEU |\n| --- | ---: |\n| ä\\|b | 7.0 |\n");
    }
}
