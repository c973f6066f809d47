//! A table as a file.

use serde_json::{Value as Json, json};
use turntile_plan::CostTable;
use turntile_plan::cost_table::{CostSchema, Factor, FactorOp, Value};

/// The text of a table, a factor a line, as [`CostTable::parse`] reads it.
pub fn text(costs: &CostTable) -> String {
    let names = costs.names();
    let constant = |(which, name): (usize, &&str)| {
        format!("{}: {}", json!(name), json!(costs.constant(which)))
    };
    let constants: Vec<_> = names.constants.iter().enumerate().map(constant).collect();
    let operation = |(which, name): (usize, &&str)| {
        let factors = costs.factors(which);
        let lines: Vec<_> =
            factors.iter().map(|one| format!("\n      {}", factor(one, names))).collect();
        let end = if factors.is_empty() { "" } else { "\n    " };
        format!("\n    {}: [{}{end}]", json!(name), lines.join(","))
    };
    let operations: Vec<_> = names.operations.iter().enumerate().map(operation).collect();
    format!(
        "{{\n  \"device\": {},\n  \"about\": {},\n  \"constants\": {{{}}},\n  \"operations\": {{{}\n  }}\n}}\n",
        json!(costs.device()),
        json!(costs.about()),
        constants.join(", "),
        operations.join(",")
    )
}

fn factor(factor: &Factor, names: CostSchema) -> String {
    let name = |which: usize| names.quantities[which];
    let how = match factor.how {
        FactorOp::Set => "set",
        FactorOp::Times => "times",
        FactorOp::AtMost => "at_most",
    };
    let mut parts = Vec::new();
    let mut part = |key: &str, value: Json| parts.push(format!("{}:{value}", json!(key)));
    match &factor.value {
        Value::Number(number) => part(how, json!(number)),
        Value::Curve(curve) => {
            let points = curve.points.iter().map(|point| json!([point.quantity, point.value]));
            part(how, points.collect());
            part("over", json!(name(curve.over)));
            if curve.linear {
                part("linear", json!(true));
            }
        }
    }
    if !factor.when.is_empty() {
        let range =
            |&(which, from, to): &(usize, f64, f64)| (name(which).into(), json!([from, to]));
        part("when", Json::Object(factor.when.iter().map(range).collect()));
    }
    part("from", json!(factor.from));
    format!("{{{}}}", parts.join(","))
}
