//! Recipes of Dermis: the steps that the program, the studio and Python all run.

pub mod page;
