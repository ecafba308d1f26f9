//! Embeddings of tokens and positions.

use std::sync::{Arc, Mutex, PoisonError};

use burn::module::{Module, Param};
use burn::tensor::{Device, Float, Tensor};

use crate::ModelConfig;
use crate::addition::Part;
use crate::config::Positions;
use crate::dropout::Dropout;
use crate::init::{Init, Values};
use crate::ops::kernels::weight_matrix::WeightMatrix;
use crate::ops::{indices, upload};
use crate::packed::Packed;
use crate::tokens::PAD;

/// Token embeddings, scaled, plus sinusoidal positions.
#[derive(Module, Debug)]
pub struct TokenEmbedding {
    /// `[vocabulary, width]`
    pub weight: Param<Tensor<2>>,
    scale: f64,
    #[module(skip)]
    positions: Positions,
    /// The same table, packed for translation as a projection: its columns are the rows here.
    #[module(skip)]
    pub(crate) packed: Option<Arc<WeightMatrix>>,
}

impl TokenEmbedding {
    pub(crate) fn new(vocabulary: usize, config: &ModelConfig, init: &mut Init<'_>) -> Self {
        let values = Values::NormalExceptRow((config.width as f64).powf(-0.5), PAD as usize);
        Self {
            weight: init.parameter([vocabulary, config.width], values),
            scale: config.embedding_factor(),
            positions: config.positions,
            packed: None,
        }
    }

    /// Embeds whole sequences, each from its first position.
    ///
    /// # Shapes
    /// - result: `[tokens, width]`
    pub fn forward(&self, sequences: &Packed, dropout: &mut Dropout) -> Tensor<2> {
        let places = sequences.segments().lengths().flat_map(|length| 0..length);
        self.embed(sequences.tokens().iter().copied().map(Some), places.collect(), dropout)
    }

    /// Embeds tokens at their positions; a missing token is a zero vector.
    ///
    /// # Shapes
    /// - result: `[tokens, width]`
    pub(crate) fn embed(
        &self,
        tokens: impl Iterator<Item = Option<u32>>,
        places: Vec<usize>,
        dropout: &mut Dropout,
    ) -> Tensor<2> {
        let device = self.weight.lazy_device();
        let [_, width] = self.weight.lazy_shape().dims();
        let tokens: Vec<Option<u32>> = tokens.collect();
        let rows = tokens.iter().map(|token| token.unwrap_or(PAD) as usize);
        let furthest = places.iter().copied().max().unwrap_or(0);
        let embeddings = if let Some(packed) = &self.packed {
            let mut values = Vec::with_capacity(tokens.len() * width);
            rows.for_each(|row| packed.append_column(row, &mut values));
            upload(values, [tokens.len(), width], &device)
        } else {
            self.weight.val().select(0, indices(rows, &device))
        };
        let mut embedded = embeddings * self.scale;
        if tokens.contains(&None) {
            let there: Vec<f32> = tokens.iter().map(|t| f32::from(t.is_some())).collect();
            embedded = embedded * upload::<2, Float, _>(there, [tokens.len(), 1], &device);
        }
        let table = position_table(self.positions, furthest + 1, width, &device);
        let places = indices(places, &table.device());
        let embedded = embedded + table.select(0, places);
        match dropout.next_mask(Part::Base) {
            Some(mask) => mask.apply(embedded),
            None => embedded,
        }
    }
}

/// The vectors of at least the first `places` positions, as a constant on this device.
///
/// A device gets a table once; a longer one replaces it.
///
/// # Shapes
/// - result: `[places or more, width]`
fn position_table(positions: Positions, places: usize, width: usize, device: &Device) -> Tensor<2> {
    /// No sentence is longer than a few hundred tokens; a table for one that is need not stay.
    const MOST_KEPT: usize = 4096;
    static TABLES: Mutex<Vec<(Positions, Device, Tensor<2>)>> = Mutex::new(Vec::new());
    let device = device.clone().without_autodiff();
    let make = |places| upload(positions.table(places, width), [places, width], &device);
    if places > MOST_KEPT {
        return make(places);
    }
    // Nothing is half done if a thread panics while it holds the lock.
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    let is_ours = |(of, on, table): &(Positions, Device, Tensor<2>)| {
        *of == positions && *on == device && table.dims()[1] == width
    };
    let found = tables.iter().position(is_ours);
    if let Some(found) = found {
        let (_, _, table) = &tables[found];
        if table.dims()[0] >= places {
            return table.clone();
        }
        tables.swap_remove(found);
    }
    let table = make(places.next_power_of_two().max(64));
    tables.push((positions, device.clone(), table.clone()));
    table
}

/// A learned vector per position; position `i` has row `i + 1`, and row 0 is never used.
#[derive(Module, Debug)]
pub struct LearnedPositions {
    /// `[places + 1, width]`
    pub weight: Param<Tensor<2>>,
}

impl LearnedPositions {
    pub(crate) fn new(places: usize, width: usize, init: &mut Init<'_>) -> Self {
        let values = Values::NormalExceptRow((width as f64).powf(-0.5), 0);
        Self { weight: init.parameter([places + 1, width], values) }
    }

    /// The vectors of the given positions.
    ///
    /// # Shapes
    /// - result: `[places, width]`
    pub fn forward(&self, places: impl IntoIterator<Item = usize>) -> Tensor<2> {
        let weight = self.weight.val();
        let rows = indices(places.into_iter().map(|place| place + 1), &weight.device());
        weight.select(0, rows)
    }
}
