//! Any bytes as a row of any table. Input: the name of a table, a line break, the key in hexadecimal digits, a line break, the value; without a
//! known name the bytes are tried in every table.

use larder::store::{read_row, table_names};

pub fn check(data: &[u8]) {
    let mut parts = data.splitn(3, |b| *b == b'\n');
    let (table, key, value) = (parts.next(), parts.next(), parts.next());
    let tables = table_names();
    let name = table.and_then(|t| std::str::from_utf8(t).ok()).filter(|n| tables.contains(n));
    match (name, key, value) {
        (Some(table), Some(key), Some(value)) => row(table, &unhex(key), value),
        _ => tables.iter().for_each(|table| {
            row(table, &7u64.to_be_bytes(), data);
            row(table, b"default\0yard\0c", data);
            row(table, b"default\0yard\0ttarget\0", data);
        }),
    }
}

fn row(table: &str, key: &[u8], value: &[u8]) {
    if let Err(why) = read_row(table, key, value) {
        assert!(why.to_string().contains(table), "which table? {why}");
    }
}

fn unhex(text: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = text.iter().filter_map(|b| char::from(*b).to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()
}
