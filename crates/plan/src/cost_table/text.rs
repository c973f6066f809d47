//! Parser of cost tables.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{CostSchema, CostTable, CostTableError, Curve, Factor, FactorOp, Value, most};

/// Upper bound of a cost table's constants and products of factors; its inverse is the lower bound
/// of products. Keeps estimated seconds finite.
const MAX_VALUE: f64 = 1e100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    device: String,
    about: String,
    constants: BTreeMap<String, f64>,
    operations: BTreeMap<String, Vec<FactorText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FactorText {
    set: Option<ValueText>,
    times: Option<ValueText>,
    at_most: Option<ValueText>,
    over: Option<String>,
    #[serde(default)]
    linear: bool,
    #[serde(default)]
    when: BTreeMap<String, [f64; 2]>,
    from: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ValueText {
    Number(f64),
    Points(Vec<[f64; 2]>),
}

impl CostTable {
    /// Parses the JSON of a cost table with the schema `names`.
    ///
    /// # Errors
    /// [`CostTableError::Format`]: the text is not the JSON of a cost table.
    /// [`CostTableError::Content`]: a name is unknown or missing, or a number is out of range.
    pub fn parse(text: &str, names: CostSchema) -> Result<Self, CostTableError> {
        let file: File = serde_json::from_str(text)
            .map_err(|source| CostTableError::Format { device: "?".into(), source })?;
        let device = file.device;
        let invalid = |what: String| CostTableError::Content { device: device.clone(), what };
        let constant = |name: &&str| {
            // The first constant, a speed in bytes per second, is a divisor.
            let least = if Some(name) == names.constants.first() { 1.0 } else { 0.0 };
            let value =
                file.constants.get(*name).copied().filter(|v| (least..=MAX_VALUE).contains(v));
            value.ok_or_else(|| {
                invalid(format!("constant {name} is missing or not in {least}..={MAX_VALUE:e}"))
            })
        };
        let constants = names.constants.iter().map(constant).collect::<Result<_, _>>()?;
        for name in file.constants.keys() {
            index_of("constant", names.constants, name).map_err(invalid)?;
        }
        for name in file.operations.keys() {
            index_of("operation", names.operations, name).map_err(invalid)?;
        }
        let operations = names
            .operations
            .iter()
            .map(|name| {
                let factors = file.operations.get(*name);
                let factors =
                    factors.ok_or_else(|| invalid(format!("operation {name} is missing")))?;
                let read = |factor| Factor::read(factor, names);
                let factors: Result<Vec<_>, _> = factors.iter().map(read).collect();
                factors.and_then(bounded).map_err(|what| invalid(format!("{name}: {what}")))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let most = operations.iter().map(|factors| most(factors)).collect();
        Ok(CostTable { names, device, about: file.about, constants, operations, most })
    }
}

fn bounded(factors: Vec<Factor>) -> Result<Vec<Factor>, String> {
    let least: f64 = factors.iter().map(|factor| factor.value.least().min(1.0)).product();
    if least < 1.0 / MAX_VALUE || most(&factors) > MAX_VALUE {
        return Err(format!(
            "the product of its factors can be less than {:e} or more than {MAX_VALUE:e}",
            1.0 / MAX_VALUE
        ));
    }
    Ok(factors)
}

fn index_of(what: &str, all: &[&str], name: &str) -> Result<usize, String> {
    let found = all.iter().position(|other| *other == name);
    found.ok_or_else(|| format!("unknown {what} {name}: expected one of {}", all.join(", ")))
}

impl Factor {
    fn read(text: &FactorText, names: CostSchema) -> Result<Self, String> {
        let (how, value) = match (&text.set, &text.times, &text.at_most) {
            (Some(value), None, None) => (FactorOp::Set, value),
            (None, Some(value), None) => (FactorOp::Times, value),
            (None, None, Some(value)) => (FactorOp::AtMost, value),
            _ => return Err("a factor needs exactly one of set, times and at_most".into()),
        };
        let quantity = |name: &str| index_of("quantity", names.quantities, name);
        let value = match (value, &text.over) {
            (ValueText::Number(number), None) if number.is_finite() && *number > 0.0 => {
                Value::Number(*number)
            }
            (ValueText::Points(points), Some(over)) => {
                let ascends = points.is_sorted_by(|a, b| a[0] < b[0]);
                let finite = points.iter().flatten().all(|x| x.is_finite());
                let in_range = points.iter().all(|p| p[1] > 0.0 && (text.linear || p[0] > 0.0));
                if points.is_empty() || !ascends || !finite || !in_range {
                    return Err(format!(
                        "points over {over} must be ascending, at least one, with positive values \
                         (and positive quantities unless linear)"
                    ));
                }
                let points = points.iter().map(|&[quantity, value]| (quantity, value));
                Value::Curve(Curve::new(quantity(over)?, text.linear, points))
            }
            _ => {
                return Err("a factor must be a positive number, or points with over".into());
            }
        };
        let when = text.when.iter().map(|(name, [from, to])| Ok((quantity(name)?, *from, *to)));
        let mut when = when.collect::<Result<Vec<_>, String>>()?;
        // Sorts the conditions in schema order, in which the quantities that are slowest to compute
        // come last.
        when.sort_by_key(|range| range.0);
        Ok(Factor { how, value, when, from: text.from.clone() })
    }
}
