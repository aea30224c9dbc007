//! Archives that a small writer of our own makes: what they say must come back, and what is broken must be refused.
