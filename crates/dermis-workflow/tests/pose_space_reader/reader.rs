//! A reader of the extension `DERMIS_pose_space`, written from docs/drivers.md alone: a GLB and bone transforms in, weights out.
use dermis_rig::glam::{DMat3, DQuat, DVec3};
use serde_json::Value;

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().unwrap().iter()
}
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}
fn numbers(value: &Value) -> Vec<f64> {
    list(value).map(number).collect()
}

/// `bone` gives the linear part of the skin's matrix of a node, `channel` the value of a channel.
pub fn weights(glb: &[u8], bone: &dyn Fn(usize) -> DMat3, channel: &dyn Fn(&str) -> f64) -> Vec<f64> {
    let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    let gltf: Value = serde_json::from_slice(&glb[20..20 + length]).unwrap();
    let driver = list(&gltf["nodes"]).find_map(|node| node["extensions"].get("DERMIS_pose_space")).unwrap();
    let joints = list(&driver["joints"]).map(|joint| {
        let node = |value: &Value| bone(value.as_u64().unwrap() as usize);
        let seen = |pair: &Value| node(&pair[0]).inverse() * node(&pair[1]);
        let q = list(&joint["path"]).map(seen).fold(DMat3::IDENTITY, |q, r| q * r);
        let x = coordinate(q, &driver["coordinates"], &joint["axis"]);
        // Of a part the numbers of the other part are zero.
        let part = joint["part"].as_str();
        let is_read = |i: usize| part.is_none_or(|part| (part == "swing") == (i < 3));
        limited(x.into_iter().enumerate().map(|(i, x)| if is_read(i) { x } else { 0.0 }).collect(), &joint["limit"])
    });
    let channels = list(&driver["channels"])
        .map(|c| limited(vec![number(&c["scale"]) * channel(c["name"].as_str().unwrap())], &c["limit"]));
    let x: Vec<Vec<f64>> = joints.chain(channels).collect();
    let mut weights = numbers(&driver["offset"]);
    let mut windows = vec![1.0; weights.len()];
    for region in list(&driver["regions"]) {
        let values = values(driver, region, &x);
        for (shape, row) in list(&region["shapes"]).zip(list(&region["matrix"])) {
            let row = numbers(row);
            assert_eq!(row.len(), values.len());
            weights[shape.as_u64().unwrap() as usize] += row.iter().zip(&values).map(|(a, k)| a * k).sum::<f64>();
        }
        let own = list(&region["shapes"]).zip(region["windows"].as_array().into_iter().flatten());
        own.for_each(|(shape, own)| windows[shape.as_u64().unwrap() as usize] *= window(region, own, &x));
    }
    let clamp = numbers(&driver["clamp"]);
    weights.into_iter().zip(windows).map(|(w, factor)| factor * w.clamp(clamp[0], clamp[1])).collect()
}

fn window(region: &Value, window: &Value, x: &[Vec<f64>]) -> f64 {
    let mut centre = numbers(&region["centres"][number(&window["centre"]) as usize]).into_iter();
    let square = |(pair, b): (&Value, f64)| {
        let x = &x[number(&pair[0]) as usize];
        b * x.iter().map(|x| (x - centre.next().unwrap()).powi(2)).sum::<f64>()
    };
    let r = list(&region["relevance"]).zip(numbers(&window["relevance"])).map(square).sum::<f64>().sqrt();
    let t = (4.0 * r - 3.0).clamp(0.0, 1.0);
    1.0 - t * t * (3.0 - 2.0 * t)
}

fn values(driver: &Value, region: &Value, x: &[Vec<f64>]) -> Vec<f64> {
    let (kind, sigma) = (driver["kernel"]["kind"].as_str().unwrap(), number(&driver["kernel"]["sigma"]));
    let relevance: Vec<_> = list(&region["relevance"]).map(|p| (&x[number(&p[0]) as usize], number(&p[1]))).collect();
    let here: Vec<f64> = relevance.iter().flat_map(|(x, _)| x.iter().copied()).collect();
    let zero = vec![0.0; here.len()];
    let phi = |x: &[f64], y: &[f64]| {
        let mut at = 0;
        let squares = relevance.iter().map(|(own, a)| {
            at += own.len();
            let pairs = x[at - own.len()..at].iter().zip(&y[at - own.len()..at]);
            a * pairs.map(|(x, y)| (x - y) * (x - y)).sum::<f64>() / (sigma * sigma)
        });
        match kind {
            "gaussian" => (-squares.sum::<f64>()).exp(),
            "wendland" => squares.map(|s| (1.0 - s.sqrt()).max(0.0).powi(7) * (7.0 * s.sqrt() + 1.0)).product(),
            _ => -squares.sum::<f64>().sqrt(),
        }
    };
    let value = |y: Vec<f64>| match kind {
        "polyharmonic" => (phi(&here, &y) - phi(&here, &zero) - phi(&zero, &y)) / 2.0,
        _ => phi(&here, &y) - phi(&here, &zero) * phi(&zero, &y),
    };
    let mut values: Vec<f64> = list(&region["centres"]).map(|y| value(numbers(y))).collect();
    if driver["linear"] == true {
        values.extend(relevance.iter().flat_map(|(x, a)| x.iter().map(move |x| a.sqrt() * x)));
    }
    values
}

fn limited(x: Vec<f64>, limit: &Value) -> Vec<f64> {
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let factor = limit.as_f64().map_or(1.0, |limit| if norm > limit { limit / norm } else { 1.0 });
    x.into_iter().map(|x| x * factor).collect()
}

fn coordinate(q: DMat3, coordinates: &Value, axis: &Value) -> Vec<f64> {
    let r = (0..30).fold(q, |r, _| 0.5 * (r + r.inverse().transpose()));
    let quaternion = DQuat::from_mat3(&r);
    let v = DVec3::new(quaternion.x, quaternion.y, quaternion.z) * quaternion.w.signum();
    let w = quaternion.w.abs();
    match coordinates["kind"].as_str().unwrap() {
        "chord" => ((q - DMat3::IDENTITY) * 0.5f64.sqrt()).to_cols_array().to_vec(),
        "rotation-vector" => (v.normalize_or_zero() * 2.0 * v.length().atan2(w)).to_array().to_vec(),
        "euler" => {
            let at = |row: usize, column: usize| r.col(column)[row];
            vec![at(2, 1).atan2(at(2, 2)), (-at(2, 0)).clamp(-1.0, 1.0).asin(), at(1, 0).atan2(at(0, 0))]
        }
        _ => {
            let (swing, twist) = (number(&coordinates["swing"]), number(&coordinates["twist"]));
            let a = DVec3::from_slice(&numbers(axis));
            let (p, n) = (v.dot(a), v.dot(a).hypot(w));
            let (h, g) = if n < 1e-12 { (0.0, 1.0) } else { (p / n, w / n) };
            let mut x = ((r * a - a) * swing).to_array().to_vec();
            x.extend([-2.0 * h * h * twist, 2.0 * h * g * twist]);
            x
        }
    }
}
