//! The memory that a reader holds at once, beside the bytes of the file.
//!
//! Every program that links this crate counts its allocations. What C code allocates is not counted: the reader of FBX
//! limits it itself, and the fuzzer limits the whole process.

use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What a file may cost: so many bytes for each of its own, and so many besides.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Bytes per byte of the file.
    pub per_byte: usize,
    /// Bytes that even an empty file may take.
    pub besides: usize,
}

/// Formats that unfold what the file holds packed or shared: their readers allow 100 to 256 bytes a byte, 32 to 64 MiB
/// besides, and hold numbers twice while they convert them.
pub const PACKED: Allowance = Allowance { per_byte: 600, besides: 130 << 20 };

/// Formats whose numbers lie in the file: a byte of JSON makes a value of 72 bytes and a number of 8, and decoded numbers
/// are held twice.
pub const PLAIN: Allowance = Allowance { per_byte: 600, besides: 4 << 20 };

/// The result of `read`, which is handed a file of so many bytes.
///
/// # Panics
/// If it held more memory at once than allowed.
pub fn bounded<T>(bytes: usize, allowance: Allowance, read: impl FnOnce() -> T) -> T {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let result = read();
    let used = MEMORY.peak_usage().saturating_sub(before);
    let most = allowance.per_byte * bytes + allowance.besides;
    assert!(used <= most, "{used} bytes for a file of {bytes}; {most} are allowed");
    result
}
