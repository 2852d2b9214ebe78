//! The page itself.

use keyrack_ledger::inventory::TypeNights;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::board::{AccountLine, Board, CaseLine, House, Line};

/// A page of a few words.
pub fn words(title: &str, sentence: &str) -> Markup {
    framed(title, &html! { h1 { (title) } p { (sentence) } })
}

/// The page of a property.
pub fn board(board: &Board) -> Markup {
    let body = html! {
        nav {
            @for (code, name) in &board.properties {
                a href={ "/?property=" (code) } { (name) } " "
            }
            a.docs href="/docs" { "the HTTP contract" }
        }
        @match &board.house {
            Some(house) => (shown(house)),
            None => p { "There is no such property, or none yet." },
        }
    };
    framed("keyrack", &body)
}

fn shown(house: &House) -> Markup {
    html! {
        h1 { (house.name) " " small { (house.code) ", business day " (house.today) } }
        @if !house.cases.is_empty() {
            h2 { "Overbookings to resolve" }
            (cases(&house.cases))
        }
        h2 { "Nights" }
        (nights(&house.nights))
        h2 { "Newest reservations" }
        (reservations(&house.reservations))
        h2 { "Accounts" }
        (accounts(&house.accounts))
    }
}

fn cases(lines: &[CaseLine]) -> Markup {
    html! {
        table {
            tr {
                th { "case" } th { "type" } th { "nights" } th { "why" } th { "owner" }
                th { "until" }
            }
            @for line in lines {
                tr {
                    td { (line.id) }
                    td { (line.room_type) }
                    td { (line.nights) }
                    td { (line.cause.replace('_', " ")) }
                    td { (line.owner.as_deref().unwrap_or("nobody")) }
                    td class=(if line.is_late { "bad" } else { "" }) {
                        (line.deadline.as_deref().unwrap_or("–"))
                    }
                }
            }
        }
    }
}

fn nights(types: &[TypeNights]) -> Markup {
    let dates = types.first().map(|one| one.nights.as_slice());
    html! {
        table {
            tr {
                th { "free / sold / held" }
                @for line in dates.unwrap_or_default() {
                    th {
                        (line.night.strftime("%a").to_string()) br;
                        (line.night.strftime("%m-%d").to_string())
                    }
                }
            }
            @for one in types {
                tr {
                    th { (one.room_type) }
                    @for line in &one.nights {
                        td class=(shade(line.free, line.balance.is_overbooked())) {
                            b { (line.free) } " / " (line.balance.sold) " / " (line.balance.held)
                        }
                    }
                }
            }
        }
        @if types.is_empty() { p { "There is no room type yet." } }
    }
}

fn shade(free: i32, is_overbooked: bool) -> &'static str {
    match (is_overbooked, free) {
        (true, _) => "bad",
        (false, 0) => "full",
        (false, _) => "",
    }
}

fn reservations(lines: &[Line]) -> Markup {
    html! {
        table {
            tr { th { "number" } th { "status" } th { "source" } th { "stay" } th { "flags" } }
            @for line in lines {
                tr {
                    td { (line.number) }
                    td { (line.status) }
                    td { (line.source) @if let Some(account) = &line.account { " " (account) } }
                    td { @for room in &line.rooms { (room) br; } }
                    td { (line.flags.join(", ")) }
                }
            }
        }
    }
}

fn accounts(lines: &[AccountLine]) -> Markup {
    html! {
        table {
            tr {
                th { "account" } th { "channel" } th { "state" } th { "why" } th { "to tell" }
                th { "lag p50 / p95 / p99" } th { "last push" } th { "last poll" }
                th { "nights at risk" } th { "unmapped" }
            }
            @for line in lines {
                @let (p50, p95, p99) = line.lag_ms;
                @let (push, poll) = &line.last;
                tr {
                    td { (line.code) }
                    td { (line.channel) }
                    td class=(if line.state == "failing" { "bad" } else { "" }) { (line.state) }
                    td { (line.reason.as_deref().unwrap_or("")) }
                    td { (line.queue) }
                    td { (p50) " / " (p95) " / " (p99) " ms" }
                    td { (push.as_deref().unwrap_or("–")) }
                    td { (poll.as_deref().unwrap_or("–")) }
                    td class=(if line.at_risk > 0 { "bad" } else { "" }) { (line.at_risk) }
                    td { (line.unmapped) }
                }
            }
        }
    }
}

fn framed(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="refresh" content="30";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    }
}

const STYLE: &str = "body{font:15px/1.4 system-ui,sans-serif;margin:1.5rem;color:#222}\
small{color:#777;font-weight:normal}table{border-collapse:collapse}\
th,td{border:1px solid #ddd;padding:.25rem .5rem;text-align:left;vertical-align:top}\
td.full{background:#eee;color:#777}td.bad{background:#fdd}nav a{margin-right:.8rem}";
