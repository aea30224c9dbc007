//! Typed indices: a bone cannot be used where a vertex is meant.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// An index type made by [`define_index!`](crate::define_index).
pub trait TypedIndex: Copy {
    /// The index of position `at`.
    fn from_usize(at: usize) -> Self;
    /// The position.
    fn get(self) -> usize;
}

/// Defines a `u32` index type whose `Option` costs nothing.
#[macro_export]
macro_rules! define_index {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(std::num::NonZeroU32);
        impl $name {
            /// The index of position `at`.
            ///
            /// # Panics
            /// If `at` does not fit into 32 bits less one; readers bound their counts long before.
            pub const fn new(at: usize) -> Self {
                assert!(at < u32::MAX as usize, "index beyond 32 bits");
                match std::num::NonZeroU32::new(at as u32 + 1) {
                    Some(stored) => Self(stored),
                    None => unreachable!(),
                }
            }
            /// The position.
            pub const fn get(self) -> usize {
                self.0.get() as usize - 1
            }
        }
        impl $crate::index::TypedIndex for $name {
            fn from_usize(at: usize) -> Self {
                Self::new(at)
            }
            fn get(self) -> usize {
                self.get()
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.get())
            }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.get())
            }
        }
    };
}

define_index!(BoneIndex, "A bone, in skeleton order: a parent always comes before its children.");
define_index!(VertexIndex, "A vertex of the rest mesh as authored, before seams are split for export.");

const _: () = assert!(size_of::<Option<BoneIndex>>() == 4); // "no parent" costs nothing

/// A vector that can only be indexed by `I`.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexVec<I, T> {
    values: Vec<T>,
    index: PhantomData<I>,
}

/// One value per bone.
pub type BoneVec<T> = IndexVec<BoneIndex, T>;

impl<I: TypedIndex, T> IndexVec<I, T> {
    /// Wraps values that are already in index order.
    pub fn new(values: Vec<T>) -> Self {
        Self { values, index: PhantomData }
    }
    /// The indices, in order.
    pub fn indices(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.values.len()).map(I::from_usize)
    }
    /// Index and value, in order.
    pub fn enumerate(&self) -> impl Iterator<Item = (I, &T)> {
        self.values.iter().enumerate().map(|(at, value)| (I::from_usize(at), value))
    }
    /// The values as a plain slice.
    pub fn as_slice(&self) -> &[T] {
        &self.values
    }
    /// Gives the values back.
    pub fn into_vec(self) -> Vec<T> {
        self.values
    }
}

impl<I, T> std::ops::Deref for IndexVec<I, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<I: TypedIndex, T> Index<I> for IndexVec<I, T> {
    type Output = T;
    fn index(&self, at: I) -> &T {
        &self.values[at.get()]
    }
}

impl<I: TypedIndex, T> IndexMut<I> for IndexVec<I, T> {
    fn index_mut(&mut self, at: I) -> &mut T {
        &mut self.values[at.get()]
    }
}
