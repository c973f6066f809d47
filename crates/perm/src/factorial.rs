//! Dimension permutations and the factorial numbers that name them (thesis section 4.3, table 4.1).

use std::fmt;
use std::str::FromStr;

/// A permutation of the axes of a row-major array.
///
/// `axes()[k]` is the old axis that becomes axis `k`: `(A, B, C)` to `(A, C, B)` is `[0, 2, 1]`.
/// Its name is its Lehmer code with a `!`: with the axes waiting in a queue, each digit says how
/// far down the queue the next axis is taken from, so 010! takes A, then the second of (B, C), then B.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DimPermutation {
    axes: Vec<usize>,
}

/// Why a list of axes or digits names no dimension permutation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DimPermutationError {
    /// An axis is repeated or out of range.
    #[error("axes {axes:?} are not a permutation of 0..{}", axes.len())]
    NotAPermutation {
        /// The list as given.
        axes: Vec<usize>,
    },
    /// A factorial digit is larger than the number of axes left to choose from allows.
    #[error("digit {digit} at place {place} exceeds {max}")]
    DigitTooLarge {
        /// Its place, counted from the left, 0-based.
        place: usize,
        /// The digit found.
        digit: usize,
        /// The largest digit that the place allows.
        max: usize,
    },
    /// The text is not digits followed by `!`.
    #[error("{text:?} is not a factorial number such as 0100!")]
    NotAFactorialNumber {
        /// The text as given.
        text: String,
    },
}

impl DimPermutation {
    /// From the old axis that each new axis shows.
    pub fn from_axes(axes: &[usize]) -> Result<Self, DimPermutationError> {
        let mut seen = vec![false; axes.len()];
        for &axis in axes {
            match seen.get_mut(axis) {
                Some(mark) if !*mark => *mark = true,
                _ => return Err(DimPermutationError::NotAPermutation { axes: axes.to_vec() }),
            }
        }
        Ok(DimPermutation { axes: axes.to_vec() })
    }

    /// From factorial digits, most significant first; the last digit is always 0.
    pub fn from_digits(digits: &[usize]) -> Result<Self, DimPermutationError> {
        let mut queue: Vec<usize> = (0..digits.len()).collect();
        let mut axes = Vec::with_capacity(digits.len());
        for (place, &digit) in digits.iter().enumerate() {
            if digit >= queue.len() {
                let max = queue.len() - 1;
                return Err(DimPermutationError::DigitTooLarge { place, digit, max });
            }
            axes.push(queue.remove(digit));
        }
        Ok(DimPermutation { axes })
    }

    /// The permutation of `order` axes that leaves every axis where it is.
    pub fn identity(order: usize) -> Self {
        DimPermutation { axes: (0..order).collect() }
    }

    /// Number of axes.
    pub fn order(&self) -> usize {
        self.axes.len()
    }

    /// The old axis that each new axis shows.
    pub fn axes(&self) -> &[usize] {
        &self.axes
    }

    /// The factorial digits, most significant first.
    pub fn digits(&self) -> Vec<usize> {
        let smaller_after =
            |k: usize| self.axes[k + 1..].iter().filter(|&&later| later < self.axes[k]).count();
        (0..self.order()).map(smaller_after).collect()
    }

    /// This permutation followed by `next`.
    ///
    /// # Panics
    /// When the two have different numbers of axes.
    pub fn then(&self, next: &Self) -> Self {
        assert_eq!(self.order(), next.order(), "composed permutations have equally many axes");
        DimPermutation { axes: next.axes.iter().map(|&axis| self.axes[axis]).collect() }
    }

    /// The permutation that undoes this one.
    pub fn inverse(&self) -> Self {
        let mut axes = vec![0; self.order()];
        for (to, &from) in self.axes.iter().enumerate() {
            axes[from] = to;
        }
        DimPermutation { axes }
    }

    /// The extents after the permutation, given those before.
    ///
    /// # Panics
    /// When `extents` has another number of axes.
    pub fn permute<T: Clone>(&self, extents: &[T]) -> Vec<T> {
        assert_eq!(self.order(), extents.len(), "one extent for each axis");
        self.axes.iter().map(|&axis| extents[axis].clone()).collect()
    }
}

impl fmt::Display for DimPermutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digits().iter().try_for_each(|digit| write!(f, "{digit}"))?;
        write!(f, "!")
    }
}

impl FromStr for DimPermutation {
    type Err = DimPermutationError;

    /// Reads a name such as `0100!`; a digit is one character, so up to ten axes.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || DimPermutationError::NotAFactorialNumber { text: text.to_owned() };
        let digits = text.strip_suffix('!').filter(|digits| !digits.is_empty()).ok_or_else(bad)?;
        let digits: Option<Vec<usize>> =
            digits.chars().map(|c| c.to_digit(10).map(|digit| digit as usize)).collect();
        Self::from_digits(&digits.ok_or_else(bad)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_of_order(order: usize) -> Vec<DimPermutation> {
        (0..order)
            .fold(vec![vec![]], |codes: Vec<Vec<usize>>, place| {
                let extend = |code: Vec<usize>| {
                    (0..order - place).map(move |digit| [code.clone(), vec![digit]].concat())
                };
                codes.into_iter().flat_map(extend).collect()
            })
            .iter()
            .map(|code| DimPermutation::from_digits(code).unwrap())
            .collect()
    }

    #[test]
    fn table_4_1() {
        for (name, from, to) in [
            ("010!", "ABC", "ACB"),
            ("100!", "ABC", "BAC"),
            ("1000!", "ABCD", "BACD"),
            ("0100!", "ABCD", "ACBD"),
            ("0010!", "ABCD", "ABDC"),
        ] {
            let permutation: DimPermutation = name.parse().unwrap();
            let letters: Vec<char> = from.chars().collect();
            assert_eq!(permutation.permute(&letters).iter().collect::<String>(), to);
            assert_eq!(permutation.to_string(), name);
        }
    }

    #[test]
    fn digits_round_trip_and_inverses_cancel() {
        for order in 0..6 {
            let all = all_of_order(order);
            assert_eq!(all.len(), (1..=order).product::<usize>());
            for p in &all {
                assert_eq!(DimPermutation::from_digits(&p.digits()).as_ref(), Ok(p));
                assert_eq!(DimPermutation::from_axes(p.axes()).as_ref(), Ok(p));
                assert_eq!(p.then(&p.inverse()), DimPermutation::identity(order));
                assert_eq!(p.inverse().then(p), DimPermutation::identity(order));
            }
        }
    }

    #[test]
    fn composition_permutes_one_after_the_other() {
        let extents = ['A', 'B', 'C', 'D'];
        for p in all_of_order(4) {
            for q in all_of_order(4) {
                assert_eq!(p.then(&q).permute(&extents), q.permute(&p.permute(&extents)));
            }
        }
    }

    #[test]
    fn four_and_three_stages_compose_to_the_transposition() {
        // (M', m, N', n) to (N', n, M', m) is 2200!: thesis sections 4.4 and 4.7.
        let compose = |names: &[&str]| {
            names
                .iter()
                .fold(DimPermutation::identity(4), |all, name| all.then(&name.parse().unwrap()))
        };
        assert_eq!(compose(&["0100!", "0010!", "1000!", "0100!"]).to_string(), "2200!");
        // 100! over (M, N', n) takes the pair (M', m) as one axis: 2000! with it spelled out.
        assert_eq!(compose(&["2000!", "0010!", "0100!"]).to_string(), "2200!");
        assert_eq!(compose(&["0210!", "2100!"]).to_string(), "2200!");
    }

    #[test]
    fn bad_names_are_errors() {
        assert!(matches!(
            "0300!".parse::<DimPermutation>(),
            Err(DimPermutationError::DigitTooLarge { place: 1, digit: 3, max: 2 })
        ));
        for text in ["", "!", "010", "0a0!"] {
            assert!(matches!(
                text.parse::<DimPermutation>(),
                Err(DimPermutationError::NotAFactorialNumber { .. })
            ));
        }
        assert!(DimPermutation::from_axes(&[0, 0]).is_err());
        assert!(DimPermutation::from_axes(&[0, 2]).is_err());
    }
}
