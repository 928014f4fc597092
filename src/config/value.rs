//! Values of TOML as texts and as JSON, and what they are in words. Knows no key.

use toml::Spanned;
use toml::de::DeValue;

pub(super) fn text_of(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        other => Err(format!("must be a list of texts; it has {} inside", kind(other))),
    }
}

/// TOML as JSON; dates become texts. What JSON cannot say is an error.
pub(super) fn json_of(value: &DeValue<'_>) -> Result<serde_json::Value, String> {
    use serde_json::Value;
    let no_number = |text: &str| format!("has the number {text}, which JSON cannot carry");
    Ok(match value {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Integer(n) => {
            i64::from_str_radix(n.as_str(), n.radix()).map(Value::from).map_err(|_| no_number(n.as_str()))?
        }
        DeValue::Float(f) => {
            let number = f.as_str().parse().ok().and_then(serde_json::Number::from_f64);
            Value::Number(number.ok_or_else(|| no_number(f.as_str()))?)
        }
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(date) => Value::String(date.to_string()),
        DeValue::Array(list) => Value::Array(list.iter().map(|v| json_of(v.get_ref())).collect::<Result<_, _>>()?),
        DeValue::Table(table) => {
            // In the order of the file: the table itself is sorted.
            let mut keys: Vec<_> = table.iter().collect();
            keys.sort_by_key(|(key, _)| key.span().start);
            let member = |(key, v): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
                Ok((AsRef::<str>::as_ref(key.get_ref()).to_owned(), json_of(v.get_ref())?))
            };
            Value::Object(keys.into_iter().map(|(key, v)| member((key, v))).collect::<Result<_, String>>()?)
        }
    })
}

pub(super) fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(n) if n.radix() == 10 => Some(n.as_str().to_owned()),
        DeValue::Float(n) => Some(n.as_str().to_owned()),
        _ => None,
    }
}

/// What a value is, in words.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
