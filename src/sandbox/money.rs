//! How many decimal places a currency has.

/// The decimal places of a currency by ISO 4217.
pub(crate) fn decimals(currency: &str) -> u32 {
    match currency {
        "JPY" | "KRW" | "CLP" | "ISK" | "VND" => 0,
        "BHD" | "KWD" | "OMR" | "JOD" | "TND" => 3,
        _ => 2,
    }
}
