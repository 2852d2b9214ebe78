//! Headers on the command line: `Name: value`.

/// Lower-case name and value of a header.
pub fn parse(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| "a header is written as 'Name: value'".to_owned())?;
    let name = name.trim();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_plain) {
        return Err(format!("{name:?} is no name of a header"));
    }
    Ok((name.to_ascii_lowercase(), value.trim().to_owned()))
}
