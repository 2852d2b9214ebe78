//! The outcomes of AlpineBits data exchange: success, advisory, warning, error, demand.

use crate::edge::{Answer, Heard, Tongue};
use crate::faults::Instead;
use crate::xml::Writer;

/// A complete set that the portal asks for in its next answers.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Demand {
    FreeRooms,
    Handshake,
    RatePlans,
    Inventory,
}

impl Demand {
    fn status(self) -> &'static str {
        match self {
            Demand::FreeRooms => "ALPINEBITS_SEND_FREEROOMS",
            Demand::Handshake => "ALPINEBITS_SEND_HANDSHAKE",
            Demand::RatePlans => "ALPINEBITS_SEND_RATEPLANS",
            Demand::Inventory => "ALPINEBITS_SEND_INVENTORY",
        }
    }
}

/// A remark beside a success.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Warning {
    /// 11 for an advisory, 3 for a business rule that left a part without effect.
    pub(crate) kind: u8,
    pub(crate) record: Option<String>,
    pub(crate) status: Option<&'static str>,
    pub(crate) text: String,
}

impl Warning {
    pub(crate) fn advisory(text: impl Into<String>) -> Warning {
        Warning {
            kind: 11,
            text: text.into(),
            ..Warning::default()
        }
    }

    pub(crate) fn no_effect(record: &str, text: impl Into<String>) -> Warning {
        Warning {
            kind: 3,
            record: Some(record.to_owned()),
            text: text.into(),
            ..Warning::default()
        }
    }

    pub(crate) fn demand(demand: Demand) -> Warning {
        Warning {
            status: Some(demand.status()),
            ..Warning::advisory("please send the complete set")
        }
    }
}

/// Why a whole message is refused: a code of the OTA table and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) text: String,
}

impl Refusal {
    pub(crate) fn new(code: u16, text: impl Into<String>) -> Refusal {
        Refusal {
            code,
            text: text.into(),
        }
    }
}

/// Success, with warnings before whatever `rest` adds.
pub(crate) fn success(root: Root, warnings: &[Warning], rest: impl FnOnce(&mut Writer)) -> Heard {
    let mut xml = Writer::new(root.name, &[("Version", root.version)]);
    xml.empty("Success", &[]);
    if !warnings.is_empty() {
        xml.open("Warnings", &[]);
        for warning in warnings {
            let kind = warning.kind.to_string();
            let mut attributes = vec![("Type", kind.as_str())];
            if let Some(record) = &warning.record {
                attributes.push(("RecordID", record));
            }
            if let Some(status) = warning.status {
                attributes.push(("Status", status));
            }
            xml.leaf("Warning", &attributes, &warning.text);
        }
        xml.close();
    }
    rest(&mut xml);
    let without_effect = warnings.iter().filter(|warning| warning.kind == 3);
    let refused: Vec<String> = without_effect.map(|warning| warning.text.clone()).collect();
    Heard {
        refused,
        ..Heard::accepted(Answer::new(200, XML, xml.finish()))
    }
}

/// Errors: nothing of the message was dealt with. Business errors come with status 200.
pub(crate) fn error(root: Root, refusal: &Refusal) -> Heard {
    let mut xml = Writer::new(root.name, &[("Version", root.version)]);
    let code = refusal.code.to_string();
    xml.open("Errors", &[]);
    xml.leaf("Error", &[("Type", "13"), ("Code", &code)], &refusal.text);
    xml.close();
    Heard::refused(Answer::new(200, XML, xml.finish()), refusal.text.clone())
}

/// A failure below the message: plain text that begins with `ERROR`.
pub(crate) fn plain(status: u16, why: &str) -> Heard {
    Heard::refused(Answer::new(status, TEXT, format!("ERROR:{why}")), why)
}

/// The name and version of an answer's root element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Root {
    name: &'static str,
    version: &'static str,
}

pub(crate) const PING: Root = Root {
    name: "OTA_PingRS",
    version: "8.000",
};
pub(crate) const INV_COUNT: Root = Root {
    name: "OTA_HotelInvCountNotifRS",
    version: "4.000",
};
pub(crate) const RETRIEVE: Root = Root {
    name: "OTA_ResRetrieveRS",
    version: "7.000",
};
pub(crate) const REPORT: Root = Root {
    name: "OTA_NotifReportRS",
    version: "1.000",
};
pub(crate) const RES_NOTIF: Root = Root {
    name: "OTA_HotelResNotifRS",
    version: "1.000",
};

/// The words of the portal for failures of its own.
pub(crate) struct AlpineTongue;

impl Tongue for AlpineTongue {
    fn failure(&self, instead: Instead) -> Answer {
        match instead {
            Instead::Unauthorized => unauthorized().answer,
            Instead::TooMany {
                retry_after_seconds,
            } => {
                let answer = plain(429, "too many requests").answer;
                match retry_after_seconds {
                    Some(seconds) => answer.with("retry-after", seconds.to_string()),
                    None => answer,
                }
            }
            Instead::ServerError | Instead::Hang { .. } => plain(500, "internal error").answer,
        }
    }
}

/// The answer to wrong or missing credentials.
pub(crate) fn unauthorized() -> Heard {
    let mut heard = plain(401, "no valid credentials");
    heard.answer = heard
        .answer
        .with("www-authenticate", "Basic realm=\"AlpineBits\"");
    heard
}

const XML: &str = "application/xml; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
