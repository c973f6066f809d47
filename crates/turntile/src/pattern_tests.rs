//! Tests of pattern parsing: rearrangements, compared with index arithmetic, and errors.

use super::*;
use proptest::prelude::*;
use proptest::sample::Index;

/// Returns the source offset of each element of the result of `all`, like a rearranged
/// `np.arange(n)`.
fn source_offsets(all: &Rearrangement) -> Vec<usize> {
    let (extents, len) = (all.extents(), all.extents().iter().product());
    let mut result = vec![0; len];
    for from in 0..len {
        let (mut digits, mut rest) = (vec![0; extents.len()], from);
        for axis in (0..extents.len()).rev() {
            (rest, digits[axis]) = (rest / extents[axis], rest % extents[axis]);
        }
        let to = all.order().iter().fold(0, |at, &axis| at * extents[axis] + digits[axis]);
        result[to] = from;
    }
    result
}

/// Axes of one side of a pattern, each a list of parts with their names and extents.
type ParsedSide = Vec<Vec<(String, usize)>>;

fn text(side: &ParsedSide) -> String {
    let axis = |axis: &Vec<(String, usize)>| match &axis[..] {
        [(name, _)] => name.clone(),
        all => format!("({})", list(all, |part| part.0.clone()).replace(',', "")),
    };
    side.iter().map(axis).collect::<Vec<_>>().join(" ")
}

fn shape(side: &ParsedSide) -> Vec<usize> {
    side.iter().map(|axis| axis.iter().map(|part| part.1).product()).collect()
}

/// Returns the source offset of each element of the result, by index arithmetic on the parts of
/// both sides.
fn reference_offsets(left: &ParsedSide, right: &ParsedSide) -> Vec<usize> {
    let (left, right) = (left.concat(), right.concat());
    let len = right.iter().map(|part| part.1).product::<usize>();
    let offset = |to: usize| {
        let mut rest = to;
        let mut digits = std::collections::HashMap::new();
        for (name, extent) in right.iter().rev() {
            digits.insert(name, rest % extent);
            rest /= extent;
        }
        left.iter().fold(0, |at, (name, extent)| at * extent + digits.get(name).unwrap_or(&0))
    };
    (0..len).map(offset).collect()
}

/// Returns the names and extents of all named parts except the first part of each axis.
fn sizes(left: &ParsedSide) -> Vec<(&str, usize)> {
    let given = left.iter().flat_map(|axis| axis.get(1..).unwrap_or_default());
    given.filter(|part| part.0 != "1").map(|part| (&*part.0, part.1)).collect()
}

/// Returns every way to group consecutive parts into the axes of one side.
fn groups(parts: &[(String, usize)]) -> Vec<ParsedSide> {
    let cuts = 1 << parts.len().saturating_sub(1);
    let grouped = |cut: usize| {
        let mut side: ParsedSide = Vec::new();
        for (k, part) in parts.iter().enumerate() {
            match side.last_mut() {
                Some(axis) if cut >> k & 1 == 1 => axis.push(part.clone()),
                _ => side.push(vec![part.clone()]),
            }
        }
        side
    };
    // The first part always starts an axis.
    (0..cuts).map(|cut| grouped(cut << 1)).collect()
}

fn orders(count: usize) -> Vec<Vec<usize>> {
    let all = (0..count.pow(count as u32))
        .map(|number| (0..count).map(|k| number / count.pow(k as u32) % count).collect::<Vec<_>>());
    all.filter(|order| turntile_perm::AxisPermutation::check_order(count, order).is_ok()).collect()
}

#[test]
fn parsed_patterns_match_index_arithmetic_up_to_four_parts() {
    let mut count = 0;
    for extents in [&[][..], &[5], &[3, 2], &[2, 1, 3], &[3, 2, 1, 2], &[2, 3, 2, 2]] {
        let parts: Vec<(String, usize)> =
            extents.iter().enumerate().map(|(k, &extent)| (format!("n{k}"), extent)).collect();
        for order in orders(parts.len()) {
            let moved: Vec<_> = order.iter().map(|&k| parts[k].clone()).collect();
            for left in groups(&parts) {
                for right in groups(&moved) {
                    let pattern = format!("{} -> {}", text(&left), text(&right));
                    let all = Rearrangement::new(&pattern, &shape(&left), &sizes(&left)).unwrap();
                    assert_eq!(all.shape(), shape(&right), "{pattern}");
                    assert_eq!(source_offsets(&all), reference_offsets(&left, &right), "{pattern}");
                    count += 1;
                }
            }
        }
    }
    assert_eq!(count, 1 + 1 + 8 + 96 + 2 * 1536);
}

/// Returns `parts` grouped into axes by `cuts`, after parts `1` are inserted at `unit_positions`.
fn side(mut parts: Vec<(String, usize)>, unit_positions: &[Index], cuts: &[bool]) -> ParsedSide {
    for at in unit_positions {
        parts.insert(at.index(parts.len() + 1), ("1".to_owned(), 1));
    }
    let mut side: ParsedSide = Vec::new();
    for (k, part) in parts.into_iter().enumerate() {
        match side.last_mut() {
            Some(axis) if cuts[k % cuts.len()] => axis.push(part),
            _ => side.push(vec![part]),
        }
    }
    side
}

proptest! {
    /// Checks random patterns, also with `1`, extra spaces and `...`.
    #[test]
    fn random_patterns_match_index_arithmetic(
        extents in prop::collection::vec(0_usize..5, 0..6),
        keys in prop::collection::vec(any::<u32>(), 6),
        unit_positions in prop::collection::vec(any::<Index>(), 0..3),
        more_unit_positions in prop::collection::vec(any::<Index>(), 0..3),
        cuts in prop::collection::vec(any::<bool>(), 9),
        more_cuts in prop::collection::vec(any::<bool>(), 9),
        hidden in 0_usize..4,
        spaces in any::<bool>(),
    ) {
        let parts: Vec<(String, usize)> =
            extents.iter().enumerate().map(|(k, &extent)| (format!("n_{k}"), extent)).collect();
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|&k| keys[k]);
        let moved = order.iter().map(|&k| parts[k].clone()).collect();
        let (mut left, mut right) = (side(parts, &unit_positions, &cuts), side(moved, &more_unit_positions, &more_cuts));
        // The axes of the ellipsis come first in the source and last in the result, joined or not.
        let unnamed: Vec<(String, usize)> = (0..hidden).map(|k| (format!("u{k}"), k + 1)).collect();
        let mut pattern = [text(&left), text(&right)];
        let together = keys[0] % 2 == 0 && hidden > 0;
        if hidden > 0 {
            pattern[0].insert_str(0, "... ");
            pattern[1].push_str(if together { " (1 ...)" } else { " ..." });
            left.splice(0..0, unnamed.iter().map(|part| vec![part.clone()]));
            match together {
                true => right.push(unnamed),
                false => right.extend(unnamed.into_iter().map(|part| vec![part])),
            }
        }
        let mut pattern = pattern.join("->");
        if spaces {
            pattern = format!("  {}  ", pattern.replace("->", "  ->  ").replace('(', " ( "));
        }
        let parts = left.concat();
        let known: Vec<(&str, usize)> = match spaces {
            // Sizes may also be given for all parts of an axis, and for axes that are not split.
            true => parts.iter().filter(|part| part.0.starts_with("n_"))
                .map(|part| (&*part.0, part.1)).collect(),
            false => sizes(&left),
        };
        let all = Rearrangement::new(&pattern, &shape(&left), &known);
        // The extent of an inferred part is undefined if the given sizes of its axis include 0.
        if matches!(&all, Err(PatternError { fault: PatternFault::Division { product: 0, extent: 0, .. }, .. })) {
            return Ok(());
        }
        let all = all.unwrap();
        prop_assert_eq!(all.shape(), shape(&right));
        prop_assert_eq!(source_offsets(&all), reference_offsets(&left, &right));
    }

    /// Checks that no pattern text causes a panic, and that an accepted pattern gives a
    /// permutation.
    #[test]
    fn any_text_is_parsed_or_rejected(
        pattern in "[ab1_. ()é-]{0,9}(->)?[ab1_. ()>]{0,9}",
        shape in prop::collection::vec(0_usize..5, 0..5),
        size in 0_usize..4,
    ) {
        if let Ok(all) = Rearrangement::new(&pattern, &shape, &[("a", size)][..usize::from(pattern.contains('a'))]) {
            prop_assert_eq!(all.extents().iter().product::<usize>(), shape.iter().product::<usize>());
            prop_assert!(turntile_perm::AxisPermutation::check_order(all.extents().len(), all.order()).is_ok());
        }
    }
}

/// Checks that a Fortran-order array is treated as a C-order array with reversed axes.
#[test]
fn in_memory_reorders_axes_when_memory_order_differs() {
    let all = Rearrangement::new("a (b c) d -> (d b) c a", &[2, 6, 5], &[("c", 3)]).unwrap();
    let reordered = all.in_memory(&[2, 1, 0], &[2, 1, 0]);
    assert_eq!((reordered.extents(), reordered.shape()), (&[5, 2, 3, 2][..], vec![2, 3, 10]));
    assert_eq!(
        reordered,
        Rearrangement::new("d (b c) a -> a c (d b)", &[5, 6, 2], &[("b", 2)]).unwrap()
    );
    assert_eq!(all.in_memory(&[0, 1, 2], &[0, 1, 2]), all);
    let whole = Rearrangement::of_axes(&[2, 3, 5], &[1, 2, 0]);
    assert_eq!(whole, Rearrangement::new("a b c -> b c a", &[2, 3, 5], &[]).unwrap());
    assert_eq!(whole.in_memory(&[2, 1, 0], &[2, 1, 0]).order(), [2, 0, 1]);
}

#[test]
fn error_describes_the_fault_when_a_pattern_is_invalid() {
    let side = "turntile rearranges only, and neither repeats nor reduces";
    for (pattern, shape, sizes, expected) in [
        ("a b", &[2, 3][..], &[][..], "expected one ->, found 0"),
        ("a - > a", &[2], &[], "expected one ->, found 0"),
        ("a -> a -> a", &[2], &[], "expected one ->, found 2"),
        ("a, b -> b a", &[2, 3], &[], "unknown character ','"),
        ("a-b -> b a", &[2, 3], &[], "unknown character '-'"),
        ("a\tb -> b a", &[2, 3], &[], "unknown character '\\t'"),
        ("a x² -> x² a", &[2, 3], &[], "unknown character '²'"),
        ("a … -> … a", &[2, 3], &[], "unknown character '…'"),
        ("1a b -> b 1a", &[2, 3], &[], "1a is not a name"),
        ("_a b -> b _a", &[2, 3], &[], "_a is not a name"),
        ("a_ b -> b a_", &[2, 3], &[], "a_ is not a name"),
        ("_ b -> b _", &[2, 3], &[], "_ is not a name"),
        ("a .. -> .. a", &[2, 3], &[], ".. is not an ellipsis"),
        ("a... -> ...a", &[2, 3], &[], "a... is not an ellipsis"),
        ("....  -> ....", &[2, 3], &[], ".... is not an ellipsis"),
        ("a b -> a b 2", &[2, 3], &[], "2 is on the right: the only number is 1"),
        ("a 3 -> a", &[2, 3], &[], "3 is on the left: the only number is 1"),
        ("a b 0 -> a b", &[2, 3], &[], "0 is on the left"),
        ("a b -> ((a) b)", &[2, 3], &[], "parentheses in parentheses on the right"),
        ("(a (b)) -> a b", &[6], &[], "parentheses in parentheses on the left"),
        ("a b) -> a b", &[2, 3], &[], "a ) on the left has no counterpart"),
        ("a b -> (a b", &[2, 3], &[], "a ( on the right has no counterpart"),
        ("a b -> a )b(", &[2, 3], &[], "a ) on the right has no counterpart"),
        ("a a -> a", &[2, 2], &[], "a occurs twice on the left"),
        ("a b -> a b a", &[2, 3], &[], "a occurs twice on the right"),
        ("a ... ... -> a ...", &[2, 3], &[], "... occurs twice on the left"),
        ("(a ...) -> a ...", &[2, 3], &[], "... is in parentheses on the left"),
        ("a b -> a", &[2, 3], &[], &format!("b is only on the left: {side}")),
        ("a -> a b", &[2], &[("b", 3)], &format!("b is only on the right: {side}")),
        ("h w -> h width", &[2, 3], &[], "w is only on the left, width is only on the right: "),
        ("a ... -> a", &[2, 3], &[], "... is only on the left"),
        ("a b -> a b ...", &[2, 3], &[], "... is only on the right"),
        ("a b -> b a", &[2, 3], &[("c", 3)], "a size is given for c, but no axis"),
        ("a ... -> ... a", &[2, 3], &[("...", 3)], "a size is given for ..., but no axis"),
        ("a b -> b a", &[2, 3], &[("a", 2), ("a", 2)], "two sizes are given for a"),
        ("a b -> b a", &[2, 3, 4], &[], "the left side has 2 axes, the array has 3: [2, 3, 4]"),
        ("a b c -> b a c", &[2], &[], "the left side has 3 axes, the array has 1: [2]"),
        ("a b ... -> b a ...", &[2], &[], "the left side has 2 axes or more, the array has 1: [2]"),
        ("a ... -> ... a", &[], &[], "the left side has 1 axis or more, the array has none"),
        ("-> 1", &[2], &[], "the left side has 0 axes, the array has 1: [2]"),
        (&format!("->{}", " 1".repeat(65)), &[], &[], "65 axes after the split or in the result"),
        ("(a b) c -> a b c", &[6, 2], &[], "axis 0, of extent 6, is split into a, b of unknown"),
        (
            "... (a b c) -> ... a b c",
            &[2, 8],
            &[("b", 2)],
            "axis 1, of extent 8, is split into a, c",
        ),
        ("(a b) -> a b", &[6], &[("a", 4)], "axis 0 has extent 6, which a=4 does not divide"),
        ("(a b c) -> a b c", &[6], &[("a", 2), ("c", 2)], "which a=2 * c=2 = 4 does not divide"),
        ("(a b) -> a b", &[6], &[("a", 0)], "axis 0 has extent 6, which a=0 does not divide"),
        ("(a b) -> a b", &[0], &[("a", 0)], "axis 0 has extent 0, which a=0 does not divide"),
        ("(a b c) -> a b c", &[6], &[("a", 1 << 40), ("c", 1 << 40)], "does not divide"),
        (
            "(a b) -> a b",
            &[6],
            &[("a", 2), ("b", 2)],
            "extent 6, but the pattern gives a=2 * b=2 = 4",
        ),
        ("... a -> a ...", &[2, 3], &[("a", 2)], "axis 1 has extent 3, but the pattern gives a=2"),
        ("a 1 -> a", &[2, 3], &[], "axis 1 has extent 3, but the pattern gives 1"),
        ("a () -> a", &[2, 3], &[], "axis 1 has extent 3, but the pattern gives 1"),
    ] {
        let error = Rearrangement::new(pattern, shape, sizes).unwrap_err().to_string();
        assert!(error.starts_with(&format!("pattern \"{pattern}\": ")), "{error}");
        assert!(error.contains(expected), "{error}: not {expected}");
    }
}

#[test]
fn spellings_of_einops_are_accepted() {
    for (pattern, shape, after) in [
        ("->", &[][..], &[][..]),
        ("-> 1", &[], &[1]),
        ("... -> (...)", &[], &[1]),
        ("... -> (...)", &[2, 3], &[6]),
        ("a ... b -> (b ...) a", &[2, 3, 4, 5], &[60, 2]),
        ("a ... -> a ...", &[2], &[2]),
        ("(a)(b)c->c(b a)", &[2, 3, 4], &[4, 6]),
        ("a 1 () (1 b) -> b (1 1) a 01", &[2, 1, 1, 3], &[3, 1, 2, 1]),
        (" a  b ->b   a ", &[2, 3], &[3, 2]),
        ("a_b B2 é -> é a_b B2", &[2, 3, 4], &[4, 2, 3]),
        ("A a -> a A", &[2, 3], &[3, 2]),
        ("a (b) -> (b a)", &[0, 4], &[0]),
    ] {
        assert_eq!(Rearrangement::new(pattern, shape, &[]).unwrap().shape(), after, "{pattern}");
    }
}
