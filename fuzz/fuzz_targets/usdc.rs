//! `usdc` of `dermis_fuzz::targets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let target = dermis_fuzz::target("usdc").expect("the table of targets has it");
    (target.run)(bytes);
});
