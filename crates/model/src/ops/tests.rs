//! Fused operations equal the plain ones: values and gradients, on random shapes.

use burn::tensor::{Device, Tensor, TensorData};
use proptest::prelude::*;

use super::{
    AdamRates, AdamState, AttentionInput, AttentionLayout, Block, KeyValue, Norm, ProductPrecision,
    Products, Projection, ResidualNorm, Weighed, fused, plain,
};
use crate::addition::Part;
use crate::config::{Activation, Normaliser};
use crate::dropout::Dropout;
use crate::packed::Segments;
use crate::random;

/// Numbers around zero, the same for the same key.
fn numbers<const D: usize>(key: u64, shape: [usize; D]) -> Tensor<D> {
    let count = shape.iter().product::<usize>() as u64;
    let values: Vec<f32> = (0..count).map(|i| random::normal(key, i) as f32).collect();
    Tensor::from_data(TensorData::new(values, shape), &Device::flex().autodiff()).require_grad()
}

fn values<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().iter::<f32>().collect()
}

fn assert_close(what: &str, ours: &[f32], theirs: &[f32]) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let largest = theirs.iter().fold(1.0f32, |largest, value| largest.max(value.abs()));
    for (i, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert!((ours - theirs).abs() <= 1e-5 * largest, "{what}, {i}: {ours} for {theirs}");
    }
}

/// Runs both versions on the same inputs, and compares values and the gradients of every input.
fn compare(
    shapes: &[[usize; 2]],
    fused: impl Fn(&[Tensor<2>]) -> Tensor<2>,
    plain: impl Fn(&[Tensor<2>]) -> Tensor<2>,
) {
    let run = |operation: &dyn Fn(&[Tensor<2>]) -> Tensor<2>| {
        let inputs: Vec<Tensor<2>> =
            shapes.iter().enumerate().map(|(key, shape)| numbers(key as u64, *shape)).collect();
        let output = operation(&inputs);
        // Different weights for each output value, so that no error can cancel out.
        let weights = numbers(1000, output.dims()).detach();
        let gradients = (output.clone() * weights).sum().backward();
        let gradient = |input: &Tensor<2>| {
            input.grad(&gradients).map_or(vec![0.0; input.shape().num_elements()], values)
        };
        (values(output), inputs.iter().map(gradient).collect::<Vec<_>>())
    };
    let (ours, our_gradients) = run(&fused);
    let (theirs, their_gradients) = run(&plain);
    assert_close("value", &ours, &theirs);
    for (i, (ours, theirs)) in our_gradients.iter().zip(&their_gradients).enumerate() {
        assert_close(&format!("gradient {i}"), ours, theirs);
    }
}

/// One row as a vector.
fn vector(row: &Tensor<2>) -> Tensor<1> {
    row.clone().reshape([row.dims()[1]])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn linear_layers(rows in 0usize..40, inputs in 1usize..40, outputs in 1usize..40, kind in 0usize..5) {
        let activations = [Activation::Relu, Activation::Silu, Activation::Gelu, Activation::QuickGelu];
        let activation = activations.get(kind).copied();
        compare(
            &[[rows, inputs], [inputs, outputs], [1, outputs]],
            |x| fused::linear(x[0].clone(), x[1].clone(), vector(&x[2]), activation, &Products::default()),
            |x| plain::linear(x[0].clone(), x[1].clone(), vector(&x[2]), activation, ProductPrecision::F32),
        );
    }

    #[test]
    fn a_known_product(rows in 1usize..20, inputs in 1usize..20, outputs in 1usize..20) {
        // Used twice: once with the gradient of the input, once without.
        let again = |x: &[Tensor<2>]| {
            let [x, weight, bias] = [x[0].clone(), x[1].clone(), x[2].clone()];
            let products = Products::default();
            let detached = x.clone().detach();
            let known = fused::linear(detached, weight.clone(), vector(&bias), None, &products);
            known.clone() * 2.0 + fused::linear_again(known, x, weight, &products)
        };
        let twice = |x: &[Tensor<2>]| {
            let [x, weight, bias] = [x[0].clone(), x[1].clone(), x[2].clone()];
            let project = |x| plain::linear(x, weight.clone(), vector(&bias), None, ProductPrecision::F32);
            project(x.clone().detach()) * 2.0 + project(x)
        };
        compare(&[[rows, inputs], [inputs, outputs], [1, outputs]], again, twice);
    }

    #[test]
    fn residual_norms(rows in 0usize..20, width in 2usize..70, dropped: bool) {
        let input = |x: &[Tensor<2>]| ResidualNorm {
            residual: x[0].clone(),
            update: x[1].clone(),
            dropout: if dropped { Dropout::new(0.3, 7).next_mask(Part::Base) } else { None },
            norm: Norm { gain: vector(&x[2]), bias: vector(&x[3]), epsilon: 1e-5 },
        };
        compare(
            &[[rows, width], [rows, width], [1, width], [1, width]],
            |x| fused::residual_norm(input(x)),
            |x| plain::residual_norm(input(x)),
        );
    }

    #[test]
    // In a row of two or three channels a tiny variance magnifies rounding errors of the gradient.
    fn norms(rows in 1usize..20, width in 16usize..70) {
        let norm = |x: &[Tensor<2>]| {
            let (gain, bias) = (vector(&x[1]), vector(&x[2]));
            (x[0].clone(), Norm { gain, bias, epsilon: 1e-6 })
        };
        let shapes = [[rows, width], [1, width], [1, width]];
        let fused = |x: &[Tensor<2>]| { let (x, norm) = norm(x); fused::norm(x, norm) };
        let plain = |x: &[Tensor<2>]| { let (x, norm) = norm(x); plain::norm(x, norm) };
        compare(&shapes, fused, plain);
    }

    #[test]
    fn recurrences(lengths in prop::collection::vec(0usize..9, 1..7), width in 1usize..20) {
        let segments = Segments::from_lengths(lengths);
        prop_assume!(segments.rows() > 0);
        compare(
            &[[segments.rows(), width], [segments.rows(), width]],
            |x| fused::recurrence(x[0].clone(), x[1].clone(), &segments),
            |x| plain::recurrence(x[0].clone(), x[1].clone(), &segments),
        );
    }

    #[test]
    fn losses(
        words in 1usize..600, width in 1usize..12, vocabulary in 2usize..40, smoothed: bool, biased: bool,
    ) {
        let smoothing = if smoothed { 0.1 } else { 0.0 };
        let targets: Vec<u32> =
            (0..words as u64).map(|i| (random::value(3, i) % vocabulary as u64) as u32).collect();
        let projection = |x: &[Tensor<2>]| {
            let (weight, bias) = (x[1].clone(), biased.then(|| vector(&x[2])));
            Projection { weight, bias, products: Products::default() }
        };
        compare(
            &[[words, width], [vocabulary, width], [1, vocabulary]],
            |x| fused::projected_loss(x[0].clone(), projection(x), &targets, smoothing).smoothed.reshape([1, 1]),
            |x| plain::projected_loss(x[0].clone(), projection(x), &targets, smoothing).smoothed.reshape([1, 1]),
        );
    }

    #[test]
    fn log_probabilities(
        words in 1usize..600, vocabulary in 2usize..40, width in 1usize..20, biased: bool,
    ) {
        let targets: Vec<u32> =
            (0..words as u64).map(|i| (random::value(3, i) % vocabulary as u64) as u32).collect();
        let (states, weight) = (numbers(0, [words, width]), numbers(1, [vocabulary, width]));
        let bias = biased.then(|| numbers(2, [vocabulary]));
        let projection = Projection { weight, bias, products: Products::default() };
        let fused =
            fused::projected_log_probabilities(states.clone(), projection.clone(), &targets);
        let plain = plain::projected_log_probabilities(states, projection, &targets);
        assert_close("value", &fused, &plain);
    }

    #[test]
    fn normalised_scores(
        lengths in prop::collection::vec(0usize..9, 1..7), groups in 1usize..12,
        softmax: bool, in_segments: bool,
    ) {
        let normaliser = if softmax { Normaliser::Softmax } else { Normaliser::Sparsemax };
        let segments = Segments::from_lengths(lengths);
        // Without rows the plain version has nothing to pad with.
        prop_assume!(segments.rows() > 0);
        let within = in_segments.then_some(&segments);
        compare(
            &[[segments.rows(), groups]],
            |x| fused::normalise(x[0].clone(), within, normaliser),
            |x| match within {
                Some(segments) => plain::normalise_segments(x[0].clone(), segments, normaliser),
                None => plain::normalise_rows(x[0].clone(), normaliser),
            },
        );
    }

    #[test]
    fn sums_over_segments(
        lengths in prop::collection::vec(0usize..9, 1..7), width in 1usize..20, sums in 1usize..9,
    ) {
        let segments = Segments::from_lengths(lengths);
        prop_assume!(segments.rows() > 0);
        compare(
            &[[segments.rows(), width], [segments.rows(), sums]],
            |x| fused::weighted_sums(x[0].clone(), x[1].clone(), &segments, &Products::default()),
            |x| plain::weighted_sums(x[0].clone(), x[1].clone(), &segments),
        );
    }

    #[test]
    fn self_attention(
        lengths in prop::collection::vec(0usize..9, 1..7), heads in 1usize..4, causal: bool,
    ) {
        let segments = Segments::from_lengths(lengths);
        let layout = if causal { AttentionLayout::causal(&segments) } else { AttentionLayout::within(&segments) };
        attend(&layout, segments.rows(), 0, heads);
    }

    #[test]
    fn attention_over_a_memory(
        queries in prop::collection::vec(0usize..9, 1..7),
        entries in prop::collection::vec(0usize..6, 1..6),
        key: u64, heads in 1usize..4,
    ) {
        let segments = Segments::from_lengths(queries);
        let entries = Segments::from_lengths(entries);
        let slots = 3;
        // Up to three entries each, the same one perhaps twice, in slots or not, or none at all.
        let draw = |counter: u64, limit: usize| (random::value(key, counter) % limit as u64) as usize;
        let seen = (0..segments.len() as u64).map(|segment| {
            let count = draw(10 * segment, 4);
            let block = |i: usize| {
                let place = 10 * segment + 1 + 3 * i as u64;
                Block {
                    rows: entries.range(draw(place, entries.len())),
                    slot: (draw(place + 1, 3) > 0).then(|| draw(place + 2, slots)),
                }
            };
            (0..count).map(block).collect()
        });
        let layout = AttentionLayout::new(&segments, seen.collect());
        attend(&layout, entries.rows(), slots, heads);
    }
}

/// Too long to be compared in pairs.
#[test]
fn normalised_scores_of_long_segments() {
    let segments = Segments::from_lengths([3, 300, 17]);
    compare(
        &[[segments.rows(), 2]],
        |x| fused::normalise(x[0].clone(), Some(&segments), Normaliser::Sparsemax),
        |x| plain::normalise_segments(x[0].clone(), &segments, Normaliser::Sparsemax),
    );
}

/// Large enough that the fused product rounds, too. It adds up in `f32`, while the engine's result is
/// rounded once more: by 2^-9 of each value at most.
#[test]
fn rounded_products() {
    let [x, weight] = [numbers::<2>(0, [128, 160]).inner(), numbers(1, [160, 96]).inner()];
    let bias = Tensor::zeros([96], &Device::flex());
    let bf16 = ProductPrecision::Bf16;
    let fused =
        fused::linear(x.clone(), weight.clone(), bias.clone(), None, &Products::of_precision(bf16));
    let plain = plain::linear(x.clone(), weight.clone(), bias.clone(), None, bf16);
    let exact = plain::linear(x, weight, bias, None, ProductPrecision::F32);
    let [fused, plain, exact] = [fused, plain, exact].map(values);
    let mut rounded = 0;
    for (i, (plain, fused)) in plain.iter().zip(&fused).enumerate() {
        assert!((plain - fused).abs() <= fused.abs() / 200.0 + 1e-4, "{i}: {plain} for {fused}");
        rounded += usize::from(plain.to_bits() != exact[i].to_bits());
    }
    assert!(rounded > plain.len() / 2, "{rounded} of {}", plain.len());
}

#[test]
fn updates_of_adam() {
    let tensor = |key| numbers(key, [7, 3000]).inner();
    let flat = |key| tensor(key).reshape([21_000]);
    let state = || AdamState { mean: flat(1), square: flat(2).abs() };
    let rates = AdamRates {
        beta_1: 0.9,
        beta_2: 0.98,
        epsilon: 1e-8,
        step: 0.01,
        shrink: 0.999,
        scale: 0.5,
    };
    // The parameter is shared: it must not change for its other owner.
    let held = tensor(0);
    let (ours, our_state) = fused::adam(held.clone(), state(), flat(3), rates);
    let (theirs, their_state) = plain::adam(tensor(0), state(), flat(3), rates);
    assert_close("parameter", &values(ours), &values(theirs));
    assert_close("mean", &values(our_state.mean), &values(their_state.mean));
    assert_close("square", &values(our_state.square), &values(their_state.square));
    assert_eq!(values(held), values(tensor(0)));
    let sum: f64 = values(flat(3)).iter().map(|&value| f64::from(value).powi(2)).sum();
    assert!((fused::square_sum(flat(3)) / sum - 1.0).abs() < 1e-5);
}

fn attend(layout: &AttentionLayout, keys: usize, slots: usize, heads: usize) {
    let width = 5 * heads;
    let queries = layout.queries().rows();
    if keys == 0 || queries == 0 {
        return;
    }
    let shift_rows = slots.max(1);
    let shapes = [queries, keys, keys, shift_rows, shift_rows].map(|rows| [rows, width]);
    let weighed = |x: &[Tensor<2>], attention: fn(AttentionInput<'_>) -> Weighed| {
        let keys = KeyValue { key: x[1].clone(), value: x[2].clone() };
        let shifts = (slots > 0).then(|| KeyValue { key: x[3].clone(), value: x[4].clone() });
        let query = x[0].clone();
        let (keys, shifts, products) = (&keys, shifts.as_ref(), &Products::default());
        attention(AttentionInput { query, keys, shifts, layout, heads, products })
    };
    compare(
        &shapes,
        |x| weighed(x, fused::weighed_attention).rows,
        |x| weighed(x, plain::weighed_attention).rows,
    );
    let inputs: Vec<Tensor<2>> =
        shapes.iter().enumerate().map(|(key, &shape)| numbers(key as u64, shape)).collect();
    let ours = weighed(&inputs, fused::weighed_attention).weights;
    let theirs = weighed(&inputs, plain::weighed_attention).weights;
    for (segment, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        let seen: usize = layout.keys()[segment].iter().map(|block| block.rows.len()).sum();
        assert_eq!(ours.len(), layout.queries().length(segment));
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert_eq!(ours.len(), seen);
            assert_close("weights", ours, theirs);
        }
    }
}
