//! Influence selection. Its single-bone case awaits its method.

use crate::Method;
use crate::heat::CLOSEST_POINT;

pub(crate) const METHODS: &[Method] = &[CLOSEST_POINT];
