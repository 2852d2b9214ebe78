//! The published transport cases of AlpineBits, against the fake portal. They lie beside the
//! project; without them this says so and passes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::client::{Alpine, Read, sandbox, settings};

#[tokio::test]
async fn the_portal_answers_every_published_transport_case() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples/alpinebits");
    let Ok(text) = fs::read_to_string(root.join("http/cases.json")) else {
        println!("skipped: no published transport cases beside the project");
        return;
    };
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    for case in &cases {
        let sandbox = sandbox(settings()).await;
        let mut client = Alpine::connect(&sandbox);
        let answer = ask(&mut client, &root, case).await;
        hold(case, &answer);
        sandbox.stop().await;
    }
    assert_eq!(cases.len(), 9);
}

async fn ask(client: &mut Alpine, root: &Path, case: &Value) -> Read {
    if case["auth"] != "valid" {
        client.password = "wrong";
    }
    if let Some(body) = case["raw_body"].as_str() {
        let request = client.request().header("content-type", "application/xml");
        return finish(request.body(body.to_owned())).await;
    }
    if case["method"] == "GET" {
        let request = client
            .http
            .get(&client.url)
            .basic_auth("keyrack", Some(client.password));
        return finish(request).await;
    }
    let form = &case["form"];
    let request = match form["request_file"].as_str() {
        Some(file) => fs::read_to_string(root.join(file)).unwrap(),
        None => form["request"].as_str().unwrap().to_owned(),
    };
    client.gzip = case["gzip_whole_body"] == true;
    match form["action"].as_str() {
        None => {
            let form = reqwest::multipart::Form::new().text("request", request);
            finish(client.request().multipart(form)).await
        }
        Some(action) if form["request_has_filename"] == true => {
            client.act_by_file(action, &request).await
        }
        Some(action) => client.act(action, &request).await,
    }
}

async fn finish(request: reqwest::RequestBuilder) -> Read {
    let response = request.send().await.unwrap();
    Read {
        status: response.status().as_u16(),
        retry_after: None,
        body: response.text().await.unwrap(),
    }
}

fn hold(case: &Value, answer: &Read) {
    let (id, expect) = (&case["id"], &case["expect"]);
    let status = Value::from(answer.status);
    if let Some(allowed) = expect["status_in"].as_array() {
        assert!(allowed.contains(&status), "{id}: {answer:?}");
    } else {
        assert_eq!(expect["status"], status, "{id}: {answer:?}");
    }
    if let Some(start) = expect["body_starts_with"].as_str() {
        assert!(answer.body.starts_with(start), "{id}: {answer:?}");
    }
    if let Some(root) = expect["xml_root"].as_str() {
        assert!(
            answer.body.contains(&format!("<{root} ")),
            "{id}: {answer:?}"
        );
        assert!(answer.body.contains("<Success/>"), "{id}: {answer:?}");
    }
    for part in expect["must_contain"].as_array().into_iter().flatten() {
        assert!(
            answer.body.contains(part.as_str().unwrap()),
            "{id}: {answer:?}"
        );
    }
}
