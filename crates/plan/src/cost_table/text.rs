//! Cost tables as files.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{CostSchema, CostTable, CostTableError, Curve, Factor, FactorOp, Value, most};

/// No constant is more, and no product of factors more, or less than its inverse: seconds stay numbers.
const MOST: f64 = 1e100;

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
    /// Reads a table's text.
    ///
    /// # Errors
    /// [`CostTableError::Format`], [`CostTableError::Content`].
    pub fn parse(text: &str, names: CostSchema) -> Result<Self, CostTableError> {
        let file: File = serde_json::from_str(text)
            .map_err(|source| CostTableError::Format { device: "?".into(), source })?;
        let device = file.device;
        let wrong = |what: String| CostTableError::Content { device: device.clone(), what };
        let constant = |name: &&str| {
            // All is divided by the first, bytes a second.
            let least = if Some(name) == names.constants.first() { 1.0 } else { 0.0 };
            let value = file.constants.get(*name).copied().filter(|v| (least..=MOST).contains(v));
            value.ok_or_else(|| {
                wrong(format!("no constant {name}, or one that is not from {least} to {MOST:e}"))
            })
        };
        let constants = names.constants.iter().map(constant).collect::<Result<_, _>>()?;
        for name in file.constants.keys() {
            known("constant", names.constants, name).map_err(wrong)?;
        }
        for name in file.operations.keys() {
            known("operation", names.operations, name).map_err(wrong)?;
        }
        let operations = names
            .operations
            .iter()
            .map(|name| {
                let factors = file.operations.get(*name);
                let factors = factors.ok_or_else(|| wrong(format!("no operation {name}")))?;
                let read = |factor| Factor::read(factor, names);
                let factors: Result<Vec<_>, _> = factors.iter().map(read).collect();
                factors.and_then(bounded).map_err(|what| wrong(format!("{name}: {what}")))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let most = operations.iter().map(|factors| most(factors)).collect();
        Ok(CostTable { names, device, about: file.about, constants, operations, most })
    }
}

fn bounded(factors: Vec<Factor>) -> Result<Vec<Factor>, String> {
    let least: f64 = factors.iter().map(|factor| factor.value.least().min(1.0)).product();
    if least < 1.0 / MOST || most(&factors) > MOST {
        return Err(format!(
            "its factors come to less than {:e} or to more than {MOST:e}",
            1.0 / MOST
        ));
    }
    Ok(factors)
}

fn known(what: &str, all: &[&str], name: &str) -> Result<usize, String> {
    let found = all.iter().position(|other| *other == name);
    found.ok_or_else(|| format!("no {what} is named {name}; there are {}", all.join(", ")))
}

impl Factor {
    fn read(text: &FactorText, names: CostSchema) -> Result<Self, String> {
        let (how, value) = match (&text.set, &text.times, &text.at_most) {
            (Some(value), None, None) => (FactorOp::Set, value),
            (None, Some(value), None) => (FactorOp::Times, value),
            (None, None, Some(value)) => (FactorOp::AtMost, value),
            _ => return Err("a factor is one of set, times and at_most".into()),
        };
        let quantity = |name: &str| known("quantity", names.quantities, name);
        let value = match (value, &text.over) {
            (ValueText::Number(number), None) if number.is_finite() && *number > 0.0 => {
                Value::Number(*number)
            }
            (ValueText::Points(points), Some(over)) => {
                let ascends = points.is_sorted_by(|a, b| a[0] < b[0]);
                let finite = points.iter().flatten().all(|x| x.is_finite());
                let places = points.iter().all(|p| p[1] > 0.0 && (text.linear || p[0] > 0.0));
                if points.is_empty() || !ascends || !finite || !places {
                    return Err(format!("points over {over} must ascend and be above 0"));
                }
                let points = points.iter().map(|&[quantity, value]| (quantity, value));
                Value::Curve(Curve::new(quantity(over)?, text.linear, points))
            }
            _ => {
                return Err("a factor is a number above 0, or points and what they are over".into());
            }
        };
        let when = text.when.iter().map(|(name, [from, to])| Ok((quantity(name)?, *from, *to)));
        let mut when = when.collect::<Result<Vec<_>, String>>()?;
        // In the order of the names: those that take longest to find out come last there.
        when.sort_by_key(|range| range.0);
        Ok(Factor { how, value, when, from: text.from.clone() })
    }
}
