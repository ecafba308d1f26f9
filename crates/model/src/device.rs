//! Where a network runs: the CPU by default, an accelerator by name.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use burn::tensor::Device;

use crate::{Error, Result};

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Does work on a device. If the engine panics because the device has failed, that is an error: it has
/// no other way to report it. On the CPU a panic is a bug, and is left alone.
pub fn guarded<T>(device: &Device, work: impl FnOnce() -> T) -> Result<T> {
    if is_cpu(device) { Ok(work()) } else { caught(work) }
}

/// Whether a panic of this thread becomes an error, so that it need not be reported as a bug.
pub fn is_guarded() -> bool {
    IS_GUARDED.get()
}

fn caught<T>(work: impl FnOnce() -> T) -> Result<T> {
    let before = IS_GUARDED.replace(true);
    // What a panic leaves half done is dropped: after this error a run ends.
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(before);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Error::failed_device(text.unwrap_or("no reason given"))
    })
}

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
    /// The shaders of the web, on whichever graphics API the machine has.
    Webgpu,
}

/// Whether this device is the processor.
pub fn is_cpu(device: &Device) -> bool {
    device.clone().without_autodiff() == Device::flex()
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

    /// The kinds that this build can use.
    pub fn built_in() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| kind.is_built_in())
    }

    /// Whether this build can use it, that is, was built with its cargo feature.
    pub fn is_built_in(self) -> bool {
        match self {
            Self::Cpu => true,
            Self::Cuda => cfg!(feature = "cuda"),
            Self::Rocm => cfg!(feature = "rocm"),
            Self::Metal => cfg!(feature = "metal"),
            Self::Vulkan => cfg!(feature = "vulkan"),
            Self::Webgpu => cfg!(feature = "webgpu"),
        }
    }

    /// The default device of this kind, ready to compute.
    ///
    /// Fails if this build or this machine does not have it. A device is opened once per process;
    /// later calls return the same.
    pub fn open(self) -> Result<Device> {
        static OPEN: Mutex<Vec<(DeviceKind, Device)>> = Mutex::new(Vec::new());
        if self == Self::Cpu {
            return Ok(Device::flex());
        }
        // Nothing is half done if a thread panics while it holds the lock.
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, device)) = open.iter().find(|(kind, _)| *kind == self) {
            return Ok(device.clone());
        }
        abridge_machine::crash::blame(format!(
            "error: the process crashed while it used the {self} device; most likely its driver did. \
             Outputs are either complete or unchanged. Update the driver, or use --device cpu.\n"
        ));
        let device = self.start()?;
        open.push((self, device.clone()));
        Ok(device)
    }

    /// Loads the driver, and fails if there is none.
    fn start(self) -> Result<Device> {
        match self {
            Self::Cpu => Ok(Device::flex()),
            #[cfg(feature = "cuda")]
            Self::Cuda => self.first_of(burn::tensor::DeviceType::Cuda),
            #[cfg(feature = "rocm")]
            Self::Rocm => self.first_of(burn::tensor::DeviceType::Rocm),
            #[cfg(feature = "metal")]
            Self::Metal => self.with_graphics(burn::tensor::wgpu::WgpuBackend::Metal),
            #[cfg(feature = "vulkan")]
            Self::Vulkan => self.with_graphics(burn::tensor::wgpu::WgpuBackend::Vulkan),
            // Whichever graphics API the machine has. The engine's own "WebGPU" is the browser's, which
            // exists only there.
            #[cfg(feature = "webgpu")]
            Self::Webgpu => self.with_graphics(burn::tensor::wgpu::WgpuBackend::Auto),
            #[allow(unreachable_patterns, reason = "reached unless every feature is on")]
            other => Err(Error::Device(format!(
                "this build cannot use {other}; build it with `cargo build --release --features \
                 {other}`, or use --device cpu"
            ))),
        }
    }

    #[cfg(any(feature = "cuda", feature = "rocm"))]
    fn first_of(self, kind: burn::tensor::DeviceType) -> Result<Device> {
        let found = Device::enumerate(kind).into_vec().into_iter().next();
        found.ok_or_else(|| self.missing("its driver is not installed, or finds no card"))
    }

    #[cfg(any(feature = "metal", feature = "vulkan", feature = "webgpu"))]
    fn with_graphics(self, api: burn::tensor::wgpu::WgpuBackend) -> Result<Device> {
        use burn::tensor::wgpu::WgpuInitError;
        let options = Device::wgpu_options().graphics_api(api);
        let (device, setup) = options.init_with_setup().map_err(|error| match error {
            WgpuInitError::AdapterUnavailable { .. } => {
                self.missing("its driver is not installed, or finds no card")
            }
            other => self.missing(&other.to_string()),
        })?;
        // The engine's SPIR-V declares shared memory wrongly unless the driver has the extension
        // VK_KHR_workgroup_memory_explicit_layout (cubecl-spirv 0.11.3). Mesa's driver for the processor
        // does not have it, and crashes; the same kernel in WGSL runs there.
        let adapter = setup.adapter.get_info();
        if cfg!(feature = "vulkan") && adapter.driver == "llvmpipe" {
            return Err(Error::Device(format!(
                "the {self} device is {} ({}), which cannot run the shaders of a build with the feature \
                 vulkan; build with `--features webgpu` instead, or use --device cpu",
                adapter.name, adapter.driver_info
            )));
        }
        Ok(device)
    }

    #[cfg(any(
        feature = "cuda",
        feature = "rocm",
        feature = "metal",
        feature = "vulkan",
        feature = "webgpu"
    ))]
    fn missing(self, why: &str) -> Error {
        let others: Vec<&str> =
            Self::built_in().filter(|kind| *kind != self).map(Self::name).collect();
        Error::Device(format!(
            "this machine has no {self} device: {why}; install it, or use another --device of this \
             build: {}",
            others.join(", ")
        ))
    }

    /// What the device of this kind calls itself, such as the name of a card.
    pub fn describe(self) -> Result<String> {
        #[cfg(any(
            feature = "cuda",
            feature = "rocm",
            feature = "metal",
            feature = "vulkan",
            feature = "webgpu"
        ))]
        if let Some(identity) = self.open()?.identity() {
            return Ok(identity.name);
        }
        self.open().map(|_| "the processor".to_owned())
    }

    /// The device that the tests of this workspace run on: `ABRIDGE_TEST_DEVICE`, or the CPU.
    ///
    /// # Panics
    ///
    /// If the variable names no device, so that a misspelt one does not pass on the CPU.
    pub fn under_test() -> Self {
        let name = std::env::var("ABRIDGE_TEST_DEVICE");
        name.map_or(Self::Cpu, |name| name.parse().expect("ABRIDGE_TEST_DEVICE is a device"))
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
            let here = Self::built_in().map(|kind| match kind.describe() {
                Ok(found) => format!("{kind} ({found})"),
                Err(_) => format!("{kind} (none found on this machine)"),
            });
            Error::Device(format!(
                "there is no device \"{name}\"; choose one of {}; this build has {}",
                Self::ALL.map(Self::name).join(", "),
                here.collect::<Vec<_>>().join(", ")
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
    fn a_panic_of_a_device_is_an_error_with_a_remedy() {
        let error = caught(|| panic!("out of\n  memory: {} bytes", 7)).err().unwrap().to_string();
        assert!(error.starts_with("the device failed: out of memory: 7 bytes; "), "{error}");
        assert!(error.contains("batches.max_tokens") && error.contains("--device"), "{error}");
        assert!(!is_guarded());
        assert!(caught(is_guarded).unwrap());
        assert_eq!(guarded(&Device::flex(), || 3).unwrap(), 3);
    }

    #[test]
    #[should_panic(expected = "a bug")]
    fn a_panic_on_the_cpu_stays_one() {
        let _ = guarded(&Device::flex(), || panic!("a bug"));
    }

    #[test]
    #[cfg(not(feature = "cuda"))]
    fn a_device_that_is_not_compiled_in_says_how_to_get_it() {
        let error = "cuda".parse::<DeviceKind>().unwrap().open().unwrap_err().to_string();
        assert!(error.contains("--features cuda"), "{error}");
        let error = "gpu".parse::<DeviceKind>().unwrap_err().to_string();
        assert!(error.contains("vulkan") && error.contains("cpu (the processor)"), "{error}");
    }
}
