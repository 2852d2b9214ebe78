//! Who is asking, and whether they may: extractors by role.
//!
//! Order: 401 without a known key, 404 for a property that is not theirs (whatever is done to it),
//! then 403 for a role that is too low.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;
use http::{HeaderMap, header};
use keyrack_ledger::command::{By, Forced};
use keyrack_ledger::decide::refusal::Force;
use keyrack_ledger::keys::{ApiKey, Role};

use crate::edge::RequestId;
use crate::names::House;
use crate::problem::Problem;
use crate::problem::kind::Kind;
use crate::state::ApiState;
use crate::wire::{ForceBody, leaves_its_line};

/// Somebody with a key.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The key.
    pub key: Arc<ApiKey>,
    actor: Option<String>,
    request_id: String,
    of_command: Option<OfCommand>,
}

/// Laid into a request that never came over the wire: the question of a command of this program,
/// named by its first word. Who may open the database may ask everything.
#[derive(Clone, Copy, Debug)]
pub struct OfCommand(pub &'static str);

impl Caller {
    /// As entries name them.
    pub fn by(&self) -> By {
        let who = match self.of_command {
            Some(OfCommand(command)) => format!("command:{command}"),
            None => format!("key:{}", self.key.id),
        };
        let name = self.actor.as_deref().unwrap_or(&self.key.name);
        By {
            actor: match name.is_empty() {
                true => who,
                false => format!("{who} ({name})"),
            },
            request_id: Some(self.request_id.clone()),
        }
    }

    /// An override as it is written down. The front desk may pass restrictions and closures; more
    /// takes a manager.
    pub fn force(&self, body: Option<ForceBody>) -> Result<Option<Forced>, Problem> {
        let Some(ForceBody { reason, allow }) = body else {
            return Ok(None);
        };
        if reason.trim().is_empty() || reason.chars().count() > REASON_MAX {
            let message = format!("1 to {REASON_MAX} characters, not blank");
            return Err(Problem::invalid("/force/reason", message));
        }
        let is_light = |force: &Force| matches!(force, Force::Restriction | Force::Closed);
        if self.key.role < Role::Manager && !allow.iter().all(is_light) {
            let detail = "the front desk may force restriction and closed; more takes a manager";
            return Err(Problem::new(Kind::Forbidden, detail));
        }
        Ok(Some(Forced { reason, allow }))
    }

    fn must(&self, role: Role) -> Result<(), Problem> {
        if self.key.role >= role {
            return Ok(());
        }
        let detail = format!("this takes a key with the role {}", spelled(role));
        Err(Problem::new(Kind::Forbidden, detail))
    }
}

/// What a handler demands of a caller.
pub trait Demands: Send + Sync {
    /// At least this role.
    const ROLE: Role;
}

/// Any key may look.
#[derive(Clone, Copy, Debug)]
pub enum Looks {}
/// The front desk books.
#[derive(Clone, Copy, Debug)]
pub enum Books {}
/// A manager sets.
#[derive(Clone, Copy, Debug)]
pub enum Sets {}
/// An admin connects and founds.
#[derive(Clone, Copy, Debug)]
pub enum Founds {}

impl Demands for Looks {
    const ROLE: Role = Role::ReadOnly;
}
impl Demands for Books {
    const ROLE: Role = Role::FrontDesk;
}
impl Demands for Sets {
    const ROLE: Role = Role::Manager;
}
impl Demands for Founds {
    const ROLE: Role = Role::Admin;
}

/// A caller with the role, at the property of the path.
pub struct At<R> {
    /// Who.
    pub caller: Caller,
    /// Where.
    pub house: Arc<House>,
    role: PhantomData<R>,
}

/// A caller with the role, where no property stands in the path.
pub struct Anywhere<R> {
    /// Who.
    pub caller: Caller,
    role: PhantomData<R>,
}

/// An admin of the whole house: what may concern many hotels is not for a key of one of them.
pub struct WholeHouse;

impl FromRequestParts<ApiState> for WholeHouse {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Problem> {
        let founder = Anywhere::<Founds>::from_request_parts(parts, state).await?;
        match founder.caller.key.property {
            None => Ok(Self),
            Some(_) => Err(Problem::new(
                Kind::Forbidden,
                "this may concern many hotels: it takes an admin's key of no property",
            )),
        }
    }
}

/// An admin who may found the property of the path, or has it. To a key of another property it is
/// not there, whatever its role.
pub struct Founder {
    /// Who.
    pub caller: Caller,
}

impl FromRequestParts<ApiState> for Founder {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Problem> {
        let caller = identify(parts, state).await?;
        if let Some(own) = caller.key.property {
            let code = property_code(parts, state).await?;
            let house = state.directory().house(&code).await?;
            if house.is_none_or(|house| house.id != own) {
                return Err(Problem::not_found("property"));
            }
        }
        caller.must(Role::Admin)?;
        Ok(Self { caller })
    }
}

impl<R: Demands> FromRequestParts<ApiState> for At<R> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Problem> {
        let caller = identify(parts, state).await?;
        let code = property_code(parts, state).await?;
        let house = state.directory().house(&code).await?;
        let theirs = |house: &Arc<House>| caller.key.property.is_none_or(|id| id == house.id);
        let house = house
            .filter(theirs)
            .ok_or_else(|| Problem::not_found("property"))?;
        caller.must(R::ROLE)?;
        Ok(Self {
            caller,
            house,
            role: PhantomData,
        })
    }
}

impl<R: Demands> FromRequestParts<ApiState> for Anywhere<R> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Problem> {
        let caller = identify(parts, state).await?;
        caller.must(R::ROLE)?;
        Ok(Self {
            caller,
            role: PhantomData,
        })
    }
}

async fn identify(parts: &Parts, state: &ApiState) -> Result<Caller, Problem> {
    if let Some(caller) = parts.extensions.get::<Caller>() {
        return Ok(caller.clone());
    }
    let of_command = parts.extensions.get::<OfCommand>().copied();
    let key = match of_command {
        Some(_) => Arc::new(nobodys()),
        None => state.keys().admit(bearer(&parts.headers)?).await?,
    };
    let request_id = parts.extensions.get::<RequestId>();
    Ok(Caller {
        key,
        actor: actor(&parts.headers)?,
        request_id: request_id.map(|id| id.0.clone()).unwrap_or_default(),
        of_command,
    })
}

/// The key of who needs none; ids begin at 1.
fn nobodys() -> ApiKey {
    ApiKey {
        id: 0,
        role: Role::Admin,
        property: None,
        name: String::new(),
    }
}

fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let missing = || {
        Problem::new(
            Kind::Unauthenticated,
            "send Authorization: Bearer with a key",
        )
    };
    let value = headers.get(header::AUTHORIZATION).ok_or_else(missing)?;
    let (scheme, key) = value
        .to_str()
        .ok()
        .and_then(|text| text.split_once(' '))
        .ok_or_else(missing)?;
    let is_key = scheme.eq_ignore_ascii_case("bearer") && (1..=KEY_MAX).contains(&key.len());
    is_key.then_some(key.trim()).ok_or_else(missing)
}

fn actor(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("keyrack-actor") else {
        return Ok(None);
    };
    let text = std::str::from_utf8(value.as_bytes())
        .unwrap_or_default()
        .trim();
    if text.is_empty() || text.chars().count() > ACTOR_MAX || text.chars().any(leaves_its_line) {
        let detail = format!("Keyrack-Actor is a name of 1 to {ACTOR_MAX} characters in UTF-8");
        return Err(Problem::new(Kind::Malformed, detail));
    }
    Ok(Some(text.to_owned()))
}

async fn property_code(parts: &mut Parts, state: &ApiState) -> Result<String, Problem> {
    let params = RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|_| Problem::new(Kind::Malformed, "the path is not percent-encoded UTF-8"))?;
    let code = params.iter().find(|(name, _)| *name == "property");
    Ok(code.map(|(_, code)| code.to_owned()).unwrap_or_default())
}

/// The role as contract and command line spell it.
pub fn spelled(role: Role) -> &'static str {
    match role {
        Role::ReadOnly => "read_only",
        Role::FrontDesk => "front_desk",
        Role::Manager => "manager",
        Role::Admin => "admin",
    }
}

/// Characters of a force's reason at most.
pub const REASON_MAX: usize = 500;
const ACTOR_MAX: usize = 80;
const KEY_MAX: usize = 200;
