//! The web room as its visitors meet it: whole requests through the router, before a hand-made shelf.

mod abuse;
mod access;
mod api;
mod document;
mod door;
mod history;
mod live;
mod pages;
mod plan;
mod plots;
mod programs;
mod reader;
mod rights;
mod settings;
mod spend;
mod texts;

use super::pages as rendered;
use super::sample::{NOW, Sample, ago};
use super::*;
use crate::engine::view::Denied;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

/// A site before a sample, and what a visitor sends by default.
pub struct Site {
    pub sample: Arc<Sample>,
    pub state: WebState,
    router: Router,
}

impl Site {
    pub fn at(listener: Listener, sample: Sample) -> Site {
        let sample = Arc::new(sample);
        let access = Access { listener, hosts: vec!["larder.example".to_owned()], ..Access::local() };
        let zone = TimeZone::get("Europe/Zurich").unwrap();
        let state = WebState::over(Arc::clone(&sample) as Arc<dyn Shelf>, access, zone, CancellationToken::new());
        let router = router(state.clone());
        Site { sample, state, router }
    }
    /// The same behind another listener.
    pub fn behind(&self, access: Access) -> Site {
        let state = self.state.behind(access);
        Site { sample: Arc::clone(&self.sample), router: router(state.clone()), state }
    }
    pub fn loopback(sample: Sample) -> Site {
        Site::at(Listener::Loopback, sample)
    }
    pub async fn send(&self, request: Request<Body>) -> Response {
        self.router.clone().oneshot(request).await.unwrap()
    }
    pub async fn get(&self, path: &str) -> Response {
        self.send(ask(Method::GET, path, &[]).body(Body::empty()).unwrap()).await
    }
    pub async fn page(&self, path: &str) -> String {
        text(self.send(ask(Method::GET, path, &[("accept", "text/html")]).body(Body::empty()).unwrap()).await).await
    }
    /// Loads the page, and sends its form for `action` with these values.
    pub async fn fill(&self, page: &str, action: &str, values: &[(&str, &str)]) -> Response {
        let html = self.page(page).await;
        let form =
            html.split("<form ").skip(1).find(|f| f.contains(&format!("{action}\""))).expect("the page has that form");
        let hidden = |name: &str| {
            let at = form.split(&format!("name=\"{name}\" value=\"")).nth(1)?;
            Some(at.split('"').next()?.to_owned())
        };
        let mut fields: Vec<String> = ["csrf", "once"]
            .into_iter()
            .filter_map(|n| Some(format!("{n}={}", rendered::segment(&hidden(n)?))))
            .collect();
        fields.extend(values.iter().map(|(k, v)| format!("{k}={}", rendered::segment(v))));
        let request = ask(
            Method::POST,
            &format!("/{action}"),
            &[
                ("accept", "text/html"),
                ("origin", "http://127.0.0.1:8474"),
                ("content-type", "application/x-www-form-urlencoded"),
            ],
        );
        self.send(request.body(Body::from(fields.join("&"))).unwrap()).await
    }
}

pub fn ask(method: Method, path: &str, headers: &[(&str, &str)]) -> axum::http::request::Builder {
    let mut builder = Request::builder().method(method).uri(path).header(header::HOST, "127.0.0.1:8474");
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder
}

pub async fn text(response: Response) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

async fn json(response: Response) -> Value {
    serde_json::from_str(&text(response).await).unwrap()
}

async fn pretty(response: Response) -> String {
    serde_json::to_string_pretty(&json(response).await).unwrap()
}

fn head<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).map_or("", |v| v.to_str().unwrap())
}
