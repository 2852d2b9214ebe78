//! What each AlpineBits sample means, beyond "accept" and "reject" of its manifest.
//!
//! `set` and `delta` name the hotel; a category is followed by its nights (the end excluded) and
//! its bookable rooms; a request by its nights, category, total and guests; `thanks` and `refuses`
//! are our acknowledgement. Of a refusal, a word of its reason stands here.

/// File, and facts.
pub type Expected = (&'static str, &'static [&'static str]);

pub const ALPINEBITS: &[Expected] = &[
    (
        "authored/v2024-10/freerooms-closing-season-first.xml",
        &[
            "set HTL1",
            "* 2027-04-05..2027-05-21 closed",
            "DBL 2027-05-21..2027-06-01 3",
        ],
    ),
    (
        "authored/v2024-10/freerooms-complete-two-categories.xml",
        &[
            "set HTL1",
            "DBL 2027-01-10..2027-01-17 3",
            "DBL 2027-01-17..2027-02-01 1",
            "SGL 2027-01-10..2027-02-01 2",
        ],
    ),
    (
        "authored/v2024-10/freerooms-complete-type-35.xml",
        &["set HTL1", "DBL 2027-01-10..2027-01-17 3"],
    ),
    (
        "authored/v2024-10/freerooms-delta-no-invcounts-means-zero.xml",
        &["delta HTL1", "DBL 2027-01-13..2027-01-15 0"],
    ),
    (
        "authored/v2024-10/freerooms-delta-one-night.xml",
        &["delta HTL1", "DBL 2027-01-12..2027-01-13 0"],
    ),
    (
        "authored/v2024-10/freerooms-err-count-type-1.xml",
        &["unreadable: none of 2, 6 and 9"],
    ),
    (
        "authored/v2024-10/freerooms-err-impossible-date.xml",
        &["unreadable: no date of the calendar"],
    ),
    (
        "authored/v2024-10/freerooms-err-mixed-rooms-and-categories.xml",
        &["unreadable: not mixed"],
    ),
    (
        "authored/v2024-10/freerooms-err-negative-count.xml",
        &["unreadable: no number of rooms"],
    ),
    (
        "authored/v2024-10/freerooms-err-overlap-same-category.xml",
        &["unreadable: overlap"],
    ),
    (
        "authored/v2024-10/freerooms-err-start-after-end.xml",
        &["unreadable: must not lie before Start"],
    ),
    (
        "authored/v2024-10/freerooms-err-unknown-category.xml",
        &["set HTL1", "NOPE 2027-02-01..2027-02-11 3"],
    ),
    (
        "authored/v2024-10/freerooms-err-unknown-hotel.xml",
        &["set NOSUCH", "DBL 2027-01-10..2027-01-17 3"],
    ),
    (
        "authored/v2024-10/freerooms-ok-adjacent-periods.xml",
        &[
            "set HTL1",
            "DBL 2027-02-01..2027-02-11 3",
            "DBL 2027-02-11..2027-02-13 2",
        ],
    ),
    (
        "authored/v2024-10/freerooms-ok-leap-night.xml",
        &["delta HTL1", "DBL 2028-02-29..2028-03-01 1"],
    ),
    (
        "authored/v2024-10/freerooms-ok-same-period-other-category.xml",
        &[
            "set HTL1",
            "DBL 2027-02-01..2027-02-11 3",
            "SGL 2027-02-01..2027-02-11 2",
        ],
    ),
    ("authored/v2024-10/freerooms-reset.xml", &["set HTL1"]),
    ("authored/v2024-10/guestrequests-ack-partial.xml", &[]),
    (
        "authored/v2024-10/guestrequests-cancel-for-unknown-id.xml",
        &["R8888 cancelled", "thanks 15 R8888"],
    ),
    (
        "authored/v2024-10/guestrequests-cancel-minimal.xml",
        &["R1001 cancelled", "thanks 15 R1001"],
    ),
    (
        "authored/v2024-10/guestrequests-daily-rates.xml",
        &[
            "R1005 new 2027-03-05..2027-03-08 DBL 240.00 EUR 2+0",
            "R1005 night 2027-03-05 75.00",
            "R1005 night 2027-03-06 75.00",
            "R1005 night 2027-03-07 90.00",
            "thanks 14 R1005",
        ],
    ),
    (
        "authored/v2024-10/guestrequests-err-cancelled-type-14.xml",
        &["refused R1001: does not go with", "refuses R1001"],
    ),
    (
        "authored/v2024-10/guestrequests-err-zero-nights.xml",
        &["refused R1004: at least a night", "refuses R1004"],
    ),
    (
        "authored/v2024-10/guestrequests-modify.xml",
        &[
            "R1001 modified 2027-03-06..2027-03-08 DBL 160.00 EUR 2+0",
            "thanks 14 R1001",
        ],
    ),
    (
        "authored/v2024-10/guestrequests-push-reservation.xml",
        &[
            "P3001 new 2027-06-10..2027-06-12 DBL 240.00 EUR 2+0",
            "thanks 14 P3001",
        ],
    ),
    (
        "authored/v2024-10/guestrequests-quote-with-date-window.xml",
        &["Q2001 quote 2+1", "thanks 14 Q2001"],
    ),
    (
        "authored/v2024-10/guestrequests-two-rooms.xml",
        &[
            "R1001 new 2027-03-05..2027-03-08 DBL 240.00 EUR 2+0",
            "R1001 new 2027-03-05..2027-03-08 SGL 150.00 EUR 1+0",
            "thanks 14 R1001",
        ],
    ),
    (
        "authored/v2024-10/handshake-err-invalid-json.xml",
        &["unreadable: no JSON of a handshake"],
    ),
    ("authored/v2024-10/handshake-two-versions.xml", &[]),
    ("authored/v2024-10/handshake-whitespace-preserved.xml", &[]),
    (
        "examples/v2024-10/FreeRooms-OTA_HotelInvCountNotifRQ-delta.xml",
        &[
            "delta 123",
            "DOUBLE 2022-08-11..2022-08-21 1",
            "DOUBLE 2022-08-21..2022-08-31 0",
        ],
    ),
    (
        "examples/v2024-10/FreeRooms-OTA_HotelInvCountNotifRQ.xml",
        &[
            "set 123",
            "DOUBLE 2022-08-01..2022-08-11 3",
            "DOUBLE 2022-08-11..2022-08-21 0",
            "DOUBLE 2022-08-21..2022-08-31 1",
        ],
    ),
    (
        "examples/v2024-10/FreeRooms-OTA_HotelInvCountNotifRS-error.xml",
        &["unreadable: Invalid start/end date combination (code 404)"],
    ),
    (
        "examples/v2024-10/FreeRooms-OTA_HotelInvCountNotifRS-success.xml",
        &[],
    ),
    (
        "examples/v2024-10/GuestRequests-Acknowledgments-OTA_NotifReportRQ.xml",
        &[],
    ),
    ("examples/v2024-10/GuestRequests-OTA_ReadRQ.xml", &[]),
    (
        "examples/v2024-10/GuestRequests-OTA_ResRetrieveRS-cancellation.xml",
        &["c24e8b15ca469388 cancelled", "thanks 15 c24e8b15ca469388"],
    ),
    (
        "examples/v2024-10/GuestRequests-OTA_ResRetrieveRS-empty.xml",
        &[],
    ),
    (
        "examples/v2024-10/GuestRequests-OTA_ResRetrieveRS-reservation.xml",
        &[
            "6b34fe24ac2ff810 new 2022-01-01..2022-01-12 bigsuite 299.00 EUR 2+2",
            "thanks 14 6b34fe24ac2ff810",
        ],
    ),
    (
        "examples/v2024-10/GuestRequests-Push-OTA_HotelResNotifRQ.xml",
        &[
            "6b34fe24ac2ff810 new 2023-01-01..2023-01-12 bigsuite 299.00 EUR 2+2",
            "thanks 14 6b34fe24ac2ff810",
        ],
    ),
    ("examples/v2024-10/Handshake-OTA_PingRQ.xml", &[]),
    ("examples/v2024-10/Handshake-OTA_PingRS.xml", &[]),
    (
        "validation/v2024-10/freerooms/HotelAvailNotifRQ_err_categories-and-rooms-mixed.xml",
        &["unreadable: not mixed"],
    ),
    (
        "validation/v2024-10/freerooms/HotelAvailNotifRQ_err_closing-seasons-must-not-overlap.xml",
        &["unreadable: overlap"],
    ),
    (
        "validation/v2024-10/freerooms/HotelAvailNotifRQ_err_no-hotelcode.xml",
        &["unreadable: HotelCode"],
    ),
    (
        "validation/v2024-10/freerooms/HotelAvailNotifRQ_ok_complete-set-and-categories.xml",
        &[
            "set 9996",
            "double 2010-08-01..2010-08-11 0",
            "double 2010-08-21..2010-08-31 0",
        ],
    ),
    (
        "validation/v2024-10/freerooms/HotelAvailNotifRQ_ok_complete-set-and-rooms.xml",
        &[
            "set 9996",
            "double/101S 2010-08-01..2010-08-11 0",
            "double/101S 2010-08-21..2010-08-31 0",
        ],
    ),
    (
        "validation/v2024-10/freerooms/HotelAvailNotifRQ_ok_delta-and-rooms.xml",
        &["delta 9996", "double/HL2 2010-08-01..2010-08-11 0"],
    ),
    (
        "validation/v2024-10/freerooms/HotelAvailNotifRQ_support_categories.xml",
        &["set 9996", "double 2010-08-01..2010-08-11 3"],
    ),
    (
        "validation/v2024-10/freerooms/HotelAvailNotifRQ_support_out-of-market.xml",
        &["set 9996", "double 2010-08-01..2010-08-11 0"],
    ),
    (
        "validation/v2024-10/freerooms/HotelAvailNotifRQ_support_out-of-order.xml",
        &["set 9996", "double 2010-08-01..2010-08-11 0"],
    ),
    (
        "validation/v2024-10/freerooms/HotelAvailNotifRQ_support_rooms.xml",
        &["set 9996", "double/HS2 2010-08-01..2010-08-11 3"],
    ),
];
