//! A client of both channels, and a sandbox to talk to.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::civil::{Date, date};
use keyrack_sandbox::{Room, Sandbox, Settings};
use reqwest::multipart::{Form, Part};
use reqwest::{Client, Response};

/// A hotel with eight rooms of one type and two of another.
pub const HOTEL: &str = "7200";
pub const DOUBLE: &str = "4711";
pub const RATE: &str = "901";

pub const FRIDAY: Date = date(2030, 3, 1);
pub const SATURDAY: Date = date(2030, 3, 2);
pub const SUNDAY: Date = date(2030, 3, 3);
pub const MONDAY: Date = date(2030, 3, 4);

/// Settings whose business day lies before all stays of the tests.
pub fn settings() -> Settings {
    Settings {
        today: Some(date(2030, 1, 5)),
        ..Settings::default()
    }
}

/// A client; its library has no TLS of its own and asks for a provider, also where none is spoken.
fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::new()
}

/// A sandbox in which both channels have the hotel under contract.
pub async fn sandbox(settings: Settings) -> Sandbox {
    let sandbox = Sandbox::start(settings).await.unwrap();
    let rooms = [Room::new(DOUBLE, &[RATE], 8), Room::new("4712", &[RATE], 2)];
    sandbox.booking_com().add_hotel(HOTEL, &rooms);
    let rooms = [Room::new("DBL", &["BAR"], 8), Room::new("SGL", &["BAR"], 2)];
    sandbox.alpinebits().add_hotel("HTL1", &rooms);
    sandbox
}

/// An answer, read to the end.
#[derive(Debug)]
pub struct Read {
    pub status: u16,
    pub body: String,
    pub retry_after: Option<String>,
}

async fn read(response: Response) -> Read {
    let retry_after = response.headers().get("retry-after").cloned();
    Read {
        status: response.status().as_u16(),
        retry_after: retry_after.map(|value| value.to_str().unwrap().to_owned()),
        body: response.text().await.unwrap(),
    }
}

/// A client of the fake Booking.com with a token.
pub struct Booking {
    pub http: Client,
    pub url: String,
    pub token: String,
}

impl Booking {
    pub async fn connect(sandbox: &Sandbox) -> Booking {
        let mut client = Booking {
            http: client(),
            url: sandbox.url(),
            token: String::new(),
        };
        client.token = client.exchange("sandbox-secret").await.unwrap();
        client
    }

    /// A new token, or the status that refused one.
    pub async fn exchange(&self, secret: &str) -> Result<String, u16> {
        let body = serde_json::json!({"client_id": "keyrack-machine", "client_secret": secret});
        let url = format!("{}/token-based-authentication/exchange", self.url);
        let response = self.http.post(url).json(&body).send().await.unwrap();
        let status = response.status().as_u16();
        let answer: serde_json::Value = response.json().await.unwrap();
        assert!(answer["ruid"].is_string());
        answer["jwt"].as_str().map(str::to_owned).ok_or(status)
    }

    pub async fn get(&self, path: &str) -> Read {
        read(self.try_get(path).await.unwrap()).await
    }

    pub async fn try_get(&self, path: &str) -> reqwest::Result<Response> {
        self.http
            .get(format!("{}{path}", self.url))
            .bearer_auth(&self.token)
            .send()
            .await
    }

    pub async fn post(&self, path: &str, body: &str) -> Read {
        read(self.try_post(path, body).await.unwrap()).await
    }

    pub async fn try_post(&self, path: &str, body: &str) -> reqwest::Result<Response> {
        let request = self
            .http
            .post(format!("{}{path}", self.url))
            .bearer_auth(&self.token);
        request
            .header("content-type", "application/xml")
            .body(body.to_owned())
            .send()
            .await
    }

    /// Tells availability elements of the hotel.
    pub async fn avail(&self, elements: &str) -> Read {
        self.post("/hotels/ota/OTA_HotelAvailNotif", &avail(HOTEL, elements))
            .await
    }

    /// Opens Friday to Sunday night with so many rooms at 150.00.
    pub async fn open(&self, rooms: u32) {
        let period = r#"Start="2030-03-01" End="2030-03-03" InvTypeCode="4711""#;
        let elements = format!(
            r#"<AvailStatusMessage BookingLimit="{rooms}"><StatusApplicationControl {period}/>
               <RestrictionStatus Status="Open"/></AvailStatusMessage>"#
        );
        assert_eq!(self.avail(&elements).await.status, 200);
        let body = prices(period);
        let answer = self
            .post("/hotels/ota/OTA_HotelRateAmountNotif", &body)
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    pub async fn new_ones(&self) -> Read {
        self.get(NEW).await
    }

    pub async fn changed_ones(&self) -> Read {
        self.get(CHANGED).await
    }

    pub async fn ack_new(&self, references: &[&str]) -> Read {
        self.post(
            NEW,
            &ack("OTA_HotelResNotifRS", "HotelReservation", references),
        )
        .await
    }

    pub async fn ack_changed(&self, references: &[&str]) -> Read {
        self.post(
            CHANGED,
            &ack("OTA_HotelResModifyNotifRS", "HotelResModif", references),
        )
        .await
    }
}

pub fn avail(hotel: &str, elements: &str) -> String {
    format!(
        r#"<OTA_HotelAvailNotifRQ xmlns="{OTA}" Version="1.0"><AvailStatusMessages
           HotelCode="{hotel}">{elements}</AvailStatusMessages></OTA_HotelAvailNotifRQ>"#
    )
}

/// A price of 150.00 for the type of rooms and the nights of a period.
pub fn prices(period: &str) -> String {
    let amount = r#"<BaseByGuestAmt AmountAfterTax="15000" CurrencyCode="EUR" DecimalPlaces="2"/>"#;
    format!(
        r#"<OTA_HotelRateAmountNotifRQ xmlns="{OTA}"><RateAmountMessages HotelCode="{HOTEL}">
           <RateAmountMessage><StatusApplicationControl {period} RatePlanCode="901"/>
           <Rates><Rate><BaseByGuestAmts>{amount}</BaseByGuestAmts></Rate></Rates>
           </RateAmountMessage></RateAmountMessages></OTA_HotelRateAmountNotifRQ>"#
    )
}

/// A positive acknowledgement of several reservations.
pub fn ack(root: &str, item: &str, references: &[&str]) -> String {
    let ids: String = references
        .iter()
        .map(|id| format!(r#"<HotelReservationID ResID_Value="{id}" ResID_Source="PMS"/>"#))
        .collect();
    let (list, item) = match item {
        "HotelReservation" => ("HotelReservations", "HotelReservation"),
        _ => ("HotelResModifies", "HotelResModify"),
    };
    format!(
        r#"<{root} xmlns="{OTA}" Version="2.001"><Success/><{list}><{item}><ResGlobalInfo>
           <HotelReservationIDs>{ids}</HotelReservationIDs></ResGlobalInfo></{item}></{list}>
           </{root}>"#
    )
}

/// A client of the fake portal.
pub struct Alpine {
    pub http: Client,
    pub url: String,
    pub password: &'static str,
    pub version: Option<&'static str>,
    pub gzip: bool,
}

impl Alpine {
    pub fn connect(sandbox: &Sandbox) -> Alpine {
        Alpine {
            http: client(),
            url: format!("{}/alpinebits", sandbox.url()),
            password: "sandbox-secret",
            version: Some("2024-10"),
            gzip: false,
        }
    }

    pub async fn act(&self, action: &str, request: &str) -> Read {
        if self.gzip {
            return self.act_packed(action, request).await;
        }
        let form = Form::new()
            .text("action", action.to_owned())
            .text("request", request.to_owned());
        read(self.request().multipart(form).send().await.unwrap()).await
    }

    /// The request as a file, as command line clients send it.
    pub async fn act_by_file(&self, action: &str, request: &str) -> Read {
        let file = Part::text(request.to_owned()).file_name("request.xml");
        let form = Form::new()
            .text("action", action.to_owned())
            .part("request", file);
        read(self.request().multipart(form).send().await.unwrap()).await
    }

    /// The whole body in one piece, compressed.
    async fn act_packed(&self, action: &str, request: &str) -> Read {
        let part = |name: &str, value: &str| {
            format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let body = format!(
            "{}{}--b--\r\n",
            part("action", action),
            part("request", request)
        );
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(body.as_bytes()).unwrap();
        let request = self
            .request()
            .header("content-encoding", "gzip")
            .header("content-type", "multipart/form-data; boundary=b")
            .body(packed.finish().unwrap());
        read(request.send().await.unwrap()).await
    }

    pub fn request(&self) -> reqwest::RequestBuilder {
        let request = self
            .http
            .post(&self.url)
            .basic_auth("keyrack", Some(self.password));
        match self.version {
            Some(version) => request.header("X-AlpineBits-ClientProtocolVersion", version),
            None => request,
        }
    }

    pub async fn free_rooms(&self, complete: bool, inventories: &str) -> Read {
        let mark = if complete {
            r#"<UniqueID Type="16" ID="1" Instance="CompleteSet"/>"#
        } else {
            ""
        };
        let request = format!(
            r#"<OTA_HotelInvCountNotifRQ xmlns="{OTA}" Version="4">{mark}<Inventories
               HotelCode="HTL1">{inventories}</Inventories></OTA_HotelInvCountNotifRQ>"#
        );
        self.act("OTA_HotelInvCountNotif:FreeRooms", &request).await
    }

    pub async fn read(&self, criteria: &str) -> Read {
        let request = format!(
            r#"<OTA_ReadRQ xmlns="{OTA}" Version="1.001"><ReadRequests>
               <HotelReadRequest HotelCode="HTL1">{criteria}</HotelReadRequest>
               </ReadRequests></OTA_ReadRQ>"#
        );
        self.act("OTA_Read:GuestRequests", &request).await
    }

    pub async fn report(&self, taken: &[(&str, &str)], refused: &[&str]) -> Read {
        let warnings: String = refused
            .iter()
            .map(|id| format!(r#"<Warning Type="3" Code="450" RecordID="{id}">no</Warning>"#))
            .collect();
        let reservations: String = taken
            .iter()
            .map(|(kind, id)| {
                format!(
                    r#"<HotelReservation><UniqueID Type="{kind}" ID="{id}"/></HotelReservation>"#
                )
            })
            .collect();
        let request = format!(
            r#"<OTA_NotifReportRQ xmlns="{OTA}" Version="1.000"><Success/>
               <Warnings>{warnings}</Warnings><NotifDetails><HotelNotifReport>
               <HotelReservations>{reservations}</HotelReservations></HotelNotifReport>
               </NotifDetails></OTA_NotifReportRQ>"#
        );
        self.act("OTA_NotifReport:GuestRequests", &request).await
    }
}

/// One inventory of the portal: so many rooms of a category on nights, both ends included.
pub fn count(category: &str, start: &str, end: &str, rooms: u32) -> String {
    format!(
        r#"<Inventory><StatusApplicationControl Start="{start}" End="{end}"
           InvTypeCode="{category}"/><InvCounts><InvCount CountType="2" Count="{rooms}"/>
           </InvCounts></Inventory>"#
    )
}

pub const OTA: &str = "http://www.opentravel.org/OTA/2003/05";
pub const NEW: &str = "/hotels/ota/OTA_HotelResNotif";
pub const CHANGED: &str = "/hotels/ota/OTA_HotelResModifyNotif";
