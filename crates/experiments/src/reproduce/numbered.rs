//! The tables and figures of the paper by their numbers.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::table::{Pair, Table};

/// A table or figure of the paper, and its languages if its number determines them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// The table.
    pub table: Table,
    /// The languages.
    pub pair: Option<Pair>,
    /// Its number, if it was chosen by number.
    number: Option<&'static str>,
}

const fn named(table: Table) -> Numbered {
    Numbered { table, pair: None, number: None }
}

const fn numbered(number: &'static str, table: Table, pair: Pair) -> Numbered {
    Numbered { table, pair: Some(pair), number: Some(number) }
}

/// The values of `--table`.
const TABLES: [Numbered; 21] = [
    named(Table::EnDe),
    named(Table::EnFr),
    named(Table::LargerContext),
    named(Table::AntecedentDistance),
    named(Table::Memory),
    named(Table::Examples),
    named(Table::KeptTokens),
    named(Table::Parameters),
    named(Table::Comet),
    named(Table::LargerContextComet),
    numbered("2", Table::EnDe, Pair::EnDe),
    numbered("3", Table::EnFr, Pair::EnFr),
    numbered("5", Table::Parameters, Pair::EnDe),
    numbered("6", Table::Comet, Pair::EnDe),
    numbered("7", Table::Comet, Pair::EnFr),
    numbered("8", Table::AntecedentDistance, Pair::EnDe),
    numbered("9", Table::AntecedentDistance, Pair::EnFr),
    numbered("10", Table::Examples, Pair::EnDe),
    numbered("11", Table::LargerContext, Pair::EnDe),
    numbered("12", Table::LargerContext, Pair::EnDe),
    numbered("13", Table::LargerContextComet, Pair::EnDe),
];

/// The values of `--figure`.
const FIGURES: [Numbered; 5] = [
    numbered("3", Table::LargerContext, Pair::EnDe),
    numbered("4", Table::KeptTokens, Pair::EnDe),
    numbered("5", Table::Memory, Pair::EnDe),
    numbered("6", Table::KeptTokens, Pair::EnDe),
    numbered("7", Table::KeptTokens, Pair::EnFr),
];

impl Numbered {
    /// A figure of the paper by its number.
    pub fn figure(number: &str) -> Result<Self, String> {
        let found = FIGURES.into_iter().find(|figure| figure.number == Some(number));
        found.ok_or_else(|| format!("`{number}` is not one of the paper's figures 3 to 7"))
    }
}

impl ValueEnum for Numbered {
    fn value_variants<'a>() -> &'a [Self] {
        &TABLES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self.number {
            // Only the names are listed; their help mentions the numbers.
            Some(number) => Some(PossibleValue::new(number).hide(true)),
            None => self.table.to_possible_value(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_and_figure_with_results_has_its_number() {
        // Tables 1 and 4 list data and hyper-parameters; Figures 1 and 2 are drawings.
        for number in [2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13] {
            let found = Numbered::from_str(&number.to_string(), false).unwrap();
            assert!(found.table.title().contains(&number.to_string()), "{number}: {found:?}");
            assert!(found.table.pair(found.pair).is_ok(), "{number}");
        }
        for number in 3..=7 {
            let found = Numbered::figure(&number.to_string()).unwrap();
            assert!(found.table.title().contains("Figure"), "{number}: {found:?}");
            assert!(found.table.pair(found.pair).is_ok(), "{number}");
        }
        assert!(Numbered::figure("1").is_err() && Numbered::from_str("4", false).is_err());
        for table in Table::value_variants() {
            assert_eq!(Numbered::from_str(table.name(), false).unwrap().table, *table);
        }
    }
}
