//! What became of a message, for whoever handed it in.

use keyrack_model::adapter::{ParseFault, Receipt};
use keyrack_model::id::{AccountId, MessageId};
use uuid::Uuid;

use crate::store::unmapped::UnmappedCode;

/// What became of a message.
#[derive(Clone, Debug, Default)]
pub struct IntakeOutcome {
    /// The raw message; `None` where it held nothing and was not kept.
    pub message: Option<MessageId>,
    /// For the acknowledgement, in the order of the reports. What the ledger could not take is
    /// missing: it comes again.
    pub receipts: Vec<Receipt>,
    /// What could not be read, and what is for nobody here.
    pub faults: Vec<ParseFault>,
    /// The whole could not be read.
    pub is_unreadable: bool,
    /// The channel says that more is waiting.
    pub has_more: bool,
    /// What the ledger has now.
    pub recorded: Vec<Recorded>,
    /// Reports that the ledger could not take.
    pub failed: usize,
    /// Codes that no mapping knew when it was read, and of which account.
    pub unmapped: Vec<(AccountId, UnmappedCode)>,
    /// The walk's id: logs and the raw message carry the same.
    pub span: Uuid,
}

/// A report that the ledger has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Through which listing.
    pub account: AccountId,
    /// The channel's reference.
    pub reference: String,
    /// What the ledger did, in one word.
    pub did: String,
}

impl IntakeOutcome {
    /// Whether the message held anything that was new to nobody's surprise: asking again at once
    /// makes sense only then.
    pub fn made_progress(&self) -> bool {
        !self.recorded.is_empty()
    }
}
