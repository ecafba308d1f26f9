//! One update: the gradients of several micro-batches, computed by several workers.

use abridge_base::Workers;
use abridge_machine::allocator::keep_freed_memory;
use abridge_model::device::{guarded, is_cpu};
use abridge_model::ops::{ProductPrecision, Products};
use abridge_model::{Batch, Dropout, Model, random};
use burn::tensor::{Device, Tensor};

use crate::gradients::Gradients;
use crate::ranks::Ranks;
use crate::recipe::Trained;
use crate::{Error, Result};

/// The sums over the micro-batches of an update.
#[derive(Clone, Debug)]
pub struct Accumulated {
    /// The gradient of the loss per target token.
    pub gradients: Gradients,
    /// The label-smoothed loss, summed over target tokens.
    pub loss: f64,
    /// The negative log-likelihood, summed over target tokens.
    pub likelihood: f64,
    /// Target tokens.
    pub tokens: usize,
}

/// Computes the gradients of several micro-batches at once.
///
/// Gradients are summed in the order of the micro-batches, so the number of workers changes only
/// rounding inside the engine.
#[derive(Debug)]
pub struct GradientWorkers {
    workers: Workers,
}

/// The settings of one update.
#[derive(Clone, Copy, Debug)]
pub struct UpdateSettings {
    /// The probability mass that label smoothing takes from the true token.
    pub smoothing: f64,
    /// The dropout rate.
    pub dropout: f64,
    /// Which parameters are trained: a frozen network runs without dropout.
    pub train: Trained,
    /// The seed of the run.
    pub seed: u64,
    /// The number of the update, from 1.
    pub update: u64,
    /// The precision of matrix products.
    pub precision: ProductPrecision,
    /// What the loss is multiplied by while gradients are computed ([`LossScale`](crate::LossScale)): 1
    /// unless products have little range. Gradients are divided by it again.
    pub loss_scale: f64,
}

impl GradientWorkers {
    /// Starts `count` workers. By default there is one per core, because an operation on the CPU uses
    /// one thread, and one on another device, which is busy with one micro-batch.
    pub fn new(count: Option<usize>, device: &Device) -> Result<Self> {
        keep_freed_memory();
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let count = count.unwrap_or_else(|| if is_cpu(device) { cores() } else { 1 });
        Ok(Self { workers: Workers::new(count, "worker")? })
    }

    /// The number of workers.
    pub fn count(&self) -> usize {
        self.workers.count()
    }

    /// The gradient of the mean loss per token over all micro-batches.
    pub fn accumulate(
        &self,
        model: &Model,
        batches: &[Batch],
        settings: UpdateSettings,
    ) -> Result<Accumulated> {
        if batches.is_empty() {
            return Err(Error::EmptyUpdate);
        }
        let placed: Vec<(usize, &Batch)> = batches.iter().enumerate().collect();
        let mut sum = self.sum(model, &placed, settings)?;
        sum.gradients.scale(1.0 / sum.tokens as f64);
        Ok(sum)
    }

    /// The gradient of the summed loss over some micro-batches of an update, each with its index
    /// in the update; zeros if there are none.
    pub fn sum(
        &self,
        model: &Model,
        batches: &[(usize, &Batch)],
        settings: UpdateSettings,
    ) -> Result<Accumulated> {
        let device = model.device();
        guarded(&device, || self.sum_on(&device, model, batches, settings))?
    }

    fn sum_on(
        &self,
        device: &Device,
        model: &Model,
        batches: &[(usize, &Batch)],
        settings: UpdateSettings,
    ) -> Result<Accumulated> {
        let model = model.with_products(&Products::of_precision(settings.precision));
        let mut sum: Option<Gradients> = None;
        let (mut losses, mut likelihoods, mut tokens) = (Vec::new(), Vec::new(), 0);
        // As many at a time as there are workers, so that no more gradients are held in memory.
        for chunk in batches.chunks(self.count()) {
            let parts = self.workers.run(chunk.to_vec(), |(place, batch)| {
                guarded(device, || one(&model, batch, place, settings))?
            })?;
            for part in parts {
                losses.push(part.loss);
                likelihoods.push(part.likelihood);
                tokens += part.tokens;
                match &mut sum {
                    None => sum = Some(part.gradients),
                    Some(sum) => sum.add(part.gradients),
                }
            }
        }
        let mut gradients = sum.unwrap_or_else(|| Gradients::zeros(&model));
        gradients.scale(1.0 / settings.loss_scale);
        let count = losses.len();
        let read = gradients.read_along([losses, likelihoods].concat())?;
        let (losses, likelihoods) = read.split_at(count);
        let (loss, likelihood) = (losses.iter().sum(), likelihoods.iter().sum());
        Ok(Accumulated { gradients, loss, likelihood, tokens })
    }
}

impl Accumulated {
    /// Adds the sums of the other ranks.
    pub fn sum_over(&mut self, ranks: &dyn Ranks) -> Result<()> {
        if ranks.count() == 1 {
            return Ok(());
        }
        self.gradients.sum_over(ranks)?;
        let mut sums = [self.loss, self.likelihood, self.tokens as f64];
        ranks.sum_wide(&mut sums);
        [self.loss, self.likelihood] = [sums[0], sums[1]];
        self.tokens = sums[2] as usize;
        Ok(())
    }
}

/// What one micro-batch contributes; its losses, `[1]` each, are still on the device.
struct Contribution {
    gradients: Gradients,
    loss: Tensor<1>,
    likelihood: Tensor<1>,
    tokens: usize,
}

fn one(
    model: &Model,
    batch: &Batch,
    place: usize,
    settings: UpdateSettings,
) -> Result<Contribution> {
    let key = random::key(&[settings.seed, settings.update, place as u64]);
    let mut dropout = Dropout::new(settings.dropout, key);
    if settings.train == Trained::Context {
        dropout = dropout.only_of_context();
    }
    let model = model.with_own_leaves();
    let loss = model.loss(batch, settings.smoothing, &mut dropout)?;
    let scaled = loss.smoothed.clone() * settings.loss_scale;
    let gradients = Gradients::of(&model, &scaled.backward());
    Ok(Contribution {
        gradients,
        loss: loss.smoothed.without_autodiff(),
        likelihood: loss.likelihood.without_autodiff(),
        tokens: loss.tokens,
    })
}
