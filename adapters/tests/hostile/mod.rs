//! Messages of somebody who means harm, or does not know what he does.

/// What it is, and its bytes.
pub fn messages() -> Vec<(&'static str, Vec<u8>)> {
    let root = |inside: &str| format!("<OTA_HotelResNotifRQ>{inside}</OTA_HotelResNotifRQ>");
    let bomb = "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b \
                '&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;'>]><a>&c;</a>";
    let foreign = "<!DOCTYPE a [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><a>&f;</a>";
    let mut messages: Vec<(&'static str, Vec<u8>)> = [
        ("nothing", String::new()),
        ("blanks", " \n\t".to_owned()),
        ("an entity bomb", bomb.to_owned()),
        ("a foreign entity", foreign.to_owned()),
        ("an unknown entity", root("&nbsp;")),
        ("deep nesting", "<a>".repeat(200_000)),
        (
            "deep nesting that ends",
            "<a>".repeat(1_000) + &"</a>".repeat(1_000),
        ),
        ("too many elements", root(&"<a/>".repeat(250_000))),
        (
            "a long attribute",
            format!("<a b='{}'/>", "x".repeat(200_000)),
        ),
        ("a long text", root(&"x".repeat(2_000_000))),
        ("a long name", format!("<{}/>", "x".repeat(200_000))),
        (
            "many attributes",
            format!("<a {}/>", "b='' ".repeat(100_000)),
        ),
        (
            "an attribute twice",
            "<OTA_HotelResNotifRQ Version='1' Version='2'/>".to_owned(),
        ),
        ("a wrong end", "<a><b></a></b>".to_owned()),
        (
            "an unknown encoding",
            "<?xml version='1.0' encoding='klingon'?><a/>".to_owned(),
        ),
        (
            "a false UTF-16",
            "<?xml version='1.0' encoding='UTF-16'?><a/>".to_owned(),
        ),
        (
            "markup in a declaration",
            "<?xml encoding='>'?><a".to_owned(),
        ),
        ("an open comment", "<OTA_HotelResNotifRQ/><!-- ".to_owned()),
        ("open CDATA", root("<![CDATA[ ")),
        ("open instruction", "<?xml".to_owned()),
        ("two roots", "<OTA_PingRS/><OTA_PingRS/>".to_owned()),
        ("JSON", "{\"reservations\":[]}".to_owned()),
        (
            "a page",
            "<!doctype html><html><body>Please log in</body></html>".to_owned(),
        ),
        ("many cards", "4111 1111 1111 1111 ".repeat(10_000)),
        ("many digits", "1 2 3 4 5 6 7 8 9 0 ".repeat(10_000)),
        ("many openings", "<".repeat(200_000)),
        ("many references", root(&"&amp".repeat(100_000))),
    ]
    .into_iter()
    .map(|(what, text)| (what, text.into_bytes()))
    .collect();
    messages.extend(odd_bytes());
    messages
}

fn odd_bytes() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        (
            "false UTF-8",
            b"<?xml version='1.0' encoding='UTF-8'?><a b='\xe4'/>".to_vec(),
        ),
        ("UTF-16", b"\xff\xfe<\0a\0/\0>\0".to_vec()),
        ("nulls", vec![0; 100_000]),
        (
            "gzip",
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x04\x00".to_vec(),
        ),
        ("a hundred megabytes of one attribute", {
            let mut bytes = b"<a b='".to_vec();
            bytes.resize(100 * 1024 * 1024, b'4');
            bytes.extend_from_slice(b"'/>");
            bytes
        }),
    ]
}
