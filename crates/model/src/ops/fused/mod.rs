//! The operations for the CPU: one pass forward, one pass back, one node in the graph each.

mod adam;
mod attention;
mod grouping;
mod linear;
mod loss;
mod recurrence;
mod residual_norm;

use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, NodeGuard, OpsKind};
use burn::backend::{Autodiff, Flex};
use burn::tensor::{Tensor, TensorData};
use burn_flex::FlexTensor;

pub use adam::{adam, square_sum};
pub use attention::{attention, weighed_attention};
pub use grouping::{normalise, weighted_sums};
pub use linear::{linear, linear_again, packed_linear};
pub use loss::{projected_log_probabilities, projected_loss};
pub use recurrence::recurrence;
pub use residual_norm::{norm, residual_norm};

/// The CPU backend with autodiff.
type Graph = Autodiff<Flex>;

/// A node of the autodiff graph; none in inference.
type Node = Option<NodeGuard>;

/// Splits a tensor into its values and its node in the graph.
fn take<const D: usize>(x: Tensor<D>) -> (FlexTensor, Node) {
    if x.is_autodiff() {
        let x = x.try_into_primitive::<Graph>().expect("fused operations run on the CPU");
        let (tensor, node) = x.into_parts();
        (contiguous(tensor), Some(node))
    } else {
        (contiguous(x.try_into_primitive::<Flex>().expect("fused operations run on the CPU")), None)
    }
}

/// Whether a gradient may be needed.
fn is_tracked<const D: usize>(x: &Tensor<D>) -> bool {
    x.is_autodiff() && x.clone().try_into_primitive::<Graph>().is_ok_and(|x| x.is_tracked())
}

fn contiguous(tensor: FlexTensor) -> FlexTensor {
    if tensor.is_contiguous() { tensor } else { tensor.to_contiguous() }
}

fn values(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("contiguous values of f32")
}

fn from_values<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

/// Runs an operation and, if a gradient may be needed, records it.
///
/// `run` is told whether its state will be needed for the backward pass.
fn record<Op, const N: usize, const D: usize>(
    op: Op,
    nodes: [Node; N],
    run: impl FnOnce(bool) -> (FlexTensor, Option<Op::State>),
) -> Tensor<D>
where
    Op: Backward<Flex, N>,
{
    if nodes.iter().all(Option::is_none) {
        return Tensor::from_primitive::<Flex>(run(false).0);
    }
    let nodes = nodes.map(|node| node.expect("all inputs are in the graph, or none"));
    let tensor = match op.prepare::<NoCheckpointing>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let (output, state) = run(true);
            prepared.finish(state.expect("kept on request"), output)
        }
        OpsKind::UnTracked(prepared) => prepared.finish(run(false).0),
    };
    Tensor::from_primitive::<Graph>(tensor)
}

/// Registers the gradient of a parent, if that is in the graph.
fn register<const D: usize>(
    gradients: &mut Gradients,
    parent: Option<NodeId>,
    values: impl FnOnce() -> Vec<f32>,
    shape: [usize; D],
) {
    if let Some(parent) = parent {
        gradients.register::<Flex>(parent, from_values(values(), shape));
    }
}
