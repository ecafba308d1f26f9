//! Matrices that stay in their file as integers until somebody needs them.
//!
//! A model in eight bits is translated with the integers themselves, which are packed straight from
//! the file. Unpacking it first would take four times its size in memory, and most of the time until
//! the first word.

use std::collections::HashMap;
use std::sync::Arc;

use abridge_machine::file::MappedFile;
use burn::module::ParamId;

/// A matrix of integers in a mapped file, with a scale for each row or each column.
#[derive(Clone, Debug)]
pub struct Integers {
    pub(super) map: Arc<MappedFile>,
    /// Where its bytes begin; all of them are in the file.
    pub(super) start: usize,
    /// Rows and columns.
    pub(super) shape: [usize; 2],
    pub(super) scales: Vec<f32>,
    /// Whether the scales are those of rows.
    pub(super) is_by_row: bool,
}

impl Integers {
    /// The bytes of the integers, row by row.
    fn bytes(&self) -> &[u8] {
        &self.map[self.start..][..self.shape[0] * self.shape[1]]
    }

    /// Gives the memory of its part of the file back to the system, after it was packed.
    pub(crate) fn release(&self) {
        self.map.release(self.start..self.start + self.shape[0] * self.shape[1]);
    }

    /// Rows and columns.
    pub(crate) fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// The integers of a row.
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = i8> {
        self.bytes()[row * self.shape[1]..][..self.shape[1]].iter().map(|&byte| byte as i8)
    }

    /// The integers of a column.
    pub(crate) fn column(&self, column: usize) -> impl Iterator<Item = i8> {
        self.bytes()[column..].iter().step_by(self.shape[1]).map(|&byte| byte as i8)
    }

    /// The scales of the columns, or `None` if rows have their own.
    pub(crate) fn column_scales(&self) -> Option<&[f32]> {
        (!self.is_by_row).then_some(&self.scales)
    }

    /// The scales of the rows, or `None` if columns have their own.
    pub(crate) fn row_scales(&self) -> Option<&[f32]> {
        self.is_by_row.then_some(&self.scales)
    }

    /// Whether all integers are between -127 and 127, which products of integers rely on.
    pub(super) fn is_symmetric(&self) -> bool {
        !self.bytes().contains(&0x80)
    }

    /// The values, row by row.
    pub(super) fn unpacked(&self) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.shape[0] * self.shape[1]);
        for row in 0..self.shape[0] {
            let integers = self.row(row).map(f32::from);
            if self.is_by_row {
                values.extend(integers.map(|value| value * self.scales[row]));
            } else {
                values.extend(integers.zip(&self.scales).map(|(value, scale)| value * scale));
            }
        }
        values
    }
}

/// The parameters of a network that are stored as integers.
#[derive(Debug, Default)]
pub struct StoredIntegers(HashMap<ParamId, Integers>);

impl StoredIntegers {
    pub(super) fn insert(&mut self, parameter: ParamId, integers: Integers) {
        self.0.insert(parameter, integers);
    }

    pub(crate) fn get(&self, parameter: ParamId) -> Option<&Integers> {
        self.0.get(&parameter)
    }
}
