//! A new shortener needs a file and a line of the table; the example of the book is one.

use burn::tensor::Device;

use super::first::FirstConfig;
use crate::config::ShortenerConfig;
use crate::packed::Packed;
use crate::tokens::END;
use crate::{ModelConfig, ModelSize, Preset};

fn config(tokens: usize) -> ModelConfig {
    let mut config = Preset::CachingTokens.config(ModelSize::Tiny, 20, 20, 1);
    config.shortener = Some(ShortenerConfig::First(FirstConfig { tokens }));
    config
}

#[test]
fn the_example_of_the_book_is_a_shortener() {
    let config = config(2);
    let again = ModelConfig::from_toml(&config.to_toml()).unwrap();
    assert_eq!(again, config);
    assert!(self::config(0).check().unwrap_err().to_string().contains("nothing to remember"));
    let model = config.init(3, &Device::flex()).unwrap();
    let readings = model.read(&Packed::new([&[7, 8, 9, END][..], &[END]])).unwrap();
    for (reading, rows) in readings.iter().zip([2, 1]) {
        let entry = reading.remembered.entry.as_ref().unwrap();
        assert_eq!(entry.rows.dims(), [rows, config.width]);
        assert_eq!(config.entry_rows(reading.remembered.tokens.len()), rows);
        let states = reading.states.clone().unwrap().narrow(0, 0, rows);
        assert_eq!(entry.rows.to_data(), states.to_data());
    }
    assert_eq!(config.shortener.unwrap().keeps("n"), "at most 2 vectors");
}
