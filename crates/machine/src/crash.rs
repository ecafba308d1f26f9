//! A message for the user when foreign code kills the process.
//!
//! The driver of a device is C or C++ in this process. If it crashes, there is no error to handle and
//! no panic to catch; all that can be done is to say what was going on.

use std::sync::OnceLock;

static MESSAGE: OnceLock<String> = OnceLock::new();

/// Sets what is printed to standard error if the process crashes after [`watch`]. The first message
/// stays.
pub fn blame(message: String) {
    MESSAGE.get_or_init(|| message);
}

/// From now on, the message of [`blame`] is printed when the process is about to be killed by a fault
/// of its own code. It is killed all the same, as before, and its exit status does not change.
pub fn watch() {
    #[cfg(unix)]
    signals::watch();
}

#[cfg(unix)]
mod signals {
    use std::sync::OnceLock;

    use super::MESSAGE;

    const FAULTS: [libc::c_int; 5] =
        [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];

    /// What was done about each fault before.
    static BEFORE: OnceLock<[libc::sigaction; FAULTS.len()]> = OnceLock::new();

    pub fn watch() {
        BEFORE.get_or_init(|| {
            FAULTS.map(|fault| {
                // SAFETY: all zeros is a valid `sigaction`: the default action and an empty mask.
                let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
                // SAFETY: as above.
                let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
                action.sa_sigaction = explain as *const () as libc::sighandler_t;
                // On the stack that Rust gives every thread for this: the usual one may be full.
                action.sa_flags = libc::SA_ONSTACK;
                // SAFETY: both point to valid structures. `explain` calls only functions that are
                // allowed in a signal handler.
                unsafe { libc::sigaction(fault, &raw const action, &raw mut before) };
                before
            })
        });
    }

    /// Prints the message and restores what was there before. The faulting instruction then runs again,
    /// and the earlier handler (Rust's own names a stack overflow) or the default, which kills, follows.
    extern "C" fn explain(fault: libc::c_int) {
        if let Some(message) = MESSAGE.get() {
            // SAFETY: the pointer and the length are those of a string that lives forever.
            unsafe { libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len()) };
        }
        let place = FAULTS.iter().position(|known| *known == fault);
        match (place, BEFORE.get()) {
            (Some(place), Some(before)) => {
                // SAFETY: the structure was filled by the system in `watch`.
                unsafe { libc::sigaction(fault, &raw const before[place], std::ptr::null_mut()) };
            }
            // A fault while `watch` runs.
            // SAFETY: sets the default action.
            _ => unsafe {
                libc::signal(fault, libc::SIG_DFL);
            },
        }
    }
}
