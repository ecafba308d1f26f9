//! Adam with decoupled weight decay, as in the published recipe.

use abridge_model::ops::{self, AdamRates, AdamState};
use abridge_model::weights::{NamedTensors, Parameter, TensorFile};
use abridge_model::{Model, Part};
use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::gradients::{Gradients, learning, learns};

/// The settings of the optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamConfig {
    /// The decay rate of the running mean of the gradients.
    pub beta_1: f64,
    /// The decay rate of the running mean of their squares.
    pub beta_2: f64,
    /// Avoids division by zero.
    pub epsilon: f64,
    /// Each update shrinks every parameter by this times the learning rate.
    pub weight_decay: f64,
}

impl Default for AdamConfig {
    /// The paper's.
    fn default() -> Self {
        Self { beta_1: 0.9, beta_2: 0.98, epsilon: 1e-8, weight_decay: 1e-4 }
    }
}

/// Adam and its running means.
#[derive(Clone, Debug)]
pub struct Adam {
    config: AdamConfig,
    updates: u64,
    /// Mean gradient and mean square per trainable parameter, flat, in the order of the network.
    moments: Vec<AdamState>,
    /// The factor on the learning rate for parameters of the sentence-level network.
    base_rate: f64,
}

impl Adam {
    /// An optimiser before its first update.
    pub fn new(config: AdamConfig) -> Self {
        Self { config, updates: 0, moments: Vec::new(), base_rate: 1.0 }
    }

    /// Scales the learning rate of the parameters of the sentence-level network below a memory.
    #[must_use]
    pub fn with_base_rate(self, factor: f64) -> Self {
        Self { base_rate: factor, ..self }
    }

    /// How many updates it has made.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// The running means by parameter name, for a checkpoint.
    pub fn state(&self, model: &Model) -> abridge_model::Result<NamedTensors> {
        let mut tensors = NamedTensors::new();
        for (parameter, state) in learning(model).iter().zip(&self.moments) {
            for (what, moment) in [("mean", &state.mean), ("square", &state.square)] {
                let values = ops::read(moment.clone())?;
                tensors.insert(format!("{what}.{}", parameter.name), (vec![values.len()], values));
            }
        }
        Ok(tensors)
    }

    /// An optimiser that continues from saved running means.
    pub fn restore(
        config: AdamConfig,
        updates: u64,
        model: &Model,
        file: &TensorFile,
    ) -> abridge_model::Result<Self> {
        let device = model.device().without_autodiff();
        let read = |what: &str, parameter: &Parameter| {
            let values = file.read(&format!("{what}.{}", parameter.name))?;
            let expected: usize = parameter.shape.iter().product();
            if values.len() != expected {
                return Err(abridge_model::Error::Weights {
                    file: file.path().to_path_buf(),
                    problem: format!(
                        "{what}.{} has {} values, but the parameter has {expected}",
                        parameter.name,
                        values.len()
                    ),
                });
            }
            Ok(ops::upload(values, [expected], &device))
        };
        let moments = learning(model)
            .iter()
            .map(|parameter| {
                Ok(AdamState { mean: read("mean", parameter)?, square: read("square", parameter)? })
            })
            .collect::<abridge_model::Result<_>>()?;
        Ok(Self { config, updates, moments, base_rate: 1.0 })
    }

    /// Updates the parameters.
    ///
    /// First every parameter shrinks by `rate * weight_decay` of itself: the decay is decoupled from
    /// the gradient, and also applies to biases and norms. Then `m / (sqrt(v) + epsilon)` is
    /// subtracted, times the step size `rate * sqrt(1 - beta_2^t) / (1 - beta_1^t)`.
    #[must_use]
    pub fn step(&mut self, model: Model, gradients: Gradients, rate: f64) -> Model {
        self.updates += 1;
        let AdamConfig { beta_1, beta_2, epsilon, weight_decay } = self.config;
        let (gradients, scale) = gradients.into_parts();
        if self.moments.is_empty() {
            let zeros =
                |part: &Tensor<1>| AdamState { mean: part.zeros_like(), square: part.zeros_like() };
            self.moments = gradients.iter().map(zeros).collect();
        }
        let time = self.updates.min(i32::MAX as u64) as i32;
        let (warm_mean, warm_square) = (1.0 - beta_1.powi(time), 1.0 - beta_2.powi(time));
        let rates_at = |rate: f64| AdamRates {
            beta_1: beta_1 as f32,
            beta_2: beta_2 as f32,
            epsilon: epsilon as f32,
            step: (rate * warm_square.sqrt() / warm_mean) as f32,
            shrink: (1.0 - rate * weight_decay) as f32,
            scale: scale as f32,
        };
        let moments = std::mem::take(&mut self.moments).into_iter();
        let mut moving = Move {
            gradients: gradients.into_iter().zip(moments),
            moved: Vec::new(),
            parameters: model.parameters().into_iter(),
            context: rates_at(rate),
            base: rates_at(rate * self.base_rate),
        };
        let model = model.map(&mut moving);
        self.moments = moving.moved;
        model
    }
}

/// Visits every parameter with its gradient and its running means.
struct Move<I> {
    gradients: I,
    moved: Vec<AdamState>,
    parameters: std::vec::IntoIter<Parameter>,
    context: AdamRates,
    base: AdamRates,
}

impl<I: Iterator<Item = (Tensor<1>, AdamState)>> ModuleMapper for Move<I> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let part = self.parameters.next().expect("every parameter is listed").part;
        let rates = if part == Part::Base { self.base } else { self.context };
        param.map(|value| {
            if !learns(&value) {
                return value;
            }
            let (gradient, state) = self.gradients.next().expect("as many gradients as parameters");
            let is_trained = value.is_autodiff();
            let (moved, state) = ops::adam(value.inner(), state, gradient, rates);
            self.moved.push(state);
            if is_trained { Tensor::from_inner(moved).require_grad() } else { moved }
        })
    }
}
