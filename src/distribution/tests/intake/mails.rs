//! Mails: where a person must act, once while it lasts, without a guest's name.

use keyrack_distribution::notice::{self, About, Kind};
use keyrack_distribution::settings::{MailSettings, Settings};
use keyrack_model::channel::AccountSettings;

use crate::desk::{Desk, booking, but, message, settings};

/// A folder of its own, gone with the test.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("keyrack-mails-{}-{name}", std::process::id()));
        Self(path)
    }

    fn mails(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(&self.0) else {
            return Vec::new();
        };
        entries
            .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
            .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn mailing(folder: &Folder) -> Settings {
    Settings {
        mail: MailSettings {
            folder: folder.0.display().to_string(),
            to: vec!["desk@seehof.example".into()],
            ..MailSettings::default()
        },
        ..settings()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unmapped_room_is_mailed_once_without_the_guests_name() {
    let folder = Folder::new("unmapped");
    let desk = Desk::with(mailing(&folder), AccountSettings::default()).await;
    for reference in ["R1", "R2"] {
        desk.take(&message(&[but(booking(reference), "room", "DLX")]))
            .await;
    }
    assert_eq!(notice::mail_due(&desk.distribution).await.unwrap(), 1);
    assert_eq!(notice::mail_due(&desk.distribution).await.unwrap(), 0);
    let mails = folder.mails();
    assert_eq!(mails.len(), 1);
    assert!(mails[0].contains("desk@seehof.example") && mails[0].contains("DLX"));
    assert!(mails[0].contains("seehof") && !mails[0].contains("Ada"));
    desk.take(&message(&[but(booking("R3"), "room", "DLX")]))
        .await;
    assert_eq!(notice::mail_due(&desk.distribution).await.unwrap(), 0);
    desk.pass("25 hours").await;
    desk.take(&message(&[but(booking("R4"), "room", "DLX")]))
        .await;
    assert_eq!(notice::mail_due(&desk.distribution).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn trouble_that_was_over_is_mailed_again_when_it_returns() {
    let folder = Folder::new("returns");
    let desk = Desk::with(mailing(&folder), AccountSettings::default()).await;
    let raise = || {
        notice::raise(
            &desk.distribution,
            Kind::House,
            "k",
            About::default(),
            "text",
        )
    };
    raise().await.unwrap();
    assert_eq!(notice::mail_due(&desk.distribution).await.unwrap(), 1);
    assert!(
        notice::clear(&desk.distribution, Kind::House, "k")
            .await
            .unwrap()
    );
    raise().await.unwrap();
    assert_eq!(notice::mail_due(&desk.distribution).await.unwrap(), 1);
    assert_eq!(folder.mails().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_that_does_not_leave_is_tried_again_later() {
    let folder = Folder::new("blocked");
    // A file where the folder should be.
    std::fs::write(&folder.0, "").unwrap();
    let desk = Desk::with(mailing(&folder), AccountSettings::default()).await;
    notice::raise(
        &desk.distribution,
        Kind::House,
        "k",
        About::default(),
        "text",
    )
    .await
    .unwrap();
    assert_eq!(notice::mail_due(&desk.distribution).await.unwrap(), 0);
    std::fs::remove_file(&folder.0).unwrap();
    desk.pass("1 minute").await;
    assert_eq!(notice::mail_due(&desk.distribution).await.unwrap(), 1);
    assert_eq!(folder.mails().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_way_notices_stand_and_no_mail_leaves() {
    let desk = Desk::open().await;
    notice::raise(
        &desk.distribution,
        Kind::House,
        "k",
        About::default(),
        "text",
    )
    .await
    .unwrap();
    assert_eq!(notice::mail_due(&desk.distribution).await.unwrap(), 0);
    assert_eq!(desk.notices().await.len(), 1);
}
