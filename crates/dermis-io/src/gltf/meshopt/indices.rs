//! Vertex numbers: of triangles, by the edges and vertices that they share with those before; and of any sequence.

use super::{Damage, Rest, SHORT, push_varint, signed, zigzag};

/// Pairs in the table at the end of a stream of triangles: what second and third corner of a triangle are that shares no side, 0 for a
/// new vertex, else one more than the age of a recent one.
const PAIRS: usize = 14;

/// The last sixteen things of a kind, the newest first.
struct Recent<T> {
    things: [T; 16],
    /// How many there have been.
    count: usize,
}

impl<T: Copy + Default> Recent<T> {
    fn new() -> Self {
        Self { things: [T::default(); 16], count: 0 }
    }

    fn push(&mut self, thing: T) {
        self.things[self.count % 16] = thing;
        self.count += 1;
    }

    /// The thing before which `age` others came in.
    fn get(&self, age: usize) -> Result<T, Damage> {
        let at = self
            .count
            .checked_sub(age + 1)
            .filter(|_| age < 16)
            .ok_or("it names an edge or vertex before the first")?;
        Ok(self.things[at % 16])
    }

    fn ages(&self) -> impl Iterator<Item = (usize, T)> {
        (0..self.count.min(16)).map(|age| (age, self.things[(self.count - age - 1) % 16]))
    }
}

/// What reader and writer of triangles both know.
struct State {
    edges: Recent<[u32; 2]>,
    vertices: Recent<u32>,
    /// The next vertex that was not seen yet.
    next: u32,
    /// The vertex that was last named outright.
    last: u32,
}

impl State {
    fn new() -> Self {
        Self { edges: Recent::new(), vertices: Recent::new(), next: 0, last: 0 }
    }

    fn take_next(&mut self) -> u32 {
        let vertex = self.next;
        self.next = vertex.wrapping_add(1);
        vertex
    }

    fn named(&mut self, rest: &mut Rest<'_>) -> Result<u32, Damage> {
        self.last = self.last.wrapping_add(signed(rest.varint()?));
        Ok(self.last)
    }

    fn name(&mut self, vertex: u32, data: &mut Vec<u8>) {
        push_varint(data, zigzag(vertex.wrapping_sub(self.last)));
        self.last = vertex;
    }
}

/// Unfolds the corners of `count / 3` triangles.
///
/// # Errors
/// What is wrong with the stream, or `count`.
pub fn decode_triangles(stream: &[u8], count: usize) -> Result<Vec<u32>, Damage> {
    if !count.is_multiple_of(3) {
        return Err("its corners are no triangles");
    }
    let mut rest = Rest(stream);
    if rest.byte()? != 0xe1 {
        return Err("it is no stream of triangles");
    }
    let codes = rest.take(count / 3)?;
    let (data, pairs) = rest.0.split_last_chunk::<16>().ok_or(SHORT)?;
    let mut rest = Rest(data);
    let mut state = State::new();
    let mut corners = Vec::with_capacity(count);
    for &code in codes {
        let (high, low) = (usize::from(code >> 4), usize::from(code & 15));
        if high < 15 {
            let [a, b] = state.edges.get(high)?;
            let c = match low {
                0 => state.take_next(),
                1..13 => state.vertices.get(low)?,
                13 => {
                    state.last = state.last.wrapping_sub(1);
                    state.last
                }
                14 => {
                    state.last = state.last.wrapping_add(1);
                    state.last
                }
                _ => state.named(&mut rest)?,
            };
            if !(1..13).contains(&low) {
                state.vertices.push(c);
            }
            state.edges.push([c, b]);
            state.edges.push([a, c]);
            corners.extend([a, b, c]);
            continue;
        }
        let is_outright = low >= PAIRS;
        let pair = if is_outright { rest.byte()? } else { pairs[low] };
        let (second, third) = (usize::from(pair >> 4), usize::from(pair & 15));
        if !is_outright && (second == 15 || third == 15) {
            return Err("its table names a vertex outright");
        }
        if is_outright && pair == 0 {
            state.next = 0;
        }
        let a = if low == 15 { state.named(&mut rest)? } else { state.take_next() };
        let mut corner = |state: &mut State, which: usize| match which {
            0 => Ok(state.take_next()),
            15 => state.named(&mut rest),
            age => state.vertices.get(age - 1),
        };
        let b = corner(&mut state, second)?;
        let c = corner(&mut state, third)?;
        state.edges.push([b, a]);
        state.edges.push([c, b]);
        state.edges.push([a, c]);
        state.vertices.push(a);
        for (which, vertex) in [(second, b), (third, c)] {
            if which == 0 || which == 15 {
                state.vertices.push(vertex);
            }
        }
        corners.extend([a, b, c]);
    }
    rest.end()?;
    Ok(corners)
}

/// Folds the corners of triangles. A triangle may begin with another of its corners when it is read again; its sides do not change.
///
/// # Errors
/// If the corners are no triangles.
pub fn encode_triangles(corners: &[u32]) -> Result<Vec<u8>, Damage> {
    let (triangles, []) = corners.as_chunks::<3>() else {
        return Err("its corners are no triangles");
    };
    let mut coded: Vec<Coded> = Vec::with_capacity(triangles.len());
    let mut state = State::new();
    for &triangle in triangles {
        coded.push(state.coded(triangle));
    }
    // The pairs that occur most stand in the table; the first is that of three new vertices in any case.
    let mut times = [0usize; 256];
    coded.iter().filter_map(|coded| coded.pair).for_each(|pair| times[usize::from(pair)] += 1);
    let mut pairs: Vec<u8> = (1..=255).filter(|&pair| times[usize::from(pair)] > 0).collect();
    pairs.sort_by_key(|&pair| std::cmp::Reverse(times[usize::from(pair)]));
    pairs.truncate(PAIRS - 1);
    pairs.insert(0, 0);
    let (mut stream, mut data) = (vec![0xe1], Vec::new());
    for Coded { code, pair, named } in coded {
        match pair.map(|pair| (pair, pairs.iter().position(|&known| known == pair))) {
            Some((_, Some(known))) => stream.push(0xf0 | known as u8),
            Some((pair, None)) => {
                stream.push(code);
                data.push(pair);
            }
            None => stream.push(code),
        }
        data.extend(named);
    }
    stream.extend(data);
    pairs.resize(16, 0);
    stream.extend(pairs);
    Ok(stream)
}

/// A triangle as it is written.
struct Coded {
    code: u8,
    /// The pair that follows the code unless the table has it.
    pair: Option<u8>,
    /// What follows in any case.
    named: Vec<u8>,
}

impl State {
    fn coded(&mut self, triangle: [u32; 3]) -> Coded {
        let [a, b, c] = triangle;
        let turns = [[a, b, c], [b, c, a], [c, a, b]];
        let mut named = Vec::new();
        // Sides are kept the way in which the triangle beyond them goes along.
        let shared = (self.edges.ages().take(15))
            .find_map(|(age, edge)| Some((age as u8, *turns.iter().find(|turn| [turn[0], turn[1]] == edge)?)));
        if let Some((age, [a, b, c])) = shared {
            let low = if c == self.next {
                self.take_next();
                0
            } else if let Some(known) = self.age(c, 13).filter(|&age| age > 0) {
                known
            } else if c == self.last.wrapping_sub(1) {
                self.last = c;
                13
            } else if c == self.last.wrapping_add(1) {
                self.last = c;
                14
            } else {
                self.name(c, &mut named);
                15
            };
            if !(1..13).contains(&low) {
                self.vertices.push(c);
            }
            self.edges.push([c, b]);
            self.edges.push([a, c]);
            return Coded { code: age << 4 | low, pair: None, named };
        }
        let next = self.next;
        let [a, b, c] = *turns.iter().find(|turn| turn[0] == next).unwrap_or(&triangle);
        let is_new = a == next;
        if is_new {
            self.take_next();
        } else {
            self.name(a, &mut named);
        }
        let mut which = |vertex: u32, is_third: bool, second: u8| {
            // Two zeros would start the numbers anew, unless the first vertex is new as well.
            if vertex == self.next && (is_new || !is_third || second != 0) {
                self.take_next();
                return 0;
            }
            if let Some(age) = self.age(vertex, 14) {
                return age + 1;
            }
            self.name(vertex, &mut named);
            15
        };
        let second = which(b, false, 15);
        let third = which(c, true, second);
        self.edges.push([b, a]);
        self.edges.push([c, b]);
        self.edges.push([a, c]);
        self.vertices.push(a);
        for (which, vertex) in [(second, b), (third, c)] {
            if which == 0 || which == 15 {
                self.vertices.push(vertex);
            }
        }
        let pair = second << 4 | third;
        if is_new && second != 15 && third != 15 {
            return Coded { code: 0xfe, pair: Some(pair), named };
        }
        named.insert(0, pair);
        Coded { code: if is_new { 0xfe } else { 0xff }, pair: None, named }
    }

    /// The age of a vertex among the `most` newest.
    fn age(&self, vertex: u32, most: usize) -> Option<u8> {
        self.vertices.ages().take(most).find(|(_, known)| *known == vertex).map(|(age, _)| age as u8)
    }
}

/// Unfolds `count` numbers, each of which differs little from one of two before.
///
/// # Errors
/// What is wrong with the stream.
pub fn decode_sequence(stream: &[u8], count: usize) -> Result<Vec<u32>, Damage> {
    let body = stream.len().checked_sub(4).and_then(|end| stream.get(..end)).ok_or(SHORT)?;
    let mut rest = Rest(body);
    if rest.byte()? != 0xd1 {
        return Err("it is no sequence of indices");
    }
    let mut last = [0u32; 2];
    let mut numbers = Vec::with_capacity(count.min(stream.len()));
    for _ in 0..count {
        let code = rest.varint()?;
        let last = &mut last[(code & 1) as usize];
        *last = last.wrapping_add(signed(code >> 1));
        numbers.push(*last);
    }
    rest.end()?;
    Ok(numbers)
}

/// Folds any numbers below 2³⁰.
///
/// # Errors
/// If a number is larger.
pub fn encode_sequence(numbers: &[u32]) -> Result<Vec<u8>, Damage> {
    let mut stream = vec![0xd1];
    let mut last = [0u32; 2];
    for &number in numbers {
        if number >= 1 << 30 {
            return Err("it has an index above 2³⁰");
        }
        let base = usize::from(number.abs_diff(last[1]) < number.abs_diff(last[0]));
        push_varint(&mut stream, zigzag(number.wrapping_sub(last[base])) << 1 | base as u32);
        last[base] = number;
    }
    stream.extend([0; 4]);
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sides of each triangle, whichever corner it begins with.
    fn turned(corners: &[u32]) -> Vec<[u32; 3]> {
        let least_first = |[a, b, c]: &[u32; 3]| *[[*a, *b, *c], [*b, *c, *a], [*c, *a, *b]].iter().min().unwrap();
        corners.as_chunks::<3>().0.iter().map(least_first).collect()
    }

    /// A sheet of `n` × `n` quads, each cut in two.
    fn sheet(n: u32) -> Vec<u32> {
        let quad = |at: u32| {
            let a = at / n * (n + 1) + at % n;
            [a, a + 1, a + n + 1, a + n + 1, a + 1, a + n + 2]
        };
        (0..n * n).flat_map(quad).collect()
    }

    #[test]
    fn triangles_come_back() {
        let mut seed = 0x9E37_79B9_7F4A_7C15u64;
        let mut random = |end: u32| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as u32 % end
        };
        let soup: Vec<u32> = (0..900).map(|_| random(40)).collect();
        let far: Vec<u32> = (0..900).map(|_| u32::MAX - random(1 << 31)).collect();
        let fresh: Vec<u32> = (0..900).collect();
        let backwards: Vec<u32> = (0..900).rev().collect();
        let again: Vec<u32> = [fresh.clone(), vec![5, 900, 901, 0, 0, 0, 902, 902, 903], sheet(3)].concat();
        for corners in [vec![], sheet(1), sheet(2), sheet(9), soup, far, fresh, backwards, again] {
            let stream = encode_triangles(&corners).unwrap();
            let read = decode_triangles(&stream, corners.len()).unwrap();
            assert_eq!(turned(&read), turned(&corners));
            for end in 0..stream.len() {
                assert!(decode_triangles(&stream[..end], corners.len()).is_err(), "{end}");
            }
        }
        let sheet = sheet(20);
        assert!(encode_triangles(&sheet).unwrap().len() < sheet.len());
        assert!(encode_triangles(&[1, 2]).is_err() && decode_triangles(&[0xe1; 40], 4).is_err());
    }

    #[test]
    fn sequences_come_back() {
        let two: Vec<u32> = (0..300).map(|at| if at % 2 == 0 { at } else { 70_000 - 3 * at }).collect();
        for numbers in [vec![], vec![0], vec![(1 << 30) - 1, 0, (1 << 30) - 1], two, sheet(5)] {
            let stream = encode_sequence(&numbers).unwrap();
            assert_eq!(decode_sequence(&stream, numbers.len()).unwrap(), numbers);
            for end in 0..stream.len() {
                assert!(decode_sequence(&stream[..end], numbers.len()).is_err(), "{end}");
            }
            assert!(decode_sequence(&stream, numbers.len() + 1).is_err());
        }
        assert!(encode_sequence(&[1 << 30]).is_err());
    }

    /// The third example of the specification has its groups the other way round, against its rule and the other two.
    #[test]
    fn numbers_are_those_of_the_specification() {
        for (bytes, number) in [(&[0x7f][..], 0x7f), (&[0x81, 0x04], 0x201), (&[0xff, 0xa0, 0x05], 0x0001_507f)] {
            let mut rest = Rest(bytes);
            assert_eq!(rest.varint().unwrap(), number);
            let mut stream = Vec::new();
            push_varint(&mut stream, number);
            assert_eq!(stream, bytes);
        }
        assert!(Rest(&[0x80; 9]).varint().is_err());
    }
}
