//! Bytes of the fuzzer as a script: what to change, where, and into what.

/// Numbers at which readers stumble: ends of types, and what stands beside them.
const NUMBERS: [f64; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    3.0,
    1e-300,
    -1e-38,
    1e39,
    -1e39,
    1e300,
    255.0,
    256.0,
    65_535.0,
    65_536.0,
    2_147_483_647.0,
    2_147_483_648.0,
    4_294_967_295.0,
    4_294_967_296.0,
    9_007_199_254_740_993.0,
    1e19,
    -2_147_483_649.0,
    1e-12,
];

/// What is left of a script. After its end every answer is zero.
#[derive(Clone, Debug)]
pub struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    /// A script of all the bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether it is at its end.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        match self.0 {
            [first, rest @ ..] => {
                self.0 = rest;
                *first
            }
            [] => 0,
        }
    }

    /// The next two bytes.
    pub fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// A number below `count`; zero if there is none.
    pub fn below(&mut self, count: usize) -> usize {
        let number = if count <= 256 { usize::from(self.byte()) } else { usize::from(self.word()) };
        number % count.max(1)
    }

    /// One of some things.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len())]
    }

    /// A number, odd or small.
    pub fn number(&mut self) -> f64 {
        match self.byte() {
            kind @ 0..=95 => NUMBERS[usize::from(kind) % NUMBERS.len()],
            96..=191 => f64::from(self.byte()),
            192..=223 => f64::from(self.byte() as i8) / 16.0,
            _ => f64::from_bits(u64::from_le_bytes([0; 8].map(|_: u8| self.byte()))),
        }
    }

    /// A short text, some of it no letters.
    pub fn text(&mut self) -> String {
        let length = usize::from(self.byte() % 8);
        let (text, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    /// Changes bytes in place: one, or the little-endian number that begins there.
    pub fn overwrite(&mut self, bytes: &mut [u8]) {
        if bytes.is_empty() {
            return;
        }
        let (kind, at) = (self.byte(), self.below(bytes.len()));
        let number = self.number();
        let aligned = |size: usize| at / size * size;
        let mut put = |at: usize, new: &[u8]| {
            if let Some(place) = bytes.get_mut(at..at + new.len()) {
                place.copy_from_slice(new);
            }
        };
        match kind % 6 {
            0 => put(at, &[number as u8]),
            1 => put(aligned(2), &(number as u16).to_le_bytes()),
            2 => put(aligned(4), &(number as i64 as u32).to_le_bytes()),
            3 => put(aligned(4), &(number as f32).to_le_bytes()),
            4 => put(aligned(8), &number.to_le_bytes()),
            _ => put(aligned(4), &f32::NAN.to_le_bytes()),
        }
    }
}
