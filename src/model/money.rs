//! Money: integer minor units of a currency that knows its exponent.

use std::fmt;

use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};

/// An ISO 4217 currency.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency(iso_currency::Currency);

impl Currency {
    /// `None` where the three letters name no currency of ISO 4217.
    pub fn from_code(code: &str) -> Option<Self> {
        iso_currency::Currency::from_code(code).map(Self)
    }

    /// The three letters.
    pub fn code(self) -> &'static str {
        self.0.code()
    }

    /// Digits after the decimal point: 2 for EUR, 0 for JPY, 3 for KWD.
    pub fn exponent(self) -> u32 {
        self.0.exponent().map_or(2, u32::from)
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for Currency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = String::deserialize(deserializer)?;
        Self::from_code(&code)
            .ok_or_else(|| serde::de::Error::custom(format!("{code:?} is no ISO 4217 currency")))
    }
}

/// An amount in minor units: `Money { minor: 14850, currency: EUR }` is 148.50 EUR.
///
/// On the wire it is `{"amount": "148.50", "currency": "EUR"}`, never a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Money {
    /// Minor units (cents where the exponent is 2).
    pub minor: i64,
    /// Whose minor units.
    pub currency: Currency,
}

impl Money {
    /// An amount of `minor` units.
    pub const fn new(minor: i64, currency: Currency) -> Self {
        Self { minor, currency }
    }

    /// Reads a plain decimal such as `148.50`.
    ///
    /// `None` where the text is no decimal, is finer than the currency, or does not fit.
    pub fn from_decimal(text: &str, currency: Currency) -> Option<Self> {
        let plain = text.strip_prefix('-').unwrap_or(text);
        if plain.is_empty() || !plain.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return None;
        }
        let value = Decimal::from_str_exact(text).ok()?;
        Self::exactly(value, currency)
    }

    /// Reads an integer that has `places` digits after the point: `14850`, 2 is 148.50.
    ///
    /// `None` where the amount is finer than the currency or does not fit.
    pub fn from_scaled(integer: i64, places: u32, currency: Currency) -> Option<Self> {
        if places == currency.exponent() {
            return Some(Self::new(integer, currency));
        }
        let value = Decimal::try_from_i128_with_scale(i128::from(integer), places).ok()?;
        Self::exactly(value, currency)
    }

    fn exactly(value: Decimal, currency: Currency) -> Option<Self> {
        let scaled = value.checked_mul(Decimal::from(10_i64.checked_pow(currency.exponent())?))?;
        let whole = scaled.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero);
        (whole == scaled).then_some(())?;
        i64::try_from(whole)
            .ok()
            .map(|minor| Self { minor, currency })
    }

    /// The amount as a plain decimal string with the currency's digits.
    pub fn to_decimal(self) -> String {
        Decimal::try_from_i128_with_scale(i128::from(self.minor), self.currency.exponent())
            .map_or_else(|_| self.minor.to_string(), |value| value.to_string())
    }

    /// The sum, where the currencies are the same and it fits.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        (self.currency == other.currency).then_some(())?;
        let minor = self.minor.checked_add(other.minor)?;
        Some(Self { minor, ..self })
    }

    /// The amount taken `times` times, where it fits.
    pub fn checked_mul(self, times: i64) -> Option<Self> {
        self.minor
            .checked_mul(times)
            .map(|minor| Self { minor, ..self })
    }

    /// The rate derived from this one: `percent` hundredths of a percent on top, then `add` minor
    /// units, rounded half away from zero to a multiple of `step` minor units.
    ///
    /// The one place where money is rounded.
    pub fn derive(self, percent_hundredths: i64, add: i64, step: i64) -> Option<Self> {
        let factor = Decimal::from(10_000_i64.checked_add(percent_hundredths)?);
        let raised = Decimal::from(self.minor)
            .checked_mul(factor)?
            .checked_div(10_000.into())?;
        let step = Decimal::from(step.max(1));
        let steps = raised.checked_add(add.into())?.checked_div(step)?;
        let rounded = steps.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero);
        let minor = i64::try_from(rounded.checked_mul(step)?).ok()?;
        Some(Self { minor, ..self })
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.to_decimal(), self.currency)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    amount: String,
    currency: Currency,
}

impl Serialize for Money {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Wire {
            amount: self.to_decimal(),
            currency: self.currency,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        Self::from_decimal(&wire.amount, wire.currency).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "amount is a decimal string with at most {} digits after the point",
                wire.currency.exponent()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::*;

    fn currency(code: &str) -> Currency {
        Currency::from_code(code).expect("the test names a currency")
    }

    #[test]
    fn each_currency_has_its_own_minor_unit() {
        let cases = [
            ("EUR", "148.50", 14850),
            ("JPY", "148", 148),
            ("KWD", "1.234", 1234),
        ];
        for (code, text, minor) in cases {
            let money = Money::from_decimal(text, currency(code)).expect(text);
            assert_eq!((money.minor, money.to_decimal().as_str()), (minor, text));
        }
    }

    #[test]
    fn an_amount_finer_than_its_currency_is_refused() {
        for (code, text) in [
            ("EUR", "1.005"),
            ("JPY", "1.5"),
            ("EUR", "1e3"),
            ("EUR", ""),
        ] {
            assert_eq!(Money::from_decimal(text, currency(code)), None, "{text}");
        }
        assert_eq!(
            Money::from_scaled(14850, 2, currency("EUR")).map(|m| m.minor),
            Some(14850)
        );
        assert_eq!(
            Money::from_scaled(148500, 3, currency("EUR")).map(|m| m.minor),
            Some(14850)
        );
        assert_eq!(Money::from_scaled(148501, 3, currency("EUR")), None);
    }

    #[test]
    fn a_derived_rate_is_rounded_once() {
        let base = Money::new(9_990, currency("EUR"));
        assert_eq!(base.derive(-1_000, 0, 1).map(|m| m.minor), Some(8_991));
        assert_eq!(base.derive(-1_000, 0, 100).map(|m| m.minor), Some(9_000));
        assert_eq!(base.derive(0, 500, 1).map(|m| m.minor), Some(10_490));
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(minor in any::<i64>()) {
            let money = Money::new(minor, currency("EUR"));
            prop_assert_eq!(Money::from_decimal(&money.to_decimal(), money.currency), Some(money));
        }
    }
}
