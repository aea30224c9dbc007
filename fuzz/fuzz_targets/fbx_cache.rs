//! `fbx_cache` of `dermis_fuzz::targets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let target = dermis_fuzz::target("fbx_cache").expect("the table of targets has it");
    (target.run)(bytes);
});
