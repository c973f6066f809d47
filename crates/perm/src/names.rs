//! Names of axis permutations as factorial numbers (thesis section 4.3, table 4.1).

/// Returns the name of the permutation in which axis `order[i]` becomes axis `i`: its Lehmer code
/// followed by `!`.
///
/// Each digit is an index into the list of the source axes that have not been taken yet. For
/// example, (A, B, C) to (A, C, B) is 010!: take A, then index 1 of (B, C), then B. If a digit is
/// 10 or more, digits are separated by points: `10.0.1.0!`.
pub fn factorial_name(order: &[usize]) -> String {
    let smaller_after = |k: usize| order[k + 1..].iter().filter(|&&later| later < order[k]).count();
    let digits: Vec<usize> = (0..order.len()).map(smaller_after).collect();
    let separator = if digits.iter().any(|&digit| digit > 9) { "." } else { "" };
    digits.iter().map(usize::to_string).collect::<Vec<_>>().join(separator) + "!"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks two orders of 12 axes whose names would be equal without points between the digits.
    #[test]
    fn names_differ_for_different_orders() {
        let orders =
            [[1, 11, 5, 2, 4, 10, 8, 0, 9, 6, 3, 7], [11, 0, 5, 2, 4, 10, 8, 1, 9, 6, 3, 7]];
        let [first, second] = orders.map(|order| factorial_name(&order));
        assert_eq!(first, "1.10.4.1.2.6.4.0.3.1.0.0!");
        assert_ne!(first, second);
    }

    #[test]
    fn names_match_table_4_1() {
        for (name, from, to) in [
            ("010!", "ABC", "ACB"),
            ("100!", "ABC", "BAC"),
            ("1000!", "ABCD", "BACD"),
            ("0100!", "ABCD", "ACBD"),
            ("0010!", "ABCD", "ABDC"),
        ] {
            let order: Vec<usize> = to.chars().map(|axis| from.find(axis).unwrap()).collect();
            assert_eq!(factorial_name(&order), name);
            // Applies the digits to the list of axes.
            let (mut queue, digits): (Vec<char>, _) =
                (from.chars().collect(), name.trim_end_matches('!'));
            let taken =
                digits.chars().map(|digit| queue.remove(digit.to_digit(10).unwrap() as usize));
            assert_eq!(taken.collect::<String>(), to);
        }
    }
}
