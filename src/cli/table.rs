//! Plain aligned columns, without colour or rules: they read in a terminal, a mail and a log. Knows nothing of what they hold.

use std::fmt;

pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(headings: &[&str]) -> Table {
        Table { rows: vec![headings.iter().map(|h| (*h).to_owned()).collect()] }
    }
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(clean).collect());
    }
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }
}

/// A provider's words must not move the cursor, nor break a line.
fn clean(cell: String) -> String {
    if cell.chars().any(char::is_control) {
        cell.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    } else {
        cell
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |c: usize| self.rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&format!("{cell:<width$}  "));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_their_headings_whatever_the_letters() {
        let mut table = Table::new(&["NAME", "STATE", "AGE"]);
        table.row(["gärtnerei".into(), "fresh".into(), "9 s".into()]);
        table.row(["y".into(), "credential_rejected".into(), String::new()]);
        let expected = "\
NAME       STATE                AGE
gärtnerei  fresh                9 s
y          credential_rejected
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn a_providers_words_cannot_steer_the_terminal() {
        let mut table = Table::new(&["SAID"]);
        table.row(["a\u{1b}[2Jb\nc".into()]);
        assert_eq!(table.to_string(), "SAID\na [2Jb c\n");
    }
}
