//! The one instruction that plain loops cannot say.

/// Asks for the cache line that lies `ahead` bytes behind an entry, before it is used.
///
/// Large models stream their coefficients from memory, and the processor's own guess of what comes next stops at every page.
#[inline(always)]
pub(crate) fn prefetch<T>(entry: &T, ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch has no effect that a program can see, whatever the address; SSE is part of x86-64.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(entry).cast::<i8>().wrapping_add(ahead));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (entry, ahead);
}
