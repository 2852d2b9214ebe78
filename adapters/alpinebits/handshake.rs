//! The handshake: what we can do, what they can do, what is common.

use super::wire::{
    ACTION_FREE_ROOMS, ACTION_PING, ACTION_READ, Action, Agreed, Announcement, CATEGORIES,
    COMPLETE_SET, DELTAS, ROOM_RATES, VERSION, Version,
};
use crate::ota2003::message::NAMESPACE;
use crate::xml::Element;
use crate::xml::write::Writer;

const STATUS: &str = "ALPINEBITS_HANDSHAKE";

/// What keyrack can do. The acknowledgement has no capability of its own: who pulls, acknowledges.
fn ours() -> Announcement {
    let action = |name: &str, supports: &[&str]| Action {
        action: name.to_owned(),
        supports: supports.iter().map(|name| (*name).to_owned()).collect(),
    };
    Announcement {
        versions: vec![Version {
            version: VERSION.to_owned(),
            actions: vec![
                action(ACTION_PING, &[]),
                action(ACTION_FREE_ROOMS, &[CATEGORIES, DELTAS, COMPLETE_SET]),
                action(ACTION_READ, &[ROOM_RATES]),
            ],
        }],
    }
}

/// The message that announces it.
pub(super) fn write() -> Vec<u8> {
    let announced = serde_json::to_string(&ours()).unwrap_or_default();
    let attributes = [("xmlns", NAMESPACE), ("Version", "8.000")];
    Writer::message("OTA_PingRQ", &attributes, |w| {
        w.element("EchoData", &[], |w| w.text(&announced));
    })
}

/// An announcement, ours or theirs: `EchoData` holds JSON.
pub(super) fn read_request(root: Element<'_>) -> Result<(), String> {
    let echo = root.child("EchoData").ok_or("EchoData is missing")?;
    announcement(echo.text()).map(|_| ())
}

/// What the portal's answer agrees to, restricted to what we can do.
pub(super) fn read_answer(root: Element<'_>) -> Result<Agreed, String> {
    let warning = root
        .every(["Warnings", "Warning"])
        .find(|warning| warning.attribute("Status") == Some(STATUS))
        .ok_or_else(|| format!("the answer holds no Warning with Status {STATUS}"))?;
    let theirs = announcement(warning.text())?;
    let Some(version) = theirs.versions.iter().find(|v| v.version == VERSION) else {
        let known: Vec<&str> = theirs.versions.iter().map(|v| v.version.as_str()).collect();
        return Err(format!(
            "the portal does not speak {VERSION}; in common is {known:?}"
        ));
    };
    let their = |name: &str| version.actions.iter().find(|action| action.action == name);
    let mut supports = Vec::new();
    for mine in ours().versions.into_iter().flat_map(|v| v.actions) {
        if let Some(action) = their(&mine.action) {
            let common = mine.supports.into_iter();
            supports.push(mine.action);
            supports.extend(common.filter(|name| action.supports.contains(name)));
        }
    }
    Ok(Agreed {
        version: VERSION.to_owned(),
        supports,
    })
}

fn announcement(json: &str) -> Result<Announcement, String> {
    serde_json::from_str(json.trim())
        .map_err(|fault| format!("the capabilities are no JSON of a handshake: {fault}"))
}
