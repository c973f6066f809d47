//! Patterns in einops notation, which split, permute and join axes by a single axis permutation.
//!
//! `b c (h p) (w q) -> b (h w) (p q c)` names the axes of the source and of the result. Parentheses
//! split an axis on the left and join axes on the right. `1` and `()` are axes of extent 1, and
//! `...` stands for all unnamed axes.

use std::fmt;

use turntile_perm::MAX_RANK;

/// Axis permutation of an array whose axes are first split into *parts*, and whose permuted parts
/// are then joined to form the axes of the result.
///
/// ```
/// use turntile::layout::Rearrangement;
///
/// // Blocks of 32 channels.
/// let blocked = Rearrangement::new("b (c k) h w -> b c h w k", &[8, 64, 7, 5], &[("k", 32)])?;
/// assert_eq!((blocked.extents(), blocked.order()), (&[8, 2, 32, 7, 5][..], &[0, 1, 3, 4, 2][..]));
/// assert_eq!(blocked.shape(), [8, 2, 7, 5, 32]);
/// # Ok::<(), turntile::layout::PatternError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rearrangement {
    extents: Vec<usize>,
    order: Vec<usize>,
    /// Number of parts of each axis of the source.
    split: Vec<usize>,
    /// Number of parts of each axis of the result.
    joined: Vec<usize>,
}

/// Side of a pattern's arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Left side: axes of the source.
    Left,
    /// Right side: axes of the result.
    Right,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Side::Left { "left" } else { "right" })
    }
}

/// Error: a pattern is invalid or does not fit the array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pattern \"{pattern}\": {fault}")]
pub struct PatternError {
    /// Pattern as given.
    pub pattern: String,
    /// Fault of the pattern.
    pub fault: PatternFault,
}

/// Fault of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternFault {
    /// The pattern does not have exactly one arrow.
    #[error("expected one ->, found {found}")]
    Arrows {
        /// Number of arrows.
        found: usize,
    },
    /// A character is not allowed in patterns.
    #[error(
        "unknown character {character:?}: a pattern has names, 1, ... and parentheses, separated by spaces"
    )]
    Character {
        /// First character of the pattern that is not allowed.
        character: char,
    },
    /// A word is not a valid name.
    #[error(
        "{word} is not a name: a name has letters, digits and _, starts with a letter and does not end with _"
    )]
    Name {
        /// Word that is not a name.
        word: String,
    },
    /// Dots are not an ellipsis.
    #[error("{word} is not an ellipsis: write three dots as a separate word")]
    Dots {
        /// Word with the dots.
        word: String,
    },
    /// A number is not 1.
    #[error(
        "{number} is on the {side}: the only number is 1, because axes are neither repeated nor reduced; name the axis and give its size"
    )]
    Number {
        /// Number as given.
        number: String,
        /// Side of the pattern.
        side: Side,
    },
    /// Parentheses are nested.
    #[error("parentheses in parentheses on the {side}")]
    Nested {
        /// Side of the pattern.
        side: Side,
    },
    /// A parenthesis has no counterpart.
    #[error("a {parenthesis} on the {side} has no counterpart")]
    Unbalanced {
        /// Opening or closing parenthesis.
        parenthesis: char,
        /// Side of the pattern.
        side: Side,
    },
    /// A name or `...` occurs twice on one side.
    #[error("{name} occurs twice on the {side}")]
    Twice {
        /// Name, or `...`, that occurs twice.
        name: String,
        /// Side of the pattern.
        side: Side,
    },
    /// `...` is in parentheses on the left.
    #[error("... is in parentheses on the left: it cannot be part of an axis")]
    SplitEllipsis,
    /// Names or `...` occur on one side only.
    #[error("{}: turntile rearranges only, and neither repeats nor reduces", list(names, |(name, side)| format!("{name} is only on the {side}")))]
    OneSided {
        /// Names with the sides on which they occur.
        names: Vec<(String, Side)>,
    },
    /// A size is given for an unknown axis.
    #[error("a size is given for {name}, but no axis has that name")]
    Unused {
        /// Name for which the size is given.
        name: String,
    },
    /// Two sizes are given for one axis.
    #[error("two sizes are given for {name}")]
    Resized {
        /// Name for which two sizes are given.
        name: String,
    },
    /// The array and the left side have different numbers of axes.
    #[error(
        "the left side has {axes} {}{}, the array has {}",
        if *axes == 1 { "axis" } else { "axes" },
        if *or_more { " or more" } else { "" },
        if shape.is_empty() { "none".into() } else { format!("{}: {shape:?}", shape.len()) },
    )]
    Rank {
        /// Number of axes on the left, not counting `...`.
        axes: usize,
        /// `true` if the left has `...`.
        or_more: bool,
        /// Shape of the array.
        shape: Vec<usize>,
    },
    /// The split or the result has too many axes.
    #[error("{axes} axes after the split or in the result, at most {MAX_RANK} are supported")]
    TooMany {
        /// Number of axes after the split or in the result, whichever is larger.
        axes: usize,
    },
    /// One axis has several parts of unknown sizes.
    #[error(
        "axis {axis}, of extent {extent}, is split into {} of unknown sizes: give all but one",
        list(names, String::clone)
    )]
    Unknown {
        /// Index of the source axis, from 0.
        axis: usize,
        /// Extent of the source axis.
        extent: usize,
        /// Names of the parts of unknown sizes.
        names: Vec<String>,
    },
    /// The product of the given sizes does not divide the extent of an axis.
    #[error("axis {axis} has extent {extent}, which {} does not divide", product_of(given, *product))]
    Division {
        /// Index of the source axis, from 0.
        axis: usize,
        /// Extent of the source axis.
        extent: usize,
        /// Product of the given sizes of its parts.
        product: usize,
        /// Names and given sizes of the parts.
        given: Vec<(String, usize)>,
    },
    /// The extent of an axis differs from the product of the given sizes.
    #[error("axis {axis} has extent {extent}, but the pattern gives {}", product_of(given, *product))]
    Extent {
        /// Index of the source axis, from 0.
        axis: usize,
        /// Extent of the source axis.
        extent: usize,
        /// Product of the given sizes of its parts; 1 for `1` and `()`.
        product: usize,
        /// Names and given sizes of the parts; empty for `1` and `()`.
        given: Vec<(String, usize)>,
    },
}

fn list<T>(all: &[T], text: impl Fn(&T) -> String) -> String {
    all.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Formats the given sizes and their product: `p=16`, `p=16 * q=4 = 64`.
fn product_of(given: &[(String, usize)], product: usize) -> String {
    let factors: Vec<String> = given.iter().map(|(name, size)| format!("{name}={size}")).collect();
    match &factors[..] {
        [] => product.to_string(),
        [one] => one.clone(),
        all => format!("{} = {product}", all.join(" * ")),
    }
}

const ELLIPSIS: &str = "...";

/// Axis on one side of a pattern.
enum Axis<'a> {
    /// All unnamed axes, written `...`.
    Ellipsis,
    /// Names of the parts of an axis; empty for `1` and `()`.
    Parts(Vec<&'a str>),
}

impl<'a> Axis<'a> {
    fn names(&self) -> &[&'a str] {
        match self {
            Axis::Ellipsis => &[ELLIPSIS],
            Axis::Parts(names) => names,
        }
    }
}

/// Parses the text of one side of a pattern into axes.
fn axes(text: &str, side: Side) -> Result<Vec<Axis<'_>>, PatternFault> {
    let (mut axes, mut named) = (Vec::new(), Vec::new());
    let mut joined: Option<Vec<&str>> = None;
    for piece in text.split_inclusive([' ', '(', ')']) {
        let word = piece.trim_end_matches([' ', '(', ')']);
        if !word.is_empty() {
            let name = name(word, side)?;
            if name.is_some_and(|name| named.contains(&name)) {
                return Err(PatternFault::Twice { name: word.to_owned(), side });
            }
            named.extend(name);
            match &mut joined {
                Some(parts) => parts.extend(name),
                None if word == ELLIPSIS => axes.push(Axis::Ellipsis),
                None => axes.push(Axis::Parts(name.into_iter().collect())),
            }
        }
        match (&piece[word.len()..], joined.take()) {
            ("(", None) => joined = Some(Vec::new()),
            ("(", Some(_)) => return Err(PatternFault::Nested { side }),
            (")", Some(parts)) => axes.push(Axis::Parts(parts)),
            (")", None) => return Err(PatternFault::Unbalanced { parenthesis: ')', side }),
            (_, open) => joined = open,
        }
    }
    match joined {
        Some(_) => Err(PatternFault::Unbalanced { parenthesis: '(', side }),
        None => Ok(axes),
    }
}

/// Returns `word` if it is a name or `...`, or `None` if it is 1. Other words are errors.
fn name(word: &str, side: Side) -> Result<Option<&str>, PatternFault> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || c.is_alphabetic() || "_.".contains(c);
    if word == ELLIPSIS {
        return Ok(Some(word));
    }
    if let Some(character) = word.chars().find(|&c| !is_known(c)) {
        return Err(PatternFault::Character { character });
    }
    if word.contains('.') {
        return Err(PatternFault::Dots { word: word.to_owned() });
    }
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        let is_one = word.trim_start_matches('0') == "1";
        let number = || PatternFault::Number { number: word.to_owned(), side };
        return if is_one { Ok(None) } else { Err(number()) };
    }
    if !word.starts_with(char::is_alphabetic) || word.ends_with('_') {
        return Err(PatternFault::Name { word: word.to_owned() });
    }
    Ok(Some(word))
}

/// Returns the extents of the parts of source axis `axis`: the given sizes, and at most one
/// inferred size.
fn parts(
    (axis, extent): (usize, usize),
    names: &[&str],
    sizes: &[(&str, usize)],
) -> Result<Vec<usize>, PatternFault> {
    let size = |name: &str| sizes.iter().find(|size| size.0 == name).map(|size| size.1);
    let known = names.iter().filter_map(|&name| Some((name.to_owned(), size(name)?)));
    let given: Vec<(String, usize)> = known.collect();
    let product = given.iter().fold(1usize, |all, (_, size)| all.saturating_mul(*size));
    match names.len() - given.len() {
        0 if product != extent => {
            return Err(PatternFault::Extent { axis, extent, product, given });
        }
        1 if product == 0 || extent % product != 0 => {
            return Err(PatternFault::Division { axis, extent, product, given });
        }
        0 | 1 => {}
        _ => {
            let unknown = names.iter().filter(|name| size(name).is_none());
            let names = unknown.map(|&name| name.to_owned()).collect();
            return Err(PatternFault::Unknown { axis, extent, names });
        }
    }
    Ok(names.iter().map(|name| size(name).unwrap_or_else(|| extent / product)).collect())
}

impl Rearrangement {
    /// Creates the rearrangement of an array of shape `shape` by `pattern`. `sizes` gives the
    /// extents of all but one part of each split axis, and of other axes to check.
    ///
    /// # Errors
    /// [`PatternError`]: the pattern is invalid, repeats or reduces, or does not fit the shape and
    /// sizes.
    pub fn new(
        pattern: &str,
        shape: &[usize],
        sizes: &[(&str, usize)],
    ) -> Result<Self, PatternError> {
        let in_pattern = |fault| PatternError { pattern: pattern.to_owned(), fault };
        Self::read(pattern, shape, sizes).map_err(in_pattern)
    }

    /// Creates a permutation of whole axes: axis `i` of the result is axis `axes[i]` of the source.
    /// `axes` must be a permutation.
    pub fn of_axes(shape: &[usize], axes: &[usize]) -> Self {
        let whole = vec![1; shape.len()];
        let (extents, order) = (shape.to_vec(), axes.to_vec());
        Rearrangement { extents, order, split: whole.clone(), joined: whole }
    }

    fn read(pattern: &str, shape: &[usize], sizes: &[(&str, usize)]) -> Result<Self, PatternFault> {
        let sides: Vec<&str> = pattern.split("->").collect();
        let [left, right] = sides[..] else {
            return Err(PatternFault::Arrows { found: sides.len() - 1 });
        };
        let (left, right) = (axes(left, Side::Left)?, axes(right, Side::Right)?);
        let is_bare = |axis: &Axis<'_>| matches!(axis, Axis::Ellipsis);
        if left.iter().any(|axis| !is_bare(axis) && axis.names().contains(&ELLIPSIS)) {
            return Err(PatternFault::SplitEllipsis);
        }
        let [left_names, right_names] = [&left, &right]
            .map(|side| side.iter().flat_map(Axis::names).copied().collect::<Vec<&str>>());
        let unmatched = |names: &[&str], others: &[&str], side| {
            let unmatched = names.iter().filter(|name| !others.contains(name));
            unmatched.map(|&name| (name.to_owned(), side)).collect::<Vec<_>>()
        };
        let names = [
            unmatched(&left_names, &right_names, Side::Left),
            unmatched(&right_names, &left_names, Side::Right),
        ]
        .concat();
        if !names.is_empty() {
            return Err(PatternFault::OneSided { names });
        }
        for (k, &(name, _)) in sizes.iter().enumerate() {
            let named = || name.to_owned();
            if name == ELLIPSIS || !left_names.contains(&name) {
                return Err(PatternFault::Unused { name: named() });
            }
            if sizes[..k].iter().any(|size| size.0 == name) {
                return Err(PatternFault::Resized { name: named() });
            }
        }
        let or_more = left.iter().any(is_bare);
        let axes = left.len() - usize::from(or_more);
        if shape.len() < axes || shape.len() > axes && !or_more {
            return Err(PatternFault::Rank { axes, or_more, shape: shape.to_vec() });
        }

        let mut all =
            Rearrangement { extents: vec![], order: vec![], split: vec![], joined: vec![] };
        // Index among all parts of the source of the first part that each name stands for.
        let mut starts = Vec::new();
        for axis in &left {
            let at = all.split.len();
            starts.extend((0..axis.names().len()).map(|k| all.extents.len() + k));
            match axis {
                Axis::Ellipsis => {
                    all.extents.extend(&shape[at..at + shape.len() - axes]);
                    all.split.resize(at + shape.len() - axes, 1);
                }
                Axis::Parts(names) => {
                    all.extents.extend(parts((at, shape[at]), names, sizes)?);
                    all.split.push(names.len());
                }
            }
        }
        for axis in &right {
            let from = all.order.len();
            for name in axis.names() {
                let position =
                    left_names.iter().position(|other| other == name).unwrap_or_default();
                let many = if *name == ELLIPSIS { shape.len() - axes } else { 1 };
                all.order.extend(starts[position]..starts[position] + many);
            }
            let parts = all.order.len() - from;
            match axis {
                Axis::Ellipsis => all.joined.resize(all.joined.len() + parts, 1),
                Axis::Parts(_) => all.joined.push(parts),
            }
        }
        let axes = all.extents.len().max(all.joined.len());
        if axes > MAX_RANK { Err(PatternFault::TooMany { axes }) } else { Ok(all) }
    }

    /// Returns the rearrangement for arrays stored with permuted axes: `source` and `result` list
    /// the axes of source and result in memory order, outermost first.
    #[must_use]
    pub fn in_memory(&self, source: &[usize], result: &[usize]) -> Self {
        let part_numbers = |counts: &[usize], axes: &[usize]| -> Vec<usize> {
            let parts_of = |&axis: &usize| {
                let start: usize = counts[..axis].iter().sum();
                start..start + counts[axis]
            };
            axes.iter().flat_map(parts_of).collect()
        };
        let from = part_numbers(&self.split, source);
        let mut position_of = vec![0; from.len()];
        from.iter().enumerate().for_each(|(to, &part)| position_of[part] = to);
        let order =
            part_numbers(&self.joined, result).into_iter().map(|to| position_of[self.order[to]]);
        Rearrangement {
            extents: from.iter().map(|&part| self.extents[part]).collect(),
            order: order.collect(),
            split: source.iter().map(|&axis| self.split[axis]).collect(),
            joined: result.iter().map(|&axis| self.joined[axis]).collect(),
        }
    }

    /// Returns the extents of the parts, which are the axes of the source after the split.
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// Returns the permutation of the parts: part `i` of the result is part `order[i]` of the
    /// source.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns the shape of the result.
    pub fn shape(&self) -> Vec<usize> {
        let mut order = self.order.iter();
        let extent = |&parts: &usize| {
            let parts = order.by_ref().take(parts);
            // The planner rejects arrays whose size overflows.
            parts.fold(1usize, |all, &part| all.saturating_mul(self.extents[part]))
        };
        self.joined.iter().map(extent).collect()
    }
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
