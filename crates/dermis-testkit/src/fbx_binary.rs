//! An FBX text as the binary file that says the same, version 7400, arrays not packed.
//!
//! Written from the format as programs write it: records that end at stated offsets, values with a letter for their type.

/// A record: its name, its values, the records below.
#[derive(Debug, Default)]
struct Node {
    name: String,
    values: Vec<Value>,
    below: Vec<Node>,
}

#[derive(Debug)]
enum Value {
    Text(String),
    Whole(i64),
    Real(f64),
    /// The numbers of an array.
    Wholes(Vec<i64>),
    Reals(Vec<f64>),
}

/// The binary file. `text` is one of ours: numbers have no suffix, texts no quotes inside.
///
/// # Panics
/// If the text ends inside a record.
pub fn binary(text: &str) -> Vec<u8> {
    let words = words(text);
    let mut at = 0;
    let mut file = b"Kaydara FBX Binary  \0\x1a\0".to_vec();
    file.extend(7400u32.to_le_bytes());
    while at < words.len() {
        write(&node(&words, &mut at), &mut file);
    }
    file.extend([0; 13]);
    file
}

/// Words: names with their colon, texts with their quotes, numbers, braces.
fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with(';')) {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let length = match first {
                '"' => 2 + rest[1..].find('"').expect("a text ends in its line"),
                '{' | '}' => 1,
                c if c.is_whitespace() || c == ',' => {
                    rest = &rest[1..];
                    continue;
                }
                _ => rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | '{' | '}')).unwrap_or(rest.len()),
            };
            found.push(rest[..length].to_owned());
            rest = &rest[length..];
        }
    }
    found
}

fn node(words: &[String], at: &mut usize) -> Node {
    let name = words[*at].strip_suffix(':').expect("a record begins with its name").to_owned();
    *at += 1;
    let mut node = Node { name, ..Node::default() };
    let mut is_array = false;
    while *at < words.len() && !words[*at].ends_with(':') && words[*at] != "}" {
        let word = &words[*at];
        *at += 1;
        if word == "{" {
            while words[*at] != "}" {
                node.below.push(self::node(words, at));
            }
            *at += 1;
            break;
        }
        is_array |= word.starts_with('*');
        if let Some(value) = value(word) {
            node.values.push(value);
        }
    }
    if is_array {
        let numbers = node.below.pop().unwrap_or_default().values;
        let whole = |value: &Value| if let Value::Whole(number) = value { Some(*number) } else { None };
        let real = |value: &Value| match value {
            Value::Whole(number) => *number as f64,
            Value::Real(number) => *number,
            _ => 0.0,
        };
        node.values = vec![match numbers.iter().map(whole).collect() {
            Some(all) => Value::Wholes(all),
            None => Value::Reals(numbers.iter().map(real).collect()),
        }];
    }
    node
}

/// A value; none for the count of an array, which follows from its numbers.
fn value(word: &str) -> Option<Value> {
    if let Some(text) = word.strip_prefix('"') {
        let text = text.trim_end_matches('"');
        // "Model::arm" in a text.
        return Some(Value::Text(match text.split_once("::") {
            Some((class, name)) => format!("{name}\0\x01{class}"),
            None => text.to_owned(),
        }));
    }
    if word.starts_with('*') {
        return None;
    }
    Some(match word.parse() {
        Ok(whole) => Value::Whole(whole),
        Err(_) => Value::Real(word.parse().unwrap_or_else(|_| panic!("\"{word}\" is no value"))),
    })
}

fn write(node: &Node, file: &mut Vec<u8>) {
    let start = file.len();
    let values: Vec<u8> = node.values.iter().flat_map(bytes).collect();
    for number in [0, node.values.len() as u32, values.len() as u32] {
        file.extend(number.to_le_bytes());
    }
    file.push(node.name.len() as u8);
    file.extend(node.name.as_bytes());
    file.extend(values);
    if !node.below.is_empty() {
        node.below.iter().for_each(|below| write(below, file));
        file.extend([0; 13]);
    }
    let end = file.len() as u32;
    file[start..start + 4].copy_from_slice(&end.to_le_bytes());
}

fn bytes(value: &Value) -> Vec<u8> {
    let array = |kind: u8, count: usize, numbers: Vec<u8>| {
        let head = [count as u32, 0, numbers.len() as u32].map(u32::to_le_bytes).concat();
        [&[kind][..], &head, &numbers].concat()
    };
    match value {
        Value::Text(text) => [b"S", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat(),
        Value::Whole(number) => [b"L", &number.to_le_bytes()[..]].concat(),
        Value::Real(number) => [b"D", &number.to_le_bytes()[..]].concat(),
        Value::Wholes(list) => {
            let narrow: Option<Vec<[u8; 4]>> =
                list.iter().map(|&number| Some(i32::try_from(number).ok()?.to_le_bytes())).collect();
            match narrow {
                Some(list) => array(b'i', list.len(), list.concat()),
                None => array(b'l', list.len(), list.iter().flat_map(|number| number.to_le_bytes()).collect()),
            }
        }
        Value::Reals(list) => array(b'd', list.len(), list.iter().flat_map(|number| number.to_le_bytes()).collect()),
    }
}
