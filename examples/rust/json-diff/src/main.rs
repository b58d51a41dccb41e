//! Names the places in which two JSON values differ, by JSON pointer.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::env;
use std::error::Error;

#[derive(Deserialize)]
struct Input {
    before: Value,
    after: Value,
}

#[derive(Serialize)]
struct Output {
    added: Vec<String>,
    removed: Vec<String>,
    changed: Vec<String>,
}

fn pointer(base: &str, part: &str) -> String {
    format!("{base}/{}", part.replace('~', "~0").replace('/', "~1"))
}

fn compare(base: &str, before: &Value, after: &Value, out: &mut Output) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                let place = pointer(base, name);
                match (old.get(name), new.get(name)) {
                    (Some(left), Some(right)) => compare(&place, left, right, out),
                    (Some(_), None) => out.removed.push(place),
                    _ => out.added.push(place),
                }
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            for at in 0..old.len().max(new.len()) {
                let place = pointer(base, &at.to_string());
                match (old.get(at), new.get(at)) {
                    (Some(left), Some(right)) => compare(&place, left, right, out),
                    (Some(_), None) => out.removed.push(place),
                    _ => out.added.push(place),
                }
            }
        }
        _ if before != after => out.changed.push(base.to_string()),
        _ => {}
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let input: Input = serde_json::from_str(&env::var("HOLON_INPUT_JSON")?)?;
    let mut out = Output { added: vec![], removed: vec![], changed: vec![] };
    compare("", &input.before, &input.after, &mut out);
    println!("{}", serde_json::to_string(&out)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_kind_of_difference_is_named() {
        let mut out = Output { added: vec![], removed: vec![], changed: vec![] };
        compare("", &json!({"a": 1, "b": [1]}), &json!({"a": 2, "b": [1, 2]}), &mut out);
        assert_eq!(out.changed, ["/a"]);
        assert_eq!(out.added, ["/b/1"]);
    }
}
