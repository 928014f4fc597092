//! Somebody with a token: what people and scripts do through the API.

use super::app::TestApp;
use super::http::{Ask, Reply, Tab};
use super::wait::{SOON, eventually};
use serde_json::{Value, json};

pub struct Operator<'a> {
    app: &'a TestApp,
}

impl<'a> Operator<'a> {
    pub fn new(app: &'a TestApp) -> Operator<'a> {
        Operator { app }
    }

    /// Asks the provider now, if the budget funds it.
    pub async fn refreshes(&self, connection: &str, target: &str) -> Reply {
        // An answer of this very millisecond is too young to be asked for again, however small `refresh_min_age` is.
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        self.app.post(&format!("/api/v1/connections/{connection}/targets/{target}/refresh")).await
    }

    /// Runs a zone of the yard for a minute; returns the number of the job.
    pub async fn runs_zone(&self, zone: u32) -> u64 {
        let reply = self.commands("yard", "run-zone", &json!({"item": zone.to_string(), "seconds": "60"}), None).await;
        job_id(&reply.expect(202).json())
    }

    pub async fn commands(&self, connection: &str, name: &str, parameters: &Value, key: Option<&str>) -> Reply {
        let path = format!("/api/v1/connections/{connection}/commands/{name}");
        let mut ask = Ask::post(&path).token(self.app.token()).json(parameters);
        if let Some(key) = key {
            ask = ask.header("idempotency-key", key);
        }
        self.app.send(ask).await
    }

    /// The kill switch of a connection (F11).
    pub async fn stops(&self, connection: &str) {
        self.switches(connection, false).await;
    }
    pub async fn resumes(&self, connection: &str) {
        self.switches(connection, true).await;
    }
    async fn switches(&self, connection: &str, enabled: bool) {
        let path = format!("/api/v1/connections/{connection}");
        let ask = Ask::new("PATCH", &path).token(self.app.token()).json(&json!({ "enabled": enabled }));
        let view = self.app.send(ask).await.expect(200).json();
        assert_eq!(view["enabled"], enabled, "{view}");
    }

    /// Waits until the job is in this state.
    pub async fn sees_job(&self, id: u64, state: &str) -> Value {
        eventually(&format!("job {id} is {state}"), SOON, || async {
            let job = self.app.job(id).await;
            (job["state"] == state).then_some(job)
        })
        .await
    }
}

pub fn job_id(job: &Value) -> u64 {
    job["id"].as_u64().unwrap_or_else(|| panic!("a job without a number: {job}"))
}

/// People who look: each has a tab that keeps its socket and reads pages and API one after the other.
pub struct Readers {
    tabs: Vec<Tab>,
}

impl TestApp {
    pub async fn readers(&self, count: usize) -> Readers {
        let mut tabs = Vec::with_capacity(count);
        for _ in 0..count {
            tabs.push(Tab::open(self.address).await);
        }
        Readers { tabs }
    }
}

impl Readers {
    /// Every tab loads every path once, all tabs at the same time; returns the answers.
    pub async fn load(&mut self, paths: &[&str]) -> Vec<Reply> {
        let rounds = self.tabs.iter_mut().map(|tab| async move {
            let mut replies = Vec::new();
            for path in paths {
                replies.push(tab.get(path).await.expect(200));
            }
            replies
        });
        futures_util::future::join_all(rounds).await.into_iter().flatten().collect()
    }
}
