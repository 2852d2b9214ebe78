//! The actions and capabilities of the fake portal, and what both sides have in common.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The only version the fake portal speaks.
pub const VERSION: &str = "2024-10";

/// Everything the fake portal can announce.
pub const ALL: &[&str] = &[
    "OTA_HotelInvCountNotif_accept_rooms",
    "OTA_HotelInvCountNotif_accept_categories",
    "OTA_HotelInvCountNotif_accept_deltas",
    "OTA_HotelInvCountNotif_accept_complete_set",
    "OTA_HotelInvCountNotif_accept_out_of_order",
    "OTA_HotelInvCountNotif_accept_out_of_market",
    "OTA_HotelInvCountNotif_accept_closing_seasons",
    "OTA_Read_accept_RoomRates",
];

pub(crate) const ROOMS: &str = ALL[0];
pub(crate) const CATEGORIES: &str = ALL[1];
pub(crate) const DELTAS: &str = ALL[2];
pub(crate) const COMPLETE_SET: &str = ALL[3];
pub(crate) const OUT_OF_ORDER: &str = ALL[4];
pub(crate) const OUT_OF_MARKET: &str = ALL[5];
pub(crate) const CLOSING_SEASONS: &str = ALL[6];
pub(crate) const ROOM_RATES: &str = ALL[7];

/// Capabilities that hold between the portal and its client.
pub(crate) type Capabilities = BTreeSet<String>;

/// All capabilities.
pub(crate) fn all() -> Capabilities {
    ALL.iter().map(|name| (*name).to_owned()).collect()
}

/// The JSON of a handshake, either way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Offer {
    pub(crate) versions: Vec<VersionOffer>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VersionOffer {
    pub(crate) version: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) actions: Vec<ActionOffer>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ActionOffer {
    pub(crate) action: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) supports: Vec<String>,
}

/// What the portal offers with these capabilities.
pub(crate) fn offer(own: &Capabilities) -> Offer {
    let with = |action: &str, prefix: &str| ActionOffer {
        action: action.to_owned(),
        supports: own
            .iter()
            .filter(|name| name.starts_with(prefix))
            .cloned()
            .collect(),
    };
    Offer {
        versions: vec![VersionOffer {
            version: VERSION.to_owned(),
            actions: vec![
                ActionOffer {
                    action: "action_OTA_Ping".to_owned(),
                    supports: Vec::new(),
                },
                with("action_OTA_HotelInvCountNotif", "OTA_HotelInvCountNotif_"),
                with("action_OTA_Read", "OTA_Read_"),
            ],
        }],
    }
}

/// What is in both offers: versions, their actions, and the capabilities of those.
pub(crate) fn intersection(theirs: &Offer, ours: &Offer) -> Offer {
    let versions = theirs.versions.iter().filter_map(|their| {
        let our = ours
            .versions
            .iter()
            .find(|our| our.version == their.version)?;
        let actions = their.actions.iter().filter_map(|action| {
            let own = our.actions.iter().find(|own| own.action == action.action)?;
            let supports = action
                .supports
                .iter()
                .filter(|name| own.supports.contains(name));
            Some(ActionOffer {
                action: action.action.clone(),
                supports: supports.cloned().collect(),
            })
        });
        Some(VersionOffer {
            version: their.version.clone(),
            actions: actions.collect(),
        })
    });
    Offer {
        versions: versions.collect(),
    }
}

/// The capabilities that an intersection leaves in the portal's version.
pub(crate) fn capabilities(common: &Offer) -> Capabilities {
    common
        .versions
        .iter()
        .filter(|version| version.version == VERSION)
        .flat_map(|version| &version.actions)
        .flat_map(|action| action.supports.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_versions_actions_and_capabilities_fall_out() {
        let theirs: Offer = serde_json::from_str(
            r#"{"versions":[
                {"version":"2022-10","actions":[{"action":"action_OTA_Ping"}]},
                {"version":"2024-10","actions":[{"action":"action_OTA_Ping"},
                  {"action":"action_OTA_Tea"},
                  {"action":"action_OTA_HotelInvCountNotif",
                   "supports":["OTA_HotelInvCountNotif_accept_deltas","accept_cake"]}]}]}"#,
        )
        .unwrap();
        let common = intersection(&theirs, &offer(&all()));
        assert_eq!(
            serde_json::to_string(&common).unwrap(),
            concat!(
                r#"{"versions":[{"version":"2024-10","actions":[{"action":"action_OTA_Ping"},"#,
                r#"{"action":"action_OTA_HotelInvCountNotif","#,
                r#""supports":["OTA_HotelInvCountNotif_accept_deltas"]}]}]}"#
            )
        );
        assert_eq!(
            capabilities(&common),
            Capabilities::from([DELTAS.to_owned()])
        );
    }
}
