//! Reading and writing weights.
//!
//! A weight's name in a file is its path in the network, for instance
//! `decoder.layers.0.cross_attention.query.weight`. Names and shapes are checked against the
//! configuration before anything is allocated.

mod below;
mod directory;
mod fairseq;
mod file;
mod foreign;
mod integers;
mod marian;
mod marian_mt;
mod pickle;
mod precision;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{Device, Shape, Tensor, TensorData};
use safetensors::tensor::TensorView;

pub use directory::ModelDirectory;
pub use fairseq::FairseqCheckpoint;
pub use file::TensorFile;
pub use foreign::{ForeignModel, ForeignRows};
pub(crate) use integers::Integers;
pub use integers::StoredIntegers;
pub use marian::Yaml;
pub use marian_mt::Generation;
pub use precision::WeightPrecision;

use crate::{Error, Model, ModelConfig, Part, Result};

/// A parameter of a network: its name, shape and kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its path in the network.
    pub name: String,
    /// Its sizes, outermost first.
    pub shape: Vec<usize>,
    /// Its kind.
    pub kind: ParameterKind,
    /// The part of the network that holds it.
    pub part: Part,
    /// The id of its gradient and optimiser state.
    pub id: ParamId,
}

/// The kind of a parameter. It follows from the module that holds it, not from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// A table of rows to look up, `[rows, width]`. Where the output projection is tied to it, a
    /// row gives one logit.
    Table,
    /// The weight of a linear layer, `[inputs, outputs]`: a column gives one output.
    Matrix,
    /// A bias or a gain.
    Vector,
}

impl ParameterKind {
    fn new(holder: &str, dimensions: usize) -> Self {
        match (dimensions, holder) {
            (2, "Struct:TokenEmbedding" | "Struct:LearnedPositions") => Self::Table,
            (2, _) => Self::Matrix,
            _ => Self::Vector,
        }
    }
}

impl Model {
    /// All parameters, in the order of the network. This initialises none of them.
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut list = List { path: ModulePath::of(self), parameters: Vec::new() };
        self.visit(&mut list);
        list.parameters
    }

    /// Copies the weights that a file has under the same names, for instance those of a
    /// sentence-level model; the others stay as they are.
    pub fn take_over(self, stored: &TensorFile) -> Result<(Self, TakenOver)> {
        self.take_over_lazily(stored, None)
    }

    /// Like [`Self::take_over`]; with `integers`, matrices of integers are collected there, and
    /// unpacked only if somebody needs their values.
    fn take_over_lazily(
        self,
        stored: &TensorFile,
        integers: Option<&mut StoredIntegers>,
    ) -> Result<(Self, TakenOver)> {
        let mut taken = TakenOver::default();
        let mut wanted = Vec::new();
        for parameter in self.parameters() {
            let name = parameter.name.clone();
            if stored.shape(&name).is_none() {
                taken.new.push(name);
                continue;
            }
            taken.copied.push(name.clone());
            wanted.push(Wanted { stored_name: name, transposed: false, parameter });
        }
        let known = |name: &&str| taken.copied.iter().any(|copied| copied == name);
        taken.unused = stored.names().filter(|name| !known(name)).map(str::to_owned).collect();
        let model = fill(self, stored, wanted, &taken.unused, integers)?;
        Ok((model, taken))
    }

    /// Writes all weights to a safetensors file, which replaces an existing one in one step.
    pub fn save(&self, file: &Path) -> Result<()> {
        self.save_in(WeightPrecision::Single, file)
    }

    /// Like [`Self::save`], in another precision.
    pub fn save_in(&self, precision: WeightPrecision, file: &Path) -> Result<()> {
        self.save_part(None, precision, file)
    }

    /// Like [`Self::save_in`], for all weights or for one part of the network.
    pub fn save_part(
        &self,
        part: Option<Part>,
        precision: WeightPrecision,
        file: &Path,
    ) -> Result<()> {
        let mut collect = Collect { path: ModulePath::of(self), weights: BTreeMap::new() };
        self.visit(&mut collect);
        let is_wanted = |parameter: &Parameter| part.is_none_or(|part| part == parameter.part);
        collect.weights.retain(|_, (parameter, _)| is_wanted(parameter));
        write(file, &precision::encode(collect.weights, precision))
    }
}

/// Which parameters were copied when a network took over the weights of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenOver {
    /// In both.
    pub copied: Vec<String>,
    /// Only in the network.
    pub new: Vec<String>,
    /// Only in the file.
    pub unused: Vec<String>,
}

/// Named tensors: shape and values, row by row.
pub type NamedTensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// Writes tensors to a safetensors file, which replaces an existing one in one step.
pub fn write_tensors(file: &Path, tensors: &NamedTensors) -> Result<()> {
    let single = |(name, (shape, values)): (&String, &(Vec<usize>, Vec<f32>))| {
        precision::single(name.clone(), shape.clone(), values)
    };
    write(file, &tensors.iter().map(single).collect::<Vec<_>>())
}

fn write(file: &Path, tensors: &[precision::Encoded]) -> Result<()> {
    let views = tensors.iter().map(|tensor| {
        let view = TensorView::new(tensor.dtype, tensor.shape.clone(), &tensor.bytes);
        view.map(|view| (tensor.name.as_str(), view)).map_err(|error| broken(file, error))
    });
    let views: Vec<_> = views.collect::<Result<_>>()?;
    let bytes = safetensors::serialize(views, None).map_err(|error| broken(file, error))?;
    Ok(abridge_base::files::replace(file, &bytes)?)
}

impl ModelConfig {
    /// Builds the network with the weights of a file that [`Model::save`] wrote.
    pub fn load(&self, file: &Path, device: &Device) -> Result<Model> {
        self.load_lazily(file, device, None)
    }

    /// Like [`Self::load`]; with `integers`, matrices of integers are collected there, and unpacked
    /// only if somebody needs their values.
    fn load_lazily(
        &self,
        file: &Path,
        device: &Device,
        integers: Option<&mut StoredIntegers>,
    ) -> Result<Model> {
        let model = self.init(0, device)?;
        let stored = TensorFile::open(file)?;
        let wanted = model.parameters().into_iter().map(|parameter| Wanted {
            stored_name: parameter.name.clone(),
            transposed: false,
            parameter,
        });
        fill(model, &stored, wanted.collect(), &[], integers)
    }
}

/// Named tensors that a network can be filled with.
trait Stored {
    /// The file that errors name.
    fn path(&self) -> &Path;

    /// All names.
    fn names(&self) -> Vec<&str>;

    /// The shape of a tensor, if it is there.
    fn shape(&self, name: &str) -> Option<Vec<usize>>;

    /// The values of a tensor, row by row.
    fn read(&self, name: &str) -> Result<Vec<f32>>;

    /// A matrix of integers, without reading it; `None` if the tensor is stored otherwise.
    fn integers(&self, _name: &str) -> Result<Option<Integers>> {
        Ok(None)
    }
}

impl Stored for TensorFile {
    fn path(&self) -> &Path {
        TensorFile::path(self)
    }

    fn names(&self) -> Vec<&str> {
        TensorFile::names(self).collect()
    }

    fn shape(&self, name: &str) -> Option<Vec<usize>> {
        TensorFile::shape(self, name).map(<[usize]>::to_vec)
    }

    fn read(&self, name: &str) -> Result<Vec<f32>> {
        TensorFile::read(self, name)
    }

    fn integers(&self, name: &str) -> Result<Option<Integers>> {
        TensorFile::integers(self, name)
    }
}

/// Which stored tensor a parameter takes.
struct Wanted {
    parameter: Parameter,
    stored_name: String,
    /// Whether the file stores it transposed.
    transposed: bool,
}

impl Wanted {
    fn stored_shape(&self) -> Vec<usize> {
        let mut shape = self.parameter.shape.clone();
        if self.transposed {
            shape.reverse();
        }
        shape
    }
}

/// Replaces every parameter with its stored tensor, after checking that all are there and fit.
fn fill(
    model: Model,
    stored: &dyn Stored,
    wanted: Vec<Wanted>,
    ignored: &[String],
    integers: Option<&mut StoredIntegers>,
) -> Result<Model> {
    let mut problems = Vec::new();
    for wanted in &wanted {
        let name = &wanted.stored_name;
        let needed = wanted.stored_shape();
        match stored.shape(name) {
            None => problems.push(format!("tensor {name} {needed:?} is missing")),
            Some(shape) if shape != needed => problems.push(format!(
                "tensor {name} has shape {shape:?}, but the configuration needs {needed:?}"
            )),
            Some(_) => {}
        }
    }
    let known: std::collections::BTreeSet<&str> =
        wanted.iter().map(|wanted| wanted.stored_name.as_str()).collect();
    for name in stored.names() {
        if !known.contains(name) && !ignored.iter().any(|ignored| ignored == name) {
            problems.push(format!("tensor {name} is not part of this configuration"));
        }
    }
    if !problems.is_empty() {
        return Err(broken(stored.path(), several(&problems)));
    }
    let by_name = wanted
        .into_iter()
        .map(|wanted| (wanted.parameter.name.clone(), wanted))
        .collect::<BTreeMap<_, _>>();
    let path = ModulePath::default();
    let mut fill = Fill { path, stored, wanted: by_name, integers, error: None };
    let model = model.map(&mut fill);
    match fill.error {
        Some(error) => Err(error),
        None => Ok(model),
    }
}

/// The first few problems, and how many more there are.
fn several(problems: &[String]) -> String {
    const SHOWN: usize = 5;
    match problems.len().checked_sub(SHOWN) {
        None | Some(0) => problems.join("; "),
        Some(more) => format!("{}; and {more} more", problems[..SHOWN].join("; ")),
    }
}

fn broken(file: &Path, problem: impl ToString) -> Error {
    Error::Weights { file: file.to_path_buf(), problem: problem.to_string() }
}

/// The path to a parameter, from the modules that were entered.
#[derive(Default)]
struct ModulePath {
    names: Vec<String>,
    /// The types of the modules that hold the named parts.
    holders: Vec<String>,
    /// The parameters that context adds to the network.
    context: HashSet<ParamId>,
}

impl ModulePath {
    fn of(model: &Model) -> Self {
        Self { context: model.context_parameters(), ..Self::default() }
    }

    fn enter(&mut self, name: &str, holder: &str) {
        if Self::is_place(holder) {
            self.names.push(name.to_owned());
            self.holders.push(holder.to_owned());
        }
    }

    fn exit(&mut self, holder: &str) {
        if Self::is_place(holder) {
            self.names.pop();
            self.holders.pop();
        }
    }

    /// A variant of an enum is a choice, not a place: it is not part of the name.
    fn is_place(holder: &str) -> bool {
        !holder.starts_with("Enum:")
    }

    fn parameter<const D: usize>(&self, param: &Param<Tensor<D>>) -> Parameter {
        let holder = self.holders.last().map_or("", String::as_str);
        Parameter {
            name: self.names.join("."),
            shape: param.lazy_shape().to_vec(),
            kind: ParameterKind::new(holder, D),
            part: if self.context.contains(&param.id) { Part::Context } else { Part::Base },
            id: param.id,
        }
    }
}

macro_rules! follow_path {
    () => {
        fn enter_module(&mut self, name: &str, holder: &str) {
            self.path.enter(name, holder);
        }

        fn exit_module(&mut self, _name: &str, holder: &str) {
            self.path.exit(holder);
        }
    };
}

struct List {
    path: ModulePath,
    parameters: Vec<Parameter>,
}

impl ModuleVisitor for List {
    follow_path!();

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.parameters.push(self.path.parameter(param));
    }
}

struct Collect {
    path: ModulePath,
    weights: BTreeMap<String, (Parameter, Vec<f32>)>,
}

impl ModuleVisitor for Collect {
    follow_path!();

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let parameter = self.path.parameter(param);
        let values = param.val().into_data().iter::<f32>().collect();
        self.weights.insert(parameter.name.clone(), (parameter, values));
    }
}

struct Fill<'a> {
    path: ModulePath,
    stored: &'a dyn Stored,
    wanted: BTreeMap<String, Wanted>,
    /// Where matrices of integers are collected that need not be unpacked.
    integers: Option<&'a mut StoredIntegers>,
    error: Option<Error>,
}

impl ModuleMapper for Fill<'_> {
    follow_path!();

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if self.error.is_some() {
            return param;
        }
        let Some(wanted) = self.wanted.get(&self.path.names.join(".")) else { return param };
        let name = &wanted.stored_name;
        let mut read = || {
            if let Some(collected) = &mut self.integers
                && let Some(integers) = self.stored.integers(name)?
                && integers.is_symmetric()
            {
                collected.insert(param.id, integers.clone());
                return Ok(Found::Integers(integers));
            }
            self.stored.read(name).map(Found::Values)
        };
        let values = match read() {
            Ok(Found::Values(values)) => values,
            Ok(Found::Integers(integers)) => return unpacked_when_needed(&param, integers),
            Err(error) => {
                self.error = Some(error);
                return param;
            }
        };
        if !values.iter().all(|value| value.is_finite()) {
            let problem = format!(
                "tensor {name} has values that are not finite; the model is damaged, or its \
                 training diverged"
            );
            self.error = Some(broken(self.stored.path(), problem));
            return param;
        }
        let data = TensorData::new(values, wanted.stored_shape());
        let mut tensor = Tensor::<D>::from_data(data, &param.lazy_device());
        if wanted.transposed {
            // Copied, so that later products read it in order.
            let shape = wanted.parameter.shape.clone();
            let data = tensor.transpose().into_data();
            let data = TensorData::new(data.iter::<f32>().collect::<Vec<f32>>(), shape);
            tensor = Tensor::from_data(data, &param.lazy_device());
        }
        let id = param.id;
        param.transform_for_load(tensor, id)
    }
}

/// What a file has for a parameter.
enum Found {
    Values(Vec<f32>),
    Integers(Integers),
}

/// A parameter whose values are unpacked when they are first used.
fn unpacked_when_needed<const D: usize>(
    param: &Param<Tensor<D>>,
    integers: Integers,
) -> Param<Tensor<D>> {
    let shape = integers.shape();
    let unpack = move |device: &Device, _: bool| {
        Tensor::from_data(TensorData::new(integers.unpacked(), shape), device)
    };
    let (id, device) = (param.id, param.lazy_device());
    Param::uninitialized(id, unpack, device, false, Shape::from(shape))
}
