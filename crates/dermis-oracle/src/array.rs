//! Arrays of numbers as the files store them, and what they stand for.

use crate::case::CaseError;
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::skeleton::{from_rows, row};
use dermis_rig::{BoneTransforms, Influences};
use serde_json::Value;

/// Numbers with a shape, row-major; a scalar has the empty shape. NaN stands for `null`.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Length along each axis.
    pub shape: Vec<usize>,
    /// The numbers, last index fastest.
    pub data: Vec<f64>,
}

impl Array {
    /// An array of `shape`.
    ///
    /// # Panics
    /// If the shape does not have as many places as there are numbers.
    pub fn new(shape: &[usize], data: Vec<f64>) -> Self {
        assert_eq!(shape.iter().product::<usize>(), data.len(), "the shape does not fit the numbers");
        Self { shape: shape.to_vec(), data }
    }

    /// One number.
    pub fn scalar(number: f64) -> Self {
        Self { shape: Vec::new(), data: vec![number] }
    }

    /// Reads `{"shape": .., "data": ..}`, a plain number, or nested plain lists of numbers.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Number(_) | Value::Null => Ok(Self::scalar(number(value)?)),
            Value::Array(items) => Self::read_nested(items),
            Value::Object(object) => {
                let list = |key: &str| {
                    object.get(key).and_then(Value::as_array).ok_or_else(|| format!("has no list \"{key}\""))
                };
                let dimension = |d: &Value| d.as_u64().and_then(|d| usize::try_from(d).ok());
                let shape: Option<Vec<usize>> = list("shape")?.iter().map(dimension).collect();
                let shape = shape.ok_or("has a shape that is not a list of counts")?;
                let data = list("data")?.iter().map(number).collect::<Result<Vec<f64>, _>>()?;
                let places = shape.iter().try_fold(1usize, |product, &d| product.checked_mul(d));
                if places != Some(data.len()) {
                    return Err(format!("has shape {shape:?} but {} numbers", data.len()));
                }
                Ok(Self { shape, data })
            }
            _ => Err("is neither an array nor a number".into()),
        }
    }

    fn read_nested(items: &[Value]) -> Result<Self, String> {
        let parts = items.iter().map(Self::read).collect::<Result<Vec<_>, _>>()?;
        let inner = parts.first().map_or(Vec::new(), |part| part.shape.clone());
        if parts.iter().any(|part| part.shape != inner) {
            return Err("is a list whose items differ in shape".into());
        }
        let shape = std::iter::once(items.len()).chain(inner).collect();
        Ok(Self { shape, data: parts.into_iter().flat_map(|part| part.data).collect() })
    }

    /// The axes before the last `trailing` ones, if those are as given.
    fn leading(&self, key: &str, trailing: &[usize]) -> Result<&[usize], CaseError> {
        self.shape.strip_suffix(trailing).ok_or_else(|| CaseError::Shape {
            key: key.into(),
            found: self.shape.clone(),
            wanted: trailing.to_vec(),
        })
    }

    /// An array known to be finite.
    fn finite(&self, key: &str) -> Result<&Self, CaseError> {
        match self.data.iter().all(|x| x.is_finite()) {
            true => Ok(self),
            false => {
                Err(CaseError::Malformed { key: key.into(), reason: "holds null where a number is needed".into() })
            }
        }
    }

    /// (.., 3): the points, and the axes before.
    ///
    /// # Errors
    /// [`CaseError`] if the shape is another, or a number is missing.
    pub fn points(&self, key: &str) -> Result<(Vec<usize>, Vec<DVec3>), CaseError> {
        let leading = self.finite(key)?.leading(key, &[3])?;
        Ok((leading.to_vec(), self.data.chunks_exact(3).map(DVec3::from_slice).collect()))
    }

    /// (F, 3): triangles over so many vertices.
    ///
    /// # Errors
    /// [`CaseError`] if the shape is another, or an entry is no vertex.
    pub fn triangles(&self, key: &str, vertices: usize) -> Result<Vec<[u32; 3]>, CaseError> {
        self.finite(key)?.leading(key, &[3])?;
        if self.data.iter().any(|x| x.fract() != 0.0 || !(0.0..vertices as f64).contains(x)) {
            return Err(CaseError::Malformed {
                key: key.into(),
                reason: format!("names none of the {vertices} vertices"),
            });
        }
        Ok(self.data.chunks_exact(3).map(|c| [c[0] as u32, c[1] as u32, c[2] as u32]).collect())
    }

    /// (.., 4): quaternions stored as (w, x, y, z), made unit, and the axes before.
    ///
    /// # Errors
    /// [`CaseError`] if the shape is another, or a number is missing.
    pub fn quaternions(&self, key: &str) -> Result<(Vec<usize>, Vec<DQuat>), CaseError> {
        let leading = self.finite(key)?.leading(key, &[4])?;
        let unit = |q: &[f64]| DQuat::from_xyzw(q[1], q[2], q[3], q[0]).normalize();
        Ok((leading.to_vec(), self.data.chunks_exact(4).map(unit).collect()))
    }

    /// (.., 3, 3): matrices, and the axes before.
    ///
    /// # Errors
    /// [`CaseError`] if the shape is another, or a number is missing.
    pub fn matrices(&self, key: &str) -> Result<(Vec<usize>, Vec<DMat3>), CaseError> {
        let leading = self.finite(key)?.leading(key, &[3, 3])?;
        let matrix = |m: &[f64]| DMat3::from_cols_slice(m).transpose();
        Ok((leading.to_vec(), self.data.chunks_exact(9).map(matrix).collect()))
    }

    /// (.., 4, 4) with last row 0 0 0 1, or (.., 3, 4): affine maps, and the axes before.
    ///
    /// # Errors
    /// [`CaseError`] if the shape or the last row is another, or a number is missing.
    pub fn affine(&self, key: &str) -> Result<(Vec<usize>, Vec<DAffine3>), CaseError> {
        let rows = if self.shape.ends_with(&[3, 4]) { 3 } else { 4 };
        let leading = self.finite(key)?.leading(key, &[rows, 4])?;
        let mut maps = Vec::with_capacity(self.data.len() / (4 * rows));
        for m in self.data.chunks_exact(4 * rows) {
            if rows == 4 && m[12..] != [0.0, 0.0, 0.0, 1.0] {
                let reason = "has a matrix whose last row is not 0 0 0 1".into();
                return Err(CaseError::Malformed { key: key.into(), reason });
            }
            maps.push(from_rows([0, 4, 8].map(|at| [m[at], m[at + 1], m[at + 2], m[at + 3]])));
        }
        Ok((leading.to_vec(), maps))
    }

    /// (.., bones, 4, 4): one set of bone transforms per pose, and the axes before the bones.
    ///
    /// # Errors
    /// [`CaseError`] if the shape is another, or a number is missing.
    pub fn poses(&self, key: &str) -> Result<(Vec<usize>, Vec<BoneTransforms>), CaseError> {
        let (mut leading, maps) = self.affine(key)?;
        let bones = leading.pop().filter(|&bones| bones > 0).ok_or_else(|| CaseError::Shape {
            key: key.into(),
            found: self.shape.clone(),
            wanted: vec![1, 4, 4],
        })?;
        Ok((leading, maps.chunks_exact(bones).map(|pose| BoneTransforms::new(pose.to_vec())).collect()))
    }

    /// (vertices, bones): influences, checked against these counts.
    ///
    /// # Errors
    /// [`CaseError`] if the shape is another, or a number is missing.
    pub fn influences(&self, key: &str, bones: usize) -> Result<Influences, CaseError> {
        self.finite(key)?.leading(key, &[bones])?;
        if self.shape.len() != 2 || bones == 0 {
            return Err(CaseError::Shape { key: key.into(), found: self.shape.clone(), wanted: vec![1, bones] });
        }
        Influences::from_dense(&self.data, bones).map_err(CaseError::refused)
    }

    /// Whole numbers.
    ///
    /// # Errors
    /// [`CaseError`] if a number is not whole, or beyond 2⁵³.
    pub fn integers(&self, key: &str) -> Result<Vec<i64>, CaseError> {
        let whole = |&x: &f64| (x.fract() == 0.0 && x.abs() <= 9e15).then_some(x as i64);
        self.data.iter().map(whole).collect::<Option<Vec<_>>>().ok_or_else(|| CaseError::Malformed {
            key: key.into(),
            reason: "holds something that is not a whole number".into(),
        })
    }

    /// Points as (leading.., 3).
    pub fn from_points(leading: &[usize], points: &[DVec3]) -> Self {
        Self::new(&[leading, &[3]].concat(), points.iter().flat_map(|p| p.to_array()).collect())
    }

    /// Matrices as (leading.., 3, 3).
    pub fn from_matrices(leading: &[usize], matrices: &[DMat3]) -> Self {
        let numbers = matrices.iter().flat_map(|m| m.transpose().to_cols_array()).collect();
        Self::new(&[leading, &[3, 3]].concat(), numbers)
    }

    /// Affine maps as (leading.., 3, 4).
    pub fn from_affine34(leading: &[usize], maps: &[DAffine3]) -> Self {
        let numbers = maps.iter().flat_map(|m| [0, 1, 2].map(|r| row(m, r))).flatten().collect();
        Self::new(&[leading, &[3, 4]].concat(), numbers)
    }

    /// Affine maps as (leading.., 4, 4).
    pub fn from_affine(leading: &[usize], maps: &[DAffine3]) -> Self {
        let rows = |m: &DAffine3| [row(m, 0), row(m, 1), row(m, 2), [0.0, 0.0, 0.0, 1.0]];
        Self::new(&[leading, &[4, 4]].concat(), maps.iter().flat_map(rows).flatten().collect())
    }

    /// Influences as (vertices, bones).
    pub fn from_influences(influences: &Influences, bones: usize) -> Self {
        let mut table = vec![0.0; influences.vertices() * bones];
        for (v, row) in influences.rows().enumerate() {
            for &(bone, value) in row {
                table[v * bones + bone.get()] = value;
            }
        }
        Self::new(&[influences.vertices(), bones], table)
    }
}

fn number(value: &Value) -> Result<f64, String> {
    match value {
        Value::Null => Ok(f64::NAN),
        _ => value.as_f64().ok_or_else(|| format!("holds {value} where a number is needed")),
    }
}
