//! Cost tables as files.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::record;

use super::{Costs, CostsError, Curve, Factor, How, Names, Point, Value, most};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    device: String,
    about: String,
    constants: BTreeMap<String, f64>,
    operations: BTreeMap<String, Vec<FactorText>>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FactorText {
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<ValueText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<ValueText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<ValueText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    over: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    linear: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    when: BTreeMap<String, [f64; 2]>,
    from: String,
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(untagged)]
enum ValueText {
    Number(f64),
    Points(Vec<[f64; 2]>),
}

impl Costs {
    /// Reads a file.
    ///
    /// # Errors
    /// [`CostsError`].
    pub fn load(path: &Path, names: Names) -> Result<Self, CostsError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| CostsError::Io { path: path.display().to_string(), source })?;
        Self::parse(&text, names)
    }

    /// Writes a file, whole or not at all, as [`load`](Self::load) reads it.
    ///
    /// # Errors
    /// [`CostsError::Io`]; the file is then as it was.
    pub fn save(&self, path: &Path) -> Result<(), CostsError> {
        record::write(path, self.text().as_bytes())
            .map_err(|source| CostsError::Io { path: path.display().to_string(), source })
    }

    /// Reads a table's text.
    ///
    /// # Errors
    /// [`CostsError::Format`], [`CostsError::Content`].
    pub fn parse(text: &str, names: Names) -> Result<Self, CostsError> {
        let file: File = serde_json::from_str(text)
            .map_err(|source| CostsError::Format { device: "?".into(), source })?;
        let device = file.device;
        let wrong = |what: String| CostsError::Content { device: device.clone(), what };
        let constant = |name: &&str| {
            // All is divided by the first, bytes a second.
            let least = if Some(name) == names.constants.first() { 1.0 } else { 0.0 };
            let value = file.constants.get(*name).copied().filter(|v| v.is_finite() && *v >= least);
            value.ok_or_else(|| wrong(format!("no constant {name}, or one that is too small")))
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
                factors.map_err(|what| wrong(format!("{name}: {what}")))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let most = operations.iter().map(|factors| most(factors)).collect();
        Ok(Costs { names, device, about: file.about, constants, operations, most })
    }

    /// The table's text, a factor a line, as [`parse`](Self::parse) reads it.
    pub fn text(&self) -> String {
        let constants = self.names.constants.iter().zip(&self.constants);
        let constants: Vec<_> =
            constants.map(|(name, value)| format!("{}: {}", json(name), json(value))).collect();
        let operations = self.names.operations.iter().zip(&self.operations);
        let operations: Vec<_> = operations
            .map(|(name, factors)| {
                let lines =
                    factors.iter().map(|f| format!("\n      {}", json(&f.text(self.names))));
                let end = if factors.is_empty() { "" } else { "\n    " };
                format!("\n    {}: [{}{end}]", json(name), lines.collect::<Vec<_>>().join(","))
            })
            .collect();
        [
            "{".to_owned(),
            format!("  \"device\": {},", json(&self.device)),
            format!("  \"about\": {},", json(&self.about)),
            format!("  \"constants\": {{{}}},", constants.join(", ")),
            format!("  \"operations\": {{{}", operations.join(",")),
            "  }\n}\n".to_owned(),
        ]
        .join("\n")
    }
}

/// Of what always has a text: strings and finite numbers.
fn json(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("strings and finite numbers")
}

fn known(what: &str, all: &[&str], name: &str) -> Result<usize, String> {
    let found = all.iter().position(|other| *other == name);
    found.ok_or_else(|| format!("no {what} is named {name}; there are {}", all.join(", ")))
}

impl Factor {
    fn read(text: &FactorText, names: Names) -> Result<Self, String> {
        let (how, value) = match (&text.set, &text.times, &text.at_most) {
            (Some(value), None, None) => (How::Set, value),
            (None, Some(value), None) => (How::Times, value),
            (None, None, Some(value)) => (How::AtMost, value),
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

    fn text(&self, names: Names) -> FactorText {
        let (value, over, linear) = match &self.value {
            Value::Number(number) => (ValueText::Number(*number), None, false),
            Value::Curve(Curve { over, linear, points }) => {
                let points = points.iter().map(|point| [point.quantity, point.value]).collect();
                (ValueText::Points(points), Some(names.quantities[*over].to_owned()), *linear)
            }
        };
        let of = |how| (self.how == how).then(|| value.clone());
        FactorText {
            set: of(How::Set),
            times: of(How::Times),
            at_most: of(How::AtMost),
            over,
            linear,
            when: self
                .when
                .iter()
                .map(|&(k, from, to)| (names.quantities[k].to_owned(), [from, to]))
                .collect(),
            from: self.from.clone(),
        }
    }
}

impl Curve {
    /// Of quantities and the values there, ascending.
    pub(super) fn new(over: usize, linear: bool, points: impl Iterator<Item = (f64, f64)>) -> Self {
        let place = |quantity: f64| if linear { quantity } else { quantity.ln() };
        let points =
            points.map(|(quantity, value)| Point { quantity, place: place(quantity), value });
        Curve { over, linear, points: points.collect() }
    }
}
