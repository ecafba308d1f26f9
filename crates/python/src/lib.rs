//! abridge from Python. The other crates do the work; this crate only wraps them.
//!
//! | module | what |
//! | --- | --- |
//! | `work` | long work: without Python's lock, with progress, stopped by Ctrl-C |
//! | `errors` | errors as exceptions, panics as errors |
//! | `values` | values of Python as values of the library, and back |
//! | `search` | the settings of the search, as keyword arguments |
//! | `translator`, `session`, `translation` | translating |
//! | `scores`, `metrics`, `contrast` | scoring and measuring |
//! | `prepare`, `train`, `import` | making models |
//! | `inspect` | what the memory keeps, and which earlier words decided |

// PyO3's macros write `unsafe` code in our name, so it cannot be forbidden here.
#![allow(unsafe_code, reason = "only in code that PyO3's macros write")]
#![allow(clippy::used_underscore_items, reason = "the module is named as Python expects it")]

mod contrast;
mod errors;
mod import;
mod inspect;
mod metrics;
mod prepare;
mod scores;
mod search;
mod session;
mod train;
mod translation;
mod translator;
mod values;
mod work;

use pyo3::prelude::*;

/// Context-aware machine translation.
#[pymodule]
fn _abridge(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(module)?;
    module.add_class::<translator::Translator>()?;
    module.add_class::<translator::Stream>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<session::Memory>()?;
    module.add_class::<translation::Translation>()?;
    module.add_class::<translation::Hypothesis>()?;
    module.add_class::<translation::Attention>()?;
    module.add_class::<translation::MemoryAttention>()?;
    module.add_class::<scores::Score>()?;
    module.add_class::<metrics::MetricScore>()?;
    module.add_class::<metrics::Comparison>()?;
    module.add_class::<contrast::Contrast>()?;
    module.add_class::<contrast::Cxmi>()?;
    module.add_class::<train::Trained>()?;
    module.add_class::<inspect::Inspection>()?;
    module.add_class::<inspect::InspectedSentence>()?;
    module.add_class::<inspect::ContextSentence>()?;
    module.add_function(wrap_pyfunction!(metrics::bleu, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::chrf, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::ter, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::comet, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::compare, module)?)?;
    module.add_function(wrap_pyfunction!(contrast::contrast, module)?)?;
    module.add_function(wrap_pyfunction!(contrast::cxmi, module)?)?;
    module.add_function(wrap_pyfunction!(prepare::prepare, module)?)?;
    module.add_function(wrap_pyfunction!(prepare::practice, module)?)?;
    module.add_function(wrap_pyfunction!(train::train, module)?)?;
    module.add_function(wrap_pyfunction!(import::import_model, module)?)?;
    Ok(())
}
