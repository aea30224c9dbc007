//! Tests that need a graphics adapter: a card, or Mesa's lavapipe (Debian's package mesa-vulkan-drivers). Without one they
//! fail. `cargo xtask test` runs them in a step of its own, which tells when there is none.

mod on_card;
