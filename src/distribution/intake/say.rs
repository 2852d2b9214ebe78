//! What intake tells staff: each a line that says what happened and what to do.

use std::collections::BTreeSet;

use keyrack_model::adapter::ParseFault;
use keyrack_model::channel::Account;
use keyrack_model::id::MessageId;
use keyrack_model::reservation::ReservationReport;

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::notice::{self, About, Kind};
use crate::store::connection::ConnectionRow;
use crate::store::unmapped::UnmappedCode;

/// A code that no mapping knows.
pub(super) async fn unmapped(
    distribution: &Distribution,
    account: &Account,
    reference: &str,
    codes: &BTreeSet<UnmappedCode>,
) -> Result<(), DistributionError> {
    for code in codes {
        let about = About {
            property: Some(account.property),
            account: Some(account.id),
        };
        let text = unmapped_text(account, reference, code);
        notice::raise(
            distribution,
            Kind::Unmapped,
            &unmapped_key(account, code),
            about,
            &text,
        )
        .await?;
    }
    Ok(())
}

/// What the notice of a code is about: cleared under the same key when the code is mapped.
pub(crate) fn unmapped_key(account: &Account, code: &UnmappedCode) -> String {
    let (room, rate) = (&code.channel_room_code, &code.channel_rate_code);
    format!("{}:{room}:{rate}", account.id)
}

fn unmapped_text(account: &Account, reference: &str, code: &UnmappedCode) -> String {
    let (room, rate) = (&code.channel_room_code, &code.channel_rate_code);
    let channel = format!("account {} ({})", account.code, account.channel);
    if !rate.is_empty() {
        return format!(
            "The rate {rate} of room {room} at {channel} is not mapped. Reservation {reference} \
             is recorded with its room and without a rate plan. Map the rate; what waits is then \
             read again by itself."
        );
    }
    let taken = if account.settings.fallback_room_type.is_some() {
        "takes a room of the fallback type"
    } else {
        "takes no room, so that its night may be sold twice"
    };
    format!(
        "The room {room} at {channel} is not mapped. Reservation {reference} is recorded and \
         {taken}. Map the room; what waits is then read again by itself."
    )
}

/// A message that cannot be read at all.
pub(super) async fn unreadable(
    distribution: &Distribution,
    row: &ConnectionRow,
    topic: &str,
    message: MessageId,
    why: &str,
) -> Result<(), DistributionError> {
    let text = format!(
        "A message of connection {} ({topic}) cannot be read: {why}. It is kept as message \
         {message}. Look for its reservations in the channel's extranet and in its e-mails, and \
         send the message to the channel's support.",
        row.code
    );
    let key = format!("{}:{topic}", row.id);
    notice::raise(
        distribution,
        Kind::Unreadable,
        &key,
        About::default(),
        &text,
    )
    .await
}

/// Reservations of which a part cannot be read.
pub(super) async fn faults(
    distribution: &Distribution,
    row: &ConnectionRow,
    message: MessageId,
    faults: &[ParseFault],
) -> Result<(), DistributionError> {
    for fault in faults.iter().take(FAULTS_SAID_MAX) {
        let which = match &fault.reference {
            Some(reference) => format!("Reservation {reference}"),
            None => "A reservation".to_owned(),
        };
        let text = format!(
            "{which} from connection {} cannot be read in full: {} ({}). The message is kept as \
             message {message}. Compare it with the channel's extranet.",
            row.code, fault.why, fault.at
        );
        let key = match &fault.reference {
            Some(reference) => format!("{}:{reference}", row.id),
            None => format!("{}:message {message}", row.id),
        };
        notice::raise(distribution, Kind::Faulty, &key, About::default(), &text).await?;
    }
    let more = faults.len().saturating_sub(FAULTS_SAID_MAX);
    if more == 0 {
        return Ok(());
    }
    let text = format!(
        "{more} more reservations from connection {} cannot be read in full. The message is kept \
         as message {message}, with each of them. Ask the channel what it sends.",
        row.code
    );
    let key = format!("{}:more of message {message}", row.id);
    notice::raise(distribution, Kind::Faulty, &key, About::default(), &text).await
}

/// Broken reservations of one message that staff are told of one by one: more of them are one fault
/// of the channel, and no reason for thousands of mails.
const FAULTS_SAID_MAX: usize = 50;

/// The channel does not let us ask for a hotel, though it answers for others.
pub(crate) async fn refused_hotel(
    distribution: &Distribution,
    row: &ConnectionRow,
    hotel_code: &str,
    account: Option<&Account>,
    why: &str,
) -> Result<(), DistributionError> {
    let text = format!(
        "Connection {} ({}) may not ask for reservations of hotel {hotel_code}: {why}. See that \
         the hotel is still connected there. Until then its reservations come by e-mail only.",
        row.code, row.channel
    );
    let about = About {
        property: account.map(|account| account.property),
        account: account.map(|account| account.id),
    };
    let key = format!("{}:{hotel_code}", row.id);
    notice::raise(distribution, Kind::HotelRefused, &key, about, &text).await
}

/// Of a connection's hotels only these are still refused.
pub(crate) async fn no_longer_refused(
    distribution: &Distribution,
    row: &ConnectionRow,
    refused: &[String],
) -> Result<(), DistributionError> {
    let standing: Vec<String> = refused
        .iter()
        .map(|code| format!("{}:{code}", row.id))
        .collect();
    let whose = format!("{}:", row.id);
    notice::clear_others(distribution, Kind::HotelRefused, &whose, &standing).await?;
    Ok(())
}

/// A reservation for a hotel that is not connected here.
pub(super) async fn unknown_hotel(
    distribution: &Distribution,
    row: &ConnectionRow,
    hotel_code: &str,
    reference: &str,
) -> Result<(), DistributionError> {
    let text = format!(
        "Connection {} delivers reservations for hotel {hotel_code}, which is no account here, \
         such as {reference}. They are refused and kept as raw messages. Make an account for this \
         hotel, or have the channel take it off this connection.",
        row.code
    );
    let key = format!("{}:{hotel_code}", row.id);
    notice::raise(
        distribution,
        Kind::UnknownHotel,
        &key,
        About::default(),
        &text,
    )
    .await
}

/// A fact that is recorded as it was told, and that makes a person look.
pub(super) async fn oddities(
    distribution: &Distribution,
    account: &Account,
    reference: &str,
    flags: &[String],
) -> Result<(), DistributionError> {
    for (flag, advice) in ODDITIES {
        if !flags.iter().any(|known| known == flag) {
            continue;
        }
        let text = format!(
            "Reservation {reference} of account {} ({}) is recorded, and {advice}.",
            account.code, account.channel
        );
        let about = About {
            property: Some(account.property),
            account: Some(account.id),
        };
        let key = format!("{}:{reference}:{flag}", account.id);
        notice::raise(distribution, Kind::OddFact, &key, about, &text).await?;
    }
    Ok(())
}

/// Flags of the ledger that ask for a person, and what to do.
const ODDITIES: [(&str, &str); 7] = [
    (
        "odd_dates",
        "its dates make no whole stay: only the nights that make sense are taken. Ask the guest \
         or the channel, and correct it",
    ),
    (
        "in_the_past",
        "it arrives before today. See whether the guest is here, and correct it",
    ),
    (
        "beyond_horizon",
        "it ends after the nights that the hotel sells. See whether the channel was told to sell \
         them, and whether rates and rooms will be there",
    ),
    (
        "foreign_currency",
        "its price is in another currency than the hotel's. The price is kept as it was told",
    ),
    (
        "changed_by_both",
        "the channel changed what the desk had changed too. The channel's dates stand, the room \
         type is the desk's. Compare both",
    ),
    (
        "same_order_other_content",
        "two different states came under one revision. The later one stands. Compare it with the \
         channel's extranet",
    ),
    (
        "cancelled_by_channel",
        "the channel cancelled it although the guest is or was here. Its rooms stay taken: settle \
         it with the channel",
    ),
];

/// A guest asks for an offer: nobody has booked, a person answers.
pub(super) async fn quote(
    distribution: &Distribution,
    row: &ConnectionRow,
    message: MessageId,
    report: &ReservationReport,
    account: Option<&Account>,
) -> Result<(), DistributionError> {
    let text = format!(
        "Connection {} brings a request for an offer, {}. It takes no room. It is kept as message \
         {message}: answer it at the channel.",
        row.code, report.reference
    );
    let about = About {
        property: account.map(|account| account.property),
        account: account.map(|account| account.id),
    };
    let key = format!("{}:{}", row.id, report.reference);
    notice::raise(distribution, Kind::Quote, &key, about, &text).await
}
