//! NumPy arrays in and out: shapes and types checked, the argument named in every error.

use crate::errors::{error, hinted, of_arrays};
use dermis::arrays::{ArrayError, affine};
use dermis::glam::{DAffine3, DVec3};
use numpy::{
    Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Numbers that are read where they lie, of 32 or 64 bits, in C order.
pub enum Floats<'py> {
    Single(PyReadonlyArrayDyn<'py, f32>),
    Double(PyReadonlyArrayDyn<'py, f64>),
}

/// The entries of [`Floats`], for a thread without the interpreter's lock.
#[derive(Clone, Copy)]
pub enum Numbers<'a> {
    Single(&'a [f32]),
    Double(&'a [f64]),
}

impl Numbers<'_> {
    /// Entry `at`, counted in C order.
    pub fn at(self, at: usize) -> f64 {
        match self {
            Self::Single(entries) => f64::from(entries[at]),
            Self::Double(entries) => entries[at],
        }
    }

    /// Vector `at` of an array (…, 3).
    pub fn vector(self, at: usize) -> DVec3 {
        DVec3::new(self.at(3 * at), self.at(3 * at + 1), self.at(3 * at + 2))
    }

    /// Matrix `at` of an array (…, 4, 4).
    ///
    /// # Errors
    /// [`ArrayError`] for a matrix that is not affine.
    pub fn matrix(self, at: usize) -> Result<DAffine3, ArrayError> {
        affine(std::array::from_fn(|entry| self.at(16 * at + entry)))
    }

    fn len(self) -> usize {
        match self {
            Self::Single(entries) => entries.len(),
            Self::Double(entries) => entries.len(),
        }
    }

    fn first_not_finite(self) -> Option<usize> {
        match self {
            Self::Single(entries) => entries.iter().position(|x| !x.is_finite()),
            Self::Double(entries) => entries.iter().position(|x| !x.is_finite()),
        }
    }
}

/// Entries from which on an array is looked through without the interpreter's lock. A pose of 60 bones has 960 and is one of thousands;
/// a skin of 30,000 vertices has 90,000, and takes as long as giving the lock away and back a hundred times.
const LARGE: usize = 1 << 16;

/// An extent that an array must have, or any.
#[derive(Clone, Copy)]
pub enum Extent {
    /// Exactly so many.
    Is(usize),
    /// Any number, called so.
    Any(&'static str),
}

use Extent::{Any, Is};

impl<'py> Floats<'py> {
    /// An array of any floating or integer type and any layout, copied only where it is not C-contiguous of 32 or 64 bits.
    /// All of its entries are finite.
    ///
    /// # Errors
    /// `dermis.Error` that names the argument, with expected and found shape, or the entry that is not finite.
    pub fn of(name: &str, value: &Bound<'py, PyAny>, shapes: &[&[Extent]]) -> PyResult<Self> {
        let array = numbers(name, value, "fiu", "numbers")?;
        fits(name, array.shape(), shapes)?;
        let single = array.dtype().kind() == b'f' && array.dtype().itemsize() <= 4;
        let floats = match single {
            true => Self::Single(contiguous::<f32>(&array, "float32")?),
            false => Self::Double(contiguous::<f64>(&array, "float64")?),
        };
        let entries = floats.entries()?;
        let not_finite = match entries.len() < LARGE {
            true => entries.first_not_finite(),
            false => value.py().detach(|| entries.first_not_finite()),
        };
        match not_finite {
            Some(at) => Err(error(format!("{name}: entry {} is not finite", place(at, floats.shape())))),
            None => Ok(floats),
        }
    }

    /// Its extents.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::Single(array) => array.shape(),
            Self::Double(array) => array.shape(),
        }
    }

    /// Its entries in C order.
    ///
    /// # Errors
    /// Never for what [`Floats::of`] made.
    pub fn entries(&self) -> PyResult<Numbers<'_>> {
        let failed = |found: &dyn std::fmt::Display| error(found.to_string());
        Ok(match self {
            Self::Single(array) => Numbers::Single(array.as_slice().map_err(|e| failed(&e))?),
            Self::Double(array) => Numbers::Double(array.as_slice().map_err(|e| failed(&e))?),
        })
    }

    /// Its vectors, for an array (…, 3).
    ///
    /// # Errors
    /// As [`Self::entries`].
    pub fn vectors(&self) -> PyResult<Vec<DVec3>> {
        let entries = self.entries()?;
        Ok((0..self.shape().iter().product::<usize>() / 3).map(|at| entries.vector(at)).collect())
    }

    /// Its matrices, for an array (…, 4, 4).
    ///
    /// # Errors
    /// `dermis.Error` for a matrix that is not affine, naming its place.
    pub fn matrices(&self, name: &str) -> PyResult<Vec<DAffine3>> {
        let entries = self.entries()?;
        let shape = &self.shape()[..self.shape().len() - 2];
        let matrix = |at| entries.matrix(at).map_err(|found| in_matrix(name, at, shape, &found));
        (0..shape.iter().product()).map(matrix).collect()
    }
}

/// The error of a matrix, with its place.
pub fn in_matrix(name: &str, at: usize, shape: &[usize], found: &ArrayError) -> PyErr {
    match found {
        ArrayError::LastRow(_) => error(format!("{name}: matrix {}: {found}", place(at, shape))),
        other => of_arrays(other),
    }
}

/// Whole numbers, whatever their type.
///
/// # Errors
/// As [`Floats::of`].
pub fn integers(name: &str, value: &Bound<'_, PyAny>, shapes: &[&[Extent]]) -> PyResult<(Vec<i64>, Vec<usize>)> {
    let array = numbers(name, value, "iu", "whole numbers")?;
    fits(name, array.shape(), shapes)?;
    let whole = contiguous::<i64>(&array, "int64")?;
    let entries = whole.as_slice().map_err(|e| error(e.to_string()))?;
    Ok((entries.to_vec(), whole.shape().to_vec()))
}

/// An array whose type is one of `kinds`, by NumPy's letters.
fn numbers<'py>(
    name: &str,
    value: &Bound<'py, PyAny>,
    kinds: &str,
    what: &str,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let array = match value.cast::<PyUntypedArray>() {
        Ok(array) => array.clone(),
        Err(_) => {
            let made = value.py().import("numpy")?.call_method1("asarray", (value,));
            made.map_err(|cause| error(format!("{name}: no array can be made of it: {cause}")))?.cast_into()?
        }
    };
    let dtype = array.dtype();
    if !kinds.as_bytes().contains(&dtype.kind()) {
        return Err(error(format!("{name}: an array of {what} is expected, and this is one of {dtype}")));
    }
    Ok(array)
}

/// The array itself if it is C-contiguous, aligned and of that type, a copy otherwise.
fn contiguous<'py, T: Element>(
    array: &Bound<'py, PyUntypedArray>,
    dtype: &str,
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    let aligned = array.is_c_contiguous() && array.is_aligned();
    let array = match array.cast::<PyArrayDyn<T>>() {
        Ok(same) if aligned => same.clone(),
        _ => {
            let options = PyDict::new(array.py());
            options.set_item("dtype", dtype)?;
            options.set_item("order", "C")?;
            array.py().import("numpy")?.call_method("array", (array,), Some(&options))?.cast_into()?
        }
    };
    array.try_readonly().map_err(|found| error(found.to_string()))
}

/// Checks a shape against those that serve.
fn fits(name: &str, found: &[usize], shapes: &[&[Extent]]) -> PyResult<()> {
    let alike = |shape: &&&[Extent]| {
        let extents = shape.iter().zip(found);
        shape.len() == found.len()
            && extents.into_iter().all(|(e, f)| matches!(e, Any(_)) || matches!(e, Is(n) if n == f))
    };
    if shapes.iter().any(|shape| alike(&shape)) {
        return Ok(());
    }
    let expected: Vec<String> = shapes.iter().map(|shape| extents(shape)).collect();
    let hint = match (found, shapes) {
        ([.., 4, 4], _) | (_, []) => "",
        ([.., 3, 4], _) => "matrices have four rows: add [0, 0, 0, 1]",
        _ => "",
    };
    Err(hinted(format!("{name} has shape {}; {} is expected", shape_text(found), expected.join(" or ")), hint))
}

fn extents(shape: &[Extent]) -> String {
    let text: Vec<String> = shape
        .iter()
        .map(|extent| match extent {
            Is(n) => n.to_string(),
            Any(name) => (*name).to_owned(),
        })
        .collect();
    tuple(&text)
}

/// A shape as Python writes it.
pub fn shape_text(shape: &[usize]) -> String {
    tuple(&shape.iter().map(ToString::to_string).collect::<Vec<_>>())
}

fn tuple(parts: &[String]) -> String {
    match parts {
        [one] => format!("({one},)"),
        _ => format!("({})", parts.join(", ")),
    }
}

/// The indices of entry `at` in an array of this shape.
fn place(mut at: usize, shape: &[usize]) -> String {
    let mut indices: Vec<String> = Vec::new();
    for &extent in shape.iter().rev() {
        indices.push((at % extent.max(1)).to_string());
        at /= extent.max(1);
    }
    indices.reverse();
    format!("[{}]", indices.join(", "))
}

/// Memory that the caller lends for the output: float32, C-contiguous, writable, of that shape.
///
/// # Errors
/// `dermis.Error` that says which of these it is not.
pub fn lent<'py>(name: &str, value: &Bound<'py, PyAny>, shape: &[usize]) -> PyResult<PyReadwriteArrayDyn<'py, f32>> {
    let Ok(array) = value.cast::<PyUntypedArray>() else {
        return Err(error(format!("{name}: a NumPy array of float32 is expected, and this is {}", value.get_type())));
    };
    let Ok(typed) = value.cast::<PyArrayDyn<f32>>() else {
        return Err(error(format!("{name} has dtype {}; float32 is expected", array.dtype())));
    };
    if array.shape() != shape {
        let (found, expected) = (shape_text(array.shape()), shape_text(shape));
        return Err(error(format!("{name} has shape {found}; {expected} is expected")));
    }
    if !(array.is_c_contiguous() && array.is_aligned()) {
        return Err(error(format!("{name} is not C-contiguous")));
    }
    typed.try_readwrite().map_err(|found| match found {
        numpy::BorrowError::NotWriteable => error(format!("{name} is read-only")),
        other => error(format!("{name}: {other}")),
    })
}
