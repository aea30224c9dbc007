//! What a deformer program says.

use crate::memory::{PLAIN, bounded};
use crate::seeds;
use dermis_io::deformer_protocol::{Heard, Listener, frame, skin_call, skin_length, skin_points};
use dermis_rig::glam::DVec3;

pub const WORDS: &[&str] = &["DERM\\x0d\\x0a\\x1a\\x0a\\x01\\x00\\x00\\x00", "REDY", "SKIN", "FAIL", "END "];

pub fn seeds() -> Vec<Vec<u8>> {
    seeds::talks()
}

/// Takes the first byte as a number of vertices, and the rest as what the program says.
pub fn bytes(bytes: &[u8]) {
    let Some((&vertices, said)) = bytes.split_first() else { return };
    let vertices = usize::from(vertices);
    let (mut listener, mut left, mut count) = (Listener::new(vertices), said, 0);
    let mut understood = Vec::new();
    loop {
        let heard =
            bounded(said.len() + skin_length(vertices), PLAIN, || listener.hear(&mut left, &mut |more| count += more));
        match heard {
            Heard::Greeting(greeting) => understood.extend(greeting),
            Heard::Frame(kind, payload) => {
                understood.extend(frame(kind, &payload).expect("a frame that was heard is no longer than one"));
                if &kind == b"SKIN" && payload.len() == skin_length(vertices) {
                    let mut skin = vec![DVec3::ZERO; vertices];
                    assert!(skin_call(&payload).is_some());
                    skin_points(&payload, &mut skin);
                }
            }
            Heard::Stray(head) => {
                understood.extend(head);
                break;
            }
            Heard::Closed(part) => {
                understood.extend(part);
                assert!(left.is_empty(), "it ended before the end");
                break;
            }
        }
    }
    assert_eq!(understood, said[..count], "what was heard is what was said");
    assert_eq!(count + left.len(), said.len());
}
