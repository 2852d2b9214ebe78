//! What a property has decided beforehand about its overbookings, so that the one who is moved is
//! a rule and not a mood (ledger, section 6).

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use keyrack_model::stay::{StayDate, days_between};
use serde::{Deserialize, Serialize};

/// The policy of a property, from its JSON. What it does not say has a default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OverbookingPolicy {
    /// What decides who is moved, the most telling first.
    pub rank: Vec<RankKey>,
    /// Codes of accounts, those whose guests stay first; `direct` stands for the hotel's own sales.
    pub channel_priority: Vec<String>,
    /// Codes of rate plans whose guests are VIPs.
    pub vip_rate_plans: Vec<String>,
    /// What a walk costs: the first line that fits.
    pub compensation: Vec<Compensation>,
    /// What a room of another type costs, for one room and night, in minor units.
    pub upgrade_per_night_minor: i64,
    /// What a night in a sister property costs, for one room, in minor units.
    pub sister_per_night_minor: i64,
    /// A way out that costs more is a manager's to approve; in minor units.
    pub approval_above_minor: Option<i64>,
    /// When a case must be resolved.
    pub deadline: Deadline,
    /// When guests may have their rooms; the deadline counts back from it.
    pub check_in_at: Time,
    /// Mail addresses that learn of a deadline that has passed.
    pub escalate_to: Vec<String>,
    /// Codes of hotels of the same owner. They must name this one, too.
    pub sister_properties: Vec<String>,
}

/// What decides who is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankKey {
    /// Who was received last is moved first.
    Received,
    /// Who came through the least important account is moved first.
    ChannelPriority,
    /// Who neither paid nor guaranteed is moved first.
    Guaranteed,
    /// Who stays the fewest nights is moved first.
    LengthOfStay,
    /// A VIP is moved last.
    Vip,
}

/// A line of the table of compensations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Compensation {
    /// Only for stays of so many nights or more.
    pub nights_min: Option<i32>,
    /// Only when the arrival is so many days ahead or fewer.
    pub lead_days_max: Option<i32>,
    /// Once, in minor units.
    pub amount_minor: i64,
    /// For each night and room, in minor units.
    pub per_night_minor: i64,
}

/// When a case must be resolved: so many hours before the first guest may have his room, or at a
/// time of the day of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    /// So many hours before `check_in_at`.
    HoursBefore(i32),
    /// At this time on the day of arrival.
    At(Time),
}

impl Default for OverbookingPolicy {
    fn default() -> Self {
        Self {
            rank: vec![RankKey::Vip, RankKey::Guaranteed, RankKey::Received],
            channel_priority: Vec::new(),
            vip_rate_plans: Vec::new(),
            compensation: Vec::new(),
            upgrade_per_night_minor: 0,
            sister_per_night_minor: 0,
            approval_above_minor: None,
            deadline: Deadline::HoursBefore(24),
            check_in_at: Time::constant(15, 0, 0, 0),
            escalate_to: Vec::new(),
            sister_properties: Vec::new(),
        }
    }
}

impl OverbookingPolicy {
    /// What a field must be, in words.
    pub fn shape(field: &str) -> &'static str {
        match field {
            "rank" => {
                "a list of received, channel_priority, guaranteed, length_of_stay and vip, in the \
                 order in which they decide"
            }
            "channel_priority" => "a list of codes of accounts",
            "vip_rate_plans" => "a list of codes of rate plans",
            "compensation" => {
                "a list of lines with nights_min, lead_days_max, amount_minor and \
                 per_night_minor, each a whole number"
            }
            "deadline" => "either {\"hours_before\": 24} or {\"at\": \"18:00\"}",
            "check_in_at" => "a time of the day such as 15:00",
            "escalate_to" => "a list of mail addresses",
            "sister_properties" => "a list of codes of hotels",
            _ => "a whole number of minor units",
        }
    }

    /// What a walk costs in minor units. `None` where no line of the table fits.
    pub fn walk_minor(&self, nights: i32, lead_days: i32, rooms: i32) -> Option<i64> {
        let line = self.compensation.iter().find(|line| {
            line.nights_min.is_none_or(|min| nights >= min)
                && line.lead_days_max.is_none_or(|max| lead_days <= max)
        })?;
        let rooms = i64::from(rooms);
        let each = line.per_night_minor.checked_mul(i64::from(nights))?;
        line.amount_minor.checked_add(each)?.checked_mul(rooms)
    }

    /// Whether a cost is a manager's to approve.
    pub fn needs_approval(&self, cost_minor: i64) -> bool {
        self.approval_above_minor
            .is_some_and(|above| cost_minor > above)
    }

    /// When a case of this first night must be resolved. Who opens one later than that has a while
    /// all the same.
    pub fn deadline(&self, night: StayDate, zone: &TimeZone, opened_at: Timestamp) -> Timestamp {
        let at = |time: Time| {
            let local = night.to_datetime(time).to_zoned(zone.clone());
            local.map_or(opened_at, |local| local.timestamp())
        };
        let rule = match self.deadline {
            Deadline::At(time) => at(time),
            Deadline::HoursBefore(hours) => {
                let before = SignedDuration::from_hours(i64::from(hours));
                let check_in = at(self.check_in_at);
                check_in.checked_sub(before).unwrap_or(check_in)
            }
        };
        let soonest = opened_at.checked_add(SignedDuration::from_mins(WHILE_MINUTES));
        rule.max(soonest.unwrap_or(opened_at))
    }

    /// What is wrong with it: field and sentence. Codes are only checked for their shape: an
    /// account or a hotel may be made later.
    pub fn faults(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        let mut unless = |claim: bool, field, sentence: &str| {
            if !claim {
                found.push((field, sentence.to_owned()));
            }
        };
        let once = |keys: &[RankKey]| (1..keys.len()).all(|at| !keys[..at].contains(&keys[at]));
        unless(once(&self.rank), "rank", "each key once");
        let amount = |minor: i64| (0..=AMOUNT_MAX).contains(&minor);
        for (field, minor) in [
            ("upgrade_per_night_minor", self.upgrade_per_night_minor),
            ("sister_per_night_minor", self.sister_per_night_minor),
            (
                "approval_above_minor",
                self.approval_above_minor.unwrap_or(0),
            ),
        ] {
            unless(amount(minor), field, AMOUNT);
        }
        let lines = &self.compensation;
        let fits = |line: &Compensation| amount(line.amount_minor) && amount(line.per_night_minor);
        unless(lines.iter().all(fits), "compensation", AMOUNT);
        unless(
            lines.len() <= LINES_MAX,
            "compensation",
            "at most 100 lines",
        );
        let hours = match self.deadline {
            Deadline::HoursBefore(hours) => (0..=24 * 365).contains(&hours),
            Deadline::At(_) => true,
        };
        unless(hours, "deadline", "hours_before is 0 to 8760 hours");
        let is_address = |text: &String| {
            let parts = text.split_once('@');
            parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
                && text.len() <= 200
                && !text.chars().any(|c| c.is_whitespace() || c.is_control())
        };
        let to = &self.escalate_to;
        let words = "mail addresses, at most 20";
        unless(
            to.iter().all(is_address) && to.len() <= 20,
            "escalate_to",
            words,
        );
        for (field, codes) in [
            ("channel_priority", &self.channel_priority),
            ("vip_rate_plans", &self.vip_rate_plans),
            ("sister_properties", &self.sister_properties),
        ] {
            let is_code = |code: &String| (1..=40).contains(&code.len());
            let fits = codes.iter().all(is_code) && codes.len() <= LINES_MAX;
            unless(fits, field, "codes, at most 100");
        }
        found
    }

    /// The names of its fields: another is a typing error.
    pub const FIELDS: [&str; 11] = [
        "rank",
        "channel_priority",
        "vip_rate_plans",
        "compensation",
        "upgrade_per_night_minor",
        "sister_per_night_minor",
        "approval_above_minor",
        "deadline",
        "check_in_at",
        "escalate_to",
        "sister_properties",
    ];
}

/// Nights between the present day and an arrival, never below 0.
pub fn lead_days(today: StayDate, arrival: StayDate) -> i32 {
    days_between(today, arrival).max(0)
}

/// The nights of a stay that are still to come, by its departure.
pub fn nights_ahead(today: StayDate, arrival: StayDate, departure: StayDate) -> i32 {
    days_between(arrival.max(today), departure).max(0)
}

/// A case that opens late is given so many minutes before it counts as forgotten.
const WHILE_MINUTES: i64 = 30;
/// More than any night costs, and far from what arithmetic holds.
const AMOUNT_MAX: i64 = 1_000_000_000;
const AMOUNT: &str = "minor units of the property's currency, 0 to 1,000,000,000";
const LINES_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn policy(deadline: Deadline) -> OverbookingPolicy {
        OverbookingPolicy {
            deadline,
            ..OverbookingPolicy::default()
        }
    }

    #[test]
    fn the_deadline_counts_back_from_the_arrival_in_the_propertys_own_zone() {
        let rome = TimeZone::get("Europe/Rome").expect("a zone");
        let opened: Timestamp = "2030-03-01T08:00:00Z".parse().expect("an instant");
        let arrival = date(2030, 3, 31);
        for (deadline, expected) in [
            // The night of the change of clocks: 15:00 is 13:00 UTC already.
            (Deadline::HoursBefore(24), "2030-03-30T13:00:00Z"),
            (Deadline::HoursBefore(0), "2030-03-31T13:00:00Z"),
            (
                Deadline::At(Time::constant(10, 30, 0, 0)),
                "2030-03-31T08:30:00Z",
            ),
        ] {
            let found = policy(deadline).deadline(arrival, &rome, opened);
            assert_eq!(found.to_string(), expected, "{deadline:?}");
        }
        let late: Timestamp = "2030-03-31T20:00:00Z".parse().expect("an instant");
        let found = policy(Deadline::HoursBefore(24)).deadline(arrival, &rome, late);
        assert_eq!(found.to_string(), "2030-03-31T20:30:00Z");
    }

    #[test]
    fn a_walk_costs_what_the_first_line_that_fits_says() {
        let line = |nights_min, lead_days_max, amount_minor, per_night_minor| Compensation {
            nights_min,
            lead_days_max,
            amount_minor,
            per_night_minor,
        };
        let policy = OverbookingPolicy {
            compensation: vec![
                line(Some(3), Some(1), 20_000, 9_000),
                line(None, Some(1), 15_000, 0),
                line(None, Some(30), 0, 5_000),
            ],
            ..OverbookingPolicy::default()
        };
        for (nights, lead, rooms, minor) in [
            (4, 0, 1, Some(56_000)),
            (2, 1, 1, Some(15_000)),
            (2, 1, 2, Some(30_000)),
            (4, 7, 1, Some(20_000)),
            (4, 31, 1, None),
        ] {
            let found = policy.walk_minor(nights, lead, rooms);
            assert_eq!(found, minor, "{nights} nights, {lead} days ahead");
        }
    }

    #[test]
    fn only_what_costs_more_is_a_managers_to_approve() {
        let policy = OverbookingPolicy {
            approval_above_minor: Some(10_000),
            ..OverbookingPolicy::default()
        };
        assert!(!policy.needs_approval(10_000) && policy.needs_approval(10_001));
        assert!(!OverbookingPolicy::default().needs_approval(i64::MAX));
    }
}
