//! What a client posts to a queue: which messages it has taken, or could not take.

use jiff::Timestamp;
use roxmltree::Node;

use crate::edge::Heard;
use crate::state::State;
use crate::xml::{child, children, text, tree};

use super::answer::{Fault, Outcome, outcome, refusal};
use super::queue::{NotTaken, Queue, acknowledge, may_acknowledge};

/// An acknowledgement as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    pub(crate) references: Vec<String>,
    /// Positive, or the client's refusal.
    pub(crate) taken: bool,
}

/// Deals with an acknowledgement: all that it names, or nothing.
pub(crate) fn receive(state: &mut State, queue: Queue, body: &[u8], now: Timestamp) -> Heard {
    let read = match read(queue, body) {
        Ok(read) => read,
        Err(why) => return refusal(queue.response(), 400, Fault::new(450, why), now),
    };
    let mut stale = Outcome::default();
    let mut status = 400;
    for reference in &read.references {
        let why = match may_acknowledge(state, queue, reference) {
            Ok(()) => continue,
            Err(NotTaken::Unknown) => {
                status = 404;
                "Hotel reservation was not found"
            }
            Err(NotTaken::WrongMessage) => {
                "Hotel reservation has transaction message of the wrong type"
            }
        };
        stale.errors.push(Fault::new(450, why).about(reference));
    }
    if !stale.errors.is_empty() {
        let mut heard = outcome(queue.response(), &stale, now);
        heard.answer.status = status;
        return heard;
    }
    for reference in &read.references {
        acknowledge(state, reference, read.taken, now);
    }
    let mut heard = outcome(queue.response(), &Outcome::default(), now);
    heard.references = read.references;
    heard
}

/// Reads an acknowledgement; a sentence if it is none.
pub(crate) fn read(queue: Queue, body: &[u8]) -> Result<Acknowledged, String> {
    let document = text(body).and_then(tree)?;
    let root = document.root_element();
    if root.tag_name().name() != queue.response() {
        return Err(format!("the root element is not {}", queue.response()));
    }
    match (child(root, "Success"), child(root, "Errors")) {
        (Some(_), None) => positive(queue, root),
        (None, Some(errors)) => negative(errors),
        _ => Err("either Success or Errors is required".to_owned()),
    }
}

fn positive(queue: Queue, root: Node<'_, '_>) -> Result<Acknowledged, String> {
    let (list, item) = match queue {
        Queue::New => ("HotelReservations", "HotelReservation"),
        Queue::Modify => ("HotelResModifies", "HotelResModify"),
    };
    let references = children(root, list)
        .flat_map(|list| children(list, item))
        .flat_map(|item| children(item, "ResGlobalInfo"))
        .flat_map(|global| children(global, "HotelReservationIDs"))
        .flat_map(|ids| children(ids, "HotelReservationID"))
        .map(|id| id.attribute("ResID_Value").unwrap_or_default().to_owned())
        .collect();
    named(references, true)
}

fn negative(errors: Node<'_, '_>) -> Result<Acknowledged, String> {
    let references = children(errors, "Error")
        .map(|error| error.attribute("RecordID").unwrap_or_default().to_owned())
        .collect();
    named(references, false)
}

fn named(references: Vec<String>, taken: bool) -> Result<Acknowledged, String> {
    if references.is_empty() || references.iter().any(String::is_empty) {
        return Err("the reservations are not named".to_owned());
    }
    Ok(Acknowledged { references, taken })
}
