//! Where a network runs: the CPU by default, an accelerator by name.

use std::fmt;
use std::str::FromStr;

use burn::tensor::Device;

use crate::{Error, Result};

/// A kind of device. All but the CPU are cargo features of the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceKind {
    /// The processor; always available.
    #[default]
    Cpu,
    /// NVIDIA cards.
    Cuda,
    /// AMD cards.
    Rocm,
    /// Apple's graphics API.
    Metal,
    /// The portable graphics API of Linux and Windows.
    Vulkan,
    /// The web's graphics API, also outside browsers.
    Webgpu,
}

impl DeviceKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Cpu, Self::Cuda, Self::Rocm, Self::Metal, Self::Vulkan, Self::Webgpu];

    /// The name on the command line, which is also the name of the cargo feature.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Rocm => "rocm",
            Self::Metal => "metal",
            Self::Vulkan => "vulkan",
            Self::Webgpu => "webgpu",
        }
    }

    /// The default device of this kind, if this build has it.
    pub fn open(self) -> Result<Device> {
        match self {
            Self::Cpu => Ok(Device::flex()),
            #[cfg(feature = "cuda")]
            Self::Cuda => Ok(Device::cuda(burn::tensor::DeviceIndex::Default)),
            #[cfg(feature = "rocm")]
            Self::Rocm => Ok(Device::rocm(burn::tensor::DeviceIndex::Default)),
            #[cfg(feature = "metal")]
            Self::Metal => Ok(Device::metal(burn::tensor::DeviceKind::DefaultDevice)),
            #[cfg(feature = "vulkan")]
            Self::Vulkan => Ok(Device::vulkan(burn::tensor::DeviceKind::DefaultDevice)),
            #[cfg(feature = "webgpu")]
            Self::Webgpu => Ok(Device::webgpu(burn::tensor::DeviceKind::DefaultDevice)),
            #[allow(unreachable_patterns, reason = "reached unless every feature is on")]
            other => Err(Error::Device(format!(
                "this build cannot use {other}; build it with `cargo build --release --features \
                 {other}`, or use --device cpu"
            ))),
        }
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DeviceKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            Error::Device(format!(
                "there is no device \"{name}\"; choose one of {}",
                Self::ALL.map(Self::name).join(", ")
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_always_available() {
        assert!("cpu".parse::<DeviceKind>().unwrap().open().is_ok());
    }

    #[test]
    #[cfg(not(feature = "cuda"))]
    fn a_device_that_is_not_compiled_in_says_how_to_get_it() {
        let error = "cuda".parse::<DeviceKind>().unwrap().open().unwrap_err().to_string();
        assert!(error.contains("--features cuda"), "{error}");
        assert!("gpu".parse::<DeviceKind>().unwrap_err().to_string().contains("vulkan"));
    }
}
