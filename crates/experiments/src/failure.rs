//! What a program says of an error: its kind and its message, for the command line and for Python.

use std::error::Error;

use abridge_base::error::{HasKind, Kind};

/// The kind of a cause, if it is of the type that this looks for.
pub type KindOf = fn(&(dyn Error + 'static)) -> Option<Kind>;

/// The kind of a cause that is an `E`.
pub fn kind_of<E: HasKind + 'static>(cause: &(dyn Error + 'static)) -> Option<Kind> {
    cause.downcast_ref::<E>().map(HasKind::kind)
}

/// The kind of an error: that of the outermost cause that has one. `others` finds the kinds of
/// error types that this crate does not know.
pub fn kind(error: &anyhow::Error, others: &[KindOf]) -> Kind {
    let known: [KindOf; 5] = [
        kind_of::<abridge_base::Error>,
        kind_of::<abridge_model::Error>,
        kind_of::<abridge_train::Error>,
        kind_of::<abridge_translate::Error>,
        |cause| cause.is::<std::io::Error>().then_some(Kind::Data),
    ];
    let of_cause = |cause| known.iter().chain(others).find_map(|kind| kind(cause));
    error.chain().find_map(of_cause).unwrap_or(Kind::Usage)
}

/// The error and its causes, without repetition.
pub fn message(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |message, cause| {
        let cause = cause.to_string();
        if message.is_empty() {
            cause
        } else if message.contains(&cause) {
            message
        } else {
            format!("{message}: {cause}")
        }
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn the_outermost_known_cause_decides_over_the_kind() {
        let weights = abridge_model::Error::Weights { file: "m".into(), problem: "p".into() };
        let wrapped = Err::<(), _>(weights).context("while working").unwrap_err();
        assert_eq!(kind(&wrapped, &[]), Kind::Model);
        assert_eq!(kind(&std::io::Error::other("disk").into(), &[]), Kind::Data);
        assert_eq!(kind(&anyhow::anyhow!("a wish"), &[]), Kind::Usage);
        let partly: KindOf = |cause| cause.is::<std::fmt::Error>().then_some(Kind::Partly);
        assert_eq!(kind(&std::fmt::Error.into(), &[partly]), Kind::Partly);
    }

    #[test]
    fn causes_are_not_repeated() {
        let error =
            anyhow::anyhow!("disk full").context("cannot write: disk full").context("saving");
        assert_eq!(message(&error), "saving: cannot write: disk full");
    }
}
