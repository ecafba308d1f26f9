//! How much of what devices attend over is padding, on the practice corpus.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use abridge_corpus::batch::Position;
use abridge_corpus::prepare::PreparedDirectory;
use abridge_model::ops::{AttentionLayout, Block};
use common::{data, recipe};

#[test]
fn less_than_a_tenth_is_padding() {
    let recipe = recipe(&["batches.max_tokens=4096"]);
    let data = PreparedDirectory::open(data()).unwrap();
    let vocabularies = &data.description().vocabularies;
    let config = recipe.config(vocabularies.source, vocabularies.target).unwrap();
    let mut sampler = recipe.sampler(&data, &config).unwrap();
    let mut position = Position::default();
    let mut wastes = [const { Vec::new() }; 3];
    while !sampler.is_epoch_done(&position) {
        let planned = sampler.next(&mut position, 1);
        let batch = sampler.build(&planned);
        let (sources, targets) = (batch.source.sentences.segments(), batch.targets.segments());
        let read = batch.source.examples.iter();
        let read = read.map(|example| vec![Block::plain(sources.range(example.source))]).collect();
        let layouts = [
            AttentionLayout::within(sources),
            AttentionLayout::causal(targets),
            AttentionLayout::new(targets, read),
        ];
        for (wastes, layout) in wastes.iter_mut().zip(layouts) {
            wastes.push(layout.waste());
        }
    }
    for (what, wastes) in ["encoder", "decoder", "decoder over encoder"].iter().zip(&wastes) {
        let mean = wastes.iter().sum::<f64>() / wastes.len() as f64;
        println!("{what}: {:.1} % of {} batches", 100.0 * mean, wastes.len());
        assert!(mean < 0.1, "{what}: {mean}");
    }
}
