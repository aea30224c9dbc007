//! The one instruction that plain loops cannot say.

/// Asks for the cache line of entry `at` of a list ahead of its use; nothing happens beyond the end.
///
/// Large models stream their coefficients from memory, and the processor's own guess of what comes next stops at every page.
#[inline(always)]
pub(crate) fn prefetch<T>(list: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = list.get(at) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch has no effect that a program can see, whatever the address; SSE is part of x86-64.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(entry).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (list, at);
}
