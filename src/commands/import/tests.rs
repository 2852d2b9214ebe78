//! Whatever stands in a file of reservations: lines are taken or named, and nothing breaks.

use keyrack_strangers::{Message, grows_with_its_input, hostile};
use proptest::prelude::{prop_assert, proptest};

use super::*;

const WHOLE: &str = "property,account,channel_reference,room_type,channel_room_code,arrival,\
                     departure,quantity,guest_name,status,total,currency,booked_at\n\
                     linden,bdc,881,double,,2030-06-01,2030-06-03,2,\"Ada \"\"A\"\" Example\",\
                     confirmed,240.00,EUR,2030-01-05T09:00:00Z\n\
                     linden,bdc,882,,DBL,2030-06-01,2030-06-03,,,cancelled,,,\n";
const COUNTRY: &str = "account;channel_reference;room_type;arrival;departure;total;currency\n\
                       bdc;1;double;2030-06-01;2030-06-03;99;JPY\n\
                       bdc;2;double;2030-06-03;2030-06-03;;\n";

fn fallback() -> Fallback {
    Fallback {
        property: Some("linden".to_owned()),
        account: None,
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 300, ..Default::default() })]

    #[test]
    fn any_file_is_read_line_by_line_or_refused(
        Message(bytes) in hostile(vec![WHOLE.into(), COUNTRY.into()]),
    ) {
        let Ok((lines, bad)) = line::read(&bytes, &fallback()) else {
            return Ok(());
        };
        let ends = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
        prop_assert!(lines.len() + bad.len() <= ends + 1);
        prop_assert!(bad.iter().all(|bad| !bad.why.is_empty()));
        let plan = plan::plan(&lines, &BTreeMap::new(), jiff::Timestamp::UNIX_EPOCH);
        prop_assert!(plan.reservations.is_empty() && plan.bad.len() == lines.len());
        prop_assert!(more_than_once(&lines, &plan.bad) == lines.len());
    }
}

#[test]
fn the_work_grows_with_the_file_also_where_every_line_is_bad() {
    let head = WHOLE.lines().next().expect("a head");
    let row = WHOLE.lines().nth(1).expect("a row");
    type Shape<'a> = (&'a str, Box<dyn Fn(usize) -> String + 'a>);
    let shapes: [Shape<'_>; 4] = [
        (
            "lines",
            Box::new(|n| format!("{head}\n{}", format!("{row}\n").repeat(n))),
        ),
        (
            "cells",
            Box::new(|n| format!("{head}\n{}", "x,".repeat(n * 20))),
        ),
        (
            "quotes",
            Box::new(|n| format!("{head}\n{}", "\"\"\"\",".repeat(n * 10))),
        ),
        ("columns", Box::new(|n| "property,".repeat(n * 20))),
    ];
    for (what, made) in shapes {
        grows_with_its_input(what, 6_000, made, |text| {
            let Ok((lines, bad)) = line::read(text.as_bytes(), &fallback()) else {
                return;
            };
            let plan = plan::plan(&lines, &BTreeMap::new(), jiff::Timestamp::UNIX_EPOCH);
            assert_eq!(more_than_once(&lines, &plan.bad), lines.len());
            drop(bad);
        });
    }
}
