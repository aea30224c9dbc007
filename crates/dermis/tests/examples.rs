//! Every example, run to its end: each asserts what it claims.

#[path = "../examples/black_box_inverse.rs"]
mod black_box_inverse;
#[path = "../examples/decompose_a_cache.rs"]
mod decompose_a_cache;
#[path = "../examples/dress_a_body.rs"]
mod dress_a_body;
#[path = "../examples/fit_from_arrays.rs"]
mod fit_from_arrays;
#[path = "../examples/game_loop.rs"]
mod game_loop;
#[path = "../examples/three_sculpts_to_glb.rs"]
mod three_sculpts_to_glb;
#[path = "../examples/tour.rs"]
mod tour;

#[test]
fn the_tour() {
    tour::main().unwrap();
}

#[test]
fn i_have_arrays() {
    fit_from_arrays::main().unwrap();
}

#[test]
fn i_have_three_sculpts() {
    three_sculpts_to_glb::main().unwrap();
}

#[test]
fn i_have_a_game_loop() {
    game_loop::main().unwrap();
}

#[test]
fn i_have_a_black_box() {
    black_box_inverse::main().unwrap();
}

#[test]
fn i_have_only_a_mesh_sequence() {
    decompose_a_cache::main().unwrap();
}

#[test]
fn i_have_clothes() {
    dress_a_body::main().unwrap();
}
