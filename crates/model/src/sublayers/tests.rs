//! A new integration of the memory, as the book adds it, runs on tensors and on slices alike.

use std::path::Path;

use burn::tensor::Device;

use crate::config::{Integration, NormPosition};
use crate::tokens::END;
use crate::{Dropout, Example, ModelConfig, ModelSize, Packed, Preset, Purpose, SourceBatch};

fn config(integration: Integration, norm: NormPosition) -> ModelConfig {
    let config = Preset::Grouping.config(ModelSize::Tiny, 40, 40, 2);
    ModelConfig { integration: Some(integration), norm, gate: true, ..config }
}

/// The logits of the first word of each sentence of a document: all at once, step by step, and
/// without the engine.
fn logits(config: &ModelConfig) -> [Vec<f32>; 3] {
    let model = config.init(3, &Device::flex()).unwrap();
    let layout = config.layout(Purpose::Inference);
    let source = SourceBatch {
        sentences: Packed::new([vec![7, 8, END], vec![9, END], vec![10, 11, 12, END]]),
        translations: Packed::default(),
        examples: (0..3)
            .map(|source| Example { source, context: layout.positions(source) })
            .collect(),
    };
    let sources = model.sources(&source).unwrap();
    let start = vec![config.start_word(); 3];
    let targets = Packed::new([[END], [END], [END]]);
    let together = model.forward(&crate::Batch { source, targets }, &mut Dropout::off()).unwrap();
    let mut engine = model.decode(&sources);
    let lean = model.lean_decoder().expect("the network is on the CPU");
    let values = |tensor: burn::tensor::Tensor<2>| tensor.into_data().iter::<f32>().collect();
    [values(together), values(engine.step(&start)), lean.decode(&sources).step(&start).to_vec()]
}

#[test]
fn the_example_of_the_book_decodes_alike_everywhere() {
    for norm in [NormPosition::After, NormPosition::Before] {
        let [together, engine, lean] = logits(&config(Integration::ContextFirst, norm));
        for ((together, engine), lean) in together.iter().zip(&engine).zip(&lean) {
            assert!((together - engine).abs() < 1e-4 && (engine - lean).abs() < 1e-4);
        }
        let [serial, ..] = logits(&config(Integration::Serial, norm));
        let differs = |(ours, theirs): (&f32, &f32)| (ours - theirs).abs() > 1e-3;
        assert!(together.iter().zip(&serial).any(differs), "the order makes no difference");
    }
}

#[test]
fn the_book_shows_the_lines_that_are_compiled() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(book) = std::fs::read_to_string(folder.join("../../docs/extending.md")) else {
        // A packaged crate comes without the book.
        assert!(!folder.join("../../docs").exists(), "the book has a chapter on extending");
        return;
    };
    for (file, lines) in [
        (
            "src/config.rs",
            "    /// A context attention before the cross-attention: the example of the book.\n",
        ),
        (
            "src/sublayers.rs",
            "                Integration::ContextFirst => {
                    let context = self.context(stage, context, own);
                    self.sublayer(stage, Sublayer::Source, context)
                }
",
        ),
    ] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains(lines), "{file} no longer has the example");
        let shown: Vec<&str> = lines.lines().map(str::trim).collect();
        let book: Vec<&str> = book.lines().map(str::trim).collect();
        assert!(book.windows(shown.len()).any(|found| found == shown), "{file}: not in the book");
    }
}
