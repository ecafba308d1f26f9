//! The weights of a COMET model by their names in the checkpoint, validated before they are read.

use std::path::Path;

use abridge_model::ops::{self, Products};
use abridge_model::weights::TensorFile;
use abridge_model::{Error, Result};
use burn::tensor::{Device, Tensor, TensorData};

use super::hparams::{Layer, broken};

/// The sizes of a network, taken from its weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The vocabulary size.
    pub vocabulary: usize,
    /// The width of a state.
    pub width: usize,
    /// Rows of the position table.
    pub positions: usize,
    /// Layers of the encoder.
    pub layers: usize,
    /// Hidden channels of a layer.
    pub feed_forward: usize,
    /// Hidden channels of the estimator, layer by layer.
    pub estimator: Vec<usize>,
}

/// `x W + b`.
#[derive(Clone, Debug)]
pub struct Linear {
    weight: Tensor<2>,
    bias: Tensor<1>,
}

impl Linear {
    /// # Shapes
    /// - x: `[rows, inputs]`
    /// - result: `[rows, outputs]`
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        ops::linear(x, self.weight.clone(), self.bias.clone(), None, &Products::default())
    }
}

/// Gain and bias of a layer normalisation.
#[derive(Clone, Debug)]
pub struct Norm {
    gain: Tensor<1>,
    bias: Tensor<1>,
}

impl Norm {
    /// `LayerNorm(residual + update)`
    ///
    /// # Shapes
    /// - residual, update and result: `[rows, width]`
    pub fn forward(&self, residual: Tensor<2>, update: Tensor<2>) -> Tensor<2> {
        abridge_model::ops::residual_norm(abridge_model::ops::ResidualNorm {
            residual,
            update,
            dropout: None,
            norm: ops::Norm { gain: self.gain.clone(), bias: self.bias.clone(), epsilon: 1e-5 },
        })
    }
}

/// A file of weights whose names and shapes are those of a COMET model.
#[derive(Debug)]
pub struct Weights<'a> {
    file: TensorFile,
    device: &'a Device,
    /// The sizes.
    pub sizes: Sizes,
}

const EMBEDDINGS: &str = "encoder.model.embeddings";
/// Two are reserved before the first word, and an input has a start and an end.
const FEWEST_POSITIONS: usize = 6;
const LAYERS: &str = "encoder.model.encoder.layer";

impl<'a> Weights<'a> {
    /// Opens a file and checks the names and shapes of all weights that are used.
    pub fn open(path: &Path, layer: Layer, device: &'a Device) -> Result<Self> {
        let file = TensorFile::open(path)?;
        let sizes = Sizes::of(&file)?;
        let mut problems = Vec::new();
        for (name, wanted) in sizes.shapes(layer) {
            match file.shape(&name) {
                None => problems.push(format!("tensor {name} {wanted:?} is missing")),
                Some(shape) if shape != wanted => problems
                    .push(format!("tensor {name} has shape {shape:?}, but needs {wanted:?}")),
                Some(_) => {}
            }
        }
        match problems.first() {
            None => Ok(Self { file, device, sizes }),
            Some(first) if problems.len() == 1 => Err(broken(path, first.clone())),
            Some(first) => {
                Err(broken(path, format!("{first}; and {} more like it", problems.len() - 1)))
            }
        }
    }

    /// The tables of words and positions, and the normalisation; the token type is already added.
    pub fn embeddings(&self) -> Result<(Tensor<2>, Tensor<2>, Norm)> {
        let words = self.tensor(&format!("{EMBEDDINGS}.word_embeddings.weight"))?;
        let positions: Tensor<2> =
            self.tensor(&format!("{EMBEDDINGS}.position_embeddings.weight"))?;
        let kind: Tensor<2> = self.tensor(&format!("{EMBEDDINGS}.token_type_embeddings.weight"))?;
        Ok((words, positions + kind, self.norm(&format!("{EMBEDDINGS}.LayerNorm"))?))
    }

    /// A linear layer of an encoder layer.
    pub fn layer_linear(&self, layer: usize, name: &str) -> Result<Linear> {
        self.linear(&format!("{LAYERS}.{layer}.{name}"))
    }

    /// A normalisation of an encoder layer.
    pub fn layer_norm(&self, layer: usize, name: &str) -> Result<Norm> {
        self.norm(&format!("{LAYERS}.{layer}.{name}"))
    }

    /// The scalars of the layers, `[1, layers + 1]`, and the scale of their mixture.
    pub fn mixture(&self) -> Result<(Tensor<2>, f64)> {
        let mut scalars = Vec::new();
        for layer in 0..=self.sizes.layers {
            let name = format!("layerwise_attention.scalar_parameters.{layer}");
            scalars.extend(self.file.read(&name)?);
        }
        let gamma = self.file.read("layerwise_attention.gamma")?;
        let shape = [1, scalars.len()];
        let scalars = Tensor::from_data(TensorData::new(scalars, shape), self.device);
        Ok((scalars, f64::from(gamma[0])))
    }

    /// The layers of the estimator.
    pub fn estimator(&self) -> Result<Vec<Linear>> {
        let layers = 0..=self.sizes.estimator.len();
        layers.map(|layer| self.linear(&estimator_layer(layer))).collect()
    }

    fn linear(&self, name: &str) -> Result<Linear> {
        let stored: Tensor<2> = self.tensor(&format!("{name}.weight"))?;
        // Copied into the order in which matrix products read it.
        let [outputs, inputs] = stored.dims();
        let data: Vec<f32> = stored.transpose().into_data().iter::<f32>().collect();
        let weight = Tensor::from_data(TensorData::new(data, [inputs, outputs]), self.device);
        Ok(Linear { weight, bias: self.tensor(&format!("{name}.bias"))? })
    }

    fn norm(&self, name: &str) -> Result<Norm> {
        let gain = self.tensor(&format!("{name}.weight"))?;
        Ok(Norm { gain, bias: self.tensor(&format!("{name}.bias"))? })
    }

    fn tensor<const D: usize>(&self, name: &str) -> Result<Tensor<D>> {
        let shape = self.file.shape(name).unwrap_or_default().to_vec();
        let data = TensorData::new(self.file.read(name)?, shape);
        Ok(Tensor::from_data(data, self.device))
    }
}

/// In the checkpoint, a linear layer, its activation and its dropout count as three layers.
fn estimator_layer(layer: usize) -> String {
    format!("estimator.ff.{}", 3 * layer)
}

impl Sizes {
    fn of(file: &TensorFile) -> Result<Self> {
        let matrix = |name: &str| match file.shape(name) {
            Some(&[rows, columns]) => Ok((rows, columns)),
            _ => Err(not_comet(file.path(), name)),
        };
        let (vocabulary, width) = matrix(&format!("{EMBEDDINGS}.word_embeddings.weight"))?;
        let (positions, _) = matrix(&format!("{EMBEDDINGS}.position_embeddings.weight"))?;
        let (feed_forward, _) = matrix(&format!("{LAYERS}.0.intermediate.dense.weight"))?;
        let mut layers = 0;
        while file.shape(&format!("{LAYERS}.{layers}.output.dense.weight")).is_some() {
            layers += 1;
        }
        let mut estimator = Vec::new();
        loop {
            let (outputs, _) = matrix(&format!("{}.weight", estimator_layer(estimator.len())))?;
            if outputs == 1 {
                break;
            }
            estimator.push(outputs);
        }
        if width == 0 || positions < FEWEST_POSITIONS {
            let problem = format!("no encoder has a width of {width} and {positions} positions");
            return Err(broken(file.path(), problem));
        }
        Ok(Self { vocabulary, width, positions, layers, feed_forward, estimator })
    }

    /// Names and shapes of all weights that are used.
    fn shapes(&self, layer: Layer) -> Vec<(String, Vec<usize>)> {
        let Self { width, feed_forward, .. } = *self;
        let mut shapes = vec![
            (format!("{EMBEDDINGS}.word_embeddings.weight"), vec![self.vocabulary, width]),
            (format!("{EMBEDDINGS}.position_embeddings.weight"), vec![self.positions, width]),
            (format!("{EMBEDDINGS}.token_type_embeddings.weight"), vec![1, width]),
            (format!("{EMBEDDINGS}.LayerNorm.weight"), vec![width]),
            (format!("{EMBEDDINGS}.LayerNorm.bias"), vec![width]),
        ];
        for layer in 0..self.layers {
            for (name, outputs, inputs) in [
                ("attention.self.query", width, width),
                ("attention.self.key", width, width),
                ("attention.self.value", width, width),
                ("attention.output.dense", width, width),
                ("intermediate.dense", feed_forward, width),
                ("output.dense", width, feed_forward),
            ] {
                shapes.push((format!("{LAYERS}.{layer}.{name}.weight"), vec![outputs, inputs]));
                shapes.push((format!("{LAYERS}.{layer}.{name}.bias"), vec![outputs]));
            }
            for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
                shapes.push((format!("{LAYERS}.{layer}.{name}.weight"), vec![width]));
                shapes.push((format!("{LAYERS}.{layer}.{name}.bias"), vec![width]));
            }
        }
        if let Layer::Mix { .. } = layer {
            for layer in 0..=self.layers {
                shapes.push((format!("layerwise_attention.scalar_parameters.{layer}"), vec![1]));
            }
            shapes.push(("layerwise_attention.gamma".to_owned(), vec![1]));
        }
        let mut inputs = 6 * width;
        for (layer, &outputs) in self.estimator.iter().chain(&[1]).enumerate() {
            shapes.push((format!("{}.weight", estimator_layer(layer)), vec![outputs, inputs]));
            shapes.push((format!("{}.bias", estimator_layer(layer)), vec![outputs]));
            inputs = outputs;
        }
        shapes
    }
}

fn not_comet(file: &Path, name: &str) -> Error {
    broken(file, format!("no matrix {name}; give a COMET model such as wmt22-comet-da"))
}
