//! Signatures: what a score depends on, in sacreBLEU's format.

use std::fmt;

use crate::references::ReferenceCount;

/// The release of sacreBLEU whose scores and signatures are reproduced.
///
/// It is in the `version` field, because signatures tell whether two scores were computed in the
/// same way; the fixture tests show that they are.
pub const SACREBLEU_VERSION: &str = "2.6.0";

/// One `name:value` of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name in the full form, such as `case`.
    pub name: &'static str,
    /// The name in the short form, such as `c`.
    pub short: &'static str,
    /// The value, such as `mixed`.
    pub value: String,
}

impl Field {
    /// A field.
    pub fn new(name: &'static str, short: &'static str, value: impl Into<String>) -> Self {
        Self { name, short, value: value.into() }
    }

    /// A field that is `yes` or `no`.
    pub fn flag(name: &'static str, short: &'static str, value: bool) -> Self {
        Self::new(name, short, if value { "yes" } else { "no" })
    }
}

/// The fields of a score in order; displayed as `nrefs:1|case:mixed|eff:no|tok:13a|…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    fields: Vec<Field>,
}

impl Signature {
    /// A signature without references and version, for scores that sacreBLEU does not have.
    pub fn custom(fields: Vec<Field>) -> Self {
        Self { fields }
    }

    /// The signature of a score that sacreBLEU has.
    pub(crate) fn sacrebleu(
        references: ReferenceCount,
        test: Vec<Field>,
        metric: Vec<Field>,
    ) -> Self {
        let mut fields = vec![Field::new("nrefs", "#", references.to_string())];
        fields.extend(test);
        fields.extend(metric);
        fields.push(Field::new("version", "v", SACREBLEU_VERSION));
        Self { fields }
    }

    /// The signature of a score that sacreBLEU does not have.
    pub(crate) fn abridge(
        references: ReferenceCount,
        test: Vec<Field>,
        metric: Vec<Field>,
    ) -> Self {
        let mut signature = Self::sacrebleu(references, test, metric);
        signature.fields.pop();
        let version = concat!("abridge-", env!("CARGO_PKG_VERSION"));
        signature.fields.push(Field::new("version", "v", version));
        signature
    }

    /// The form with abbreviated names, `#:1|c:mixed|…`.
    pub fn short(&self) -> String {
        self.join(|field| field.short)
    }

    fn join(&self, name: impl Fn(&Field) -> &'static str) -> String {
        let fields: Vec<String> =
            self.fields.iter().map(|field| format!("{}:{}", name(field), field.value)).collect();
        fields.join("|")
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.join(|field| field.name))
    }
}

impl serde::Serialize for Signature {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
