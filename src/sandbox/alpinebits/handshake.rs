//! `OTA_Ping:Handshaking`: the same echo back, and what both sides can do.

use crate::edge::Heard;
use crate::xml::{child, inner, text, tree};

use super::answer::{PING, Refusal, Warning, error, success};
use super::capability::{Capabilities, Offer, capabilities, intersection, offer};

/// Answers a handshake. The second value is what holds from now on, if it was one.
pub(crate) fn receive(body: &[u8], own: &Capabilities) -> (Heard, Option<Capabilities>) {
    let echo = match echo_of(body) {
        Ok(echo) => echo,
        Err(refusal) => return (error(PING, &refusal), None),
    };
    let theirs: Offer = match serde_json::from_str(echo.trim()) {
        Ok(theirs) => theirs,
        Err(fault) => {
            let why = format!("EchoData is no handshake: {fault}");
            return (error(PING, &Refusal::new(320, why)), None);
        }
    };
    let common = intersection(&theirs, &offer(own));
    let told = serde_json::to_string(&common).unwrap_or_default();
    let warning = Warning {
        status: Some("ALPINEBITS_HANDSHAKE"),
        ..Warning::advisory(told)
    };
    let heard = success(PING, &[warning], |xml| xml.leaf("EchoData", &[], &echo));
    (heard, Some(capabilities(&common)))
}

fn echo_of(body: &[u8]) -> Result<String, Refusal> {
    let document = text(body)
        .and_then(tree)
        .map_err(|why| Refusal::new(450, why))?;
    let root = document.root_element();
    if root.tag_name().name() != "OTA_PingRQ" {
        return Err(Refusal::new(450, "the root element is not OTA_PingRQ"));
    }
    if root.attribute("Version").is_none() {
        return Err(Refusal::new(321, "Version is missing"));
    }
    let echo = child(root, "EchoData");
    echo.map(inner)
        .ok_or_else(|| Refusal::new(321, "EchoData is missing"))
}
