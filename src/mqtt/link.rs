//! One link to a broker, from its first word to its end. What the broker still has of us is heard before anything is told, so that devices that are not
//! there any more are taken away; then it is told whenever something happens, and from time to time. Must not know what a device looks like.

use super::discovery::{OFFLINE, ONLINE, Topics, is_own, of_state_topic};
use super::told::{EVERY, Retained, Round, Told};
use super::{Broker, GOODBYE, LONGEST_PAUSE, wire};
use crate::domain::event::Event as Happened;
use crate::engine::appliance::Appliance;
use crate::engine::view::{BrokerView, When};
use bytes::Bytes;
use rumqttc::{AsyncClient, ClientError, Event, EventLoop, Packet, PublishOptions, QoS, SubscribeFilter};
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What happens together is told together.
const BREATH: Duration = Duration::from_secs(1);
/// Values that are read for one breath.
const TOGETHER: usize = 1_000;
/// For how long it is listened to what the broker still has of us.
const PATIENCE: Duration = Duration::from_secs(10);
/// Messages that wait to be heard; what a broker says beyond that is dropped.
const HEARD: usize = 4_096;

/// How a link ended.
pub enum End {
    /// Somebody wanted it to.
    Bidden,
    Lost {
        /// For long enough to be taken for a good one.
        stood: bool,
        why: String,
    },
}

/// What comes from the broker.
enum Heard {
    Up,
    /// It sends what we asked to hear, from now on and what it has kept.
    Subscribed,
    Said {
        topic: String,
        payload: Bytes,
    },
}

/// Until it is lost, or `end` is cancelled.
pub async fn run(appliance: &Appliance, broker: &Broker, told: &mut Told, end: &CancellationToken) -> End {
    // What is known of its values stays known, and is told anew.
    told.forget();
    let id = appliance.public_id();
    let topics = Topics { spec: &broker.spec, id: &id };
    let will = wire::will(topics.status(), Bytes::from_static(OFFLINE.as_bytes()));
    let (client, line) = wire::open(broker, format!("larder-{id}"), will);
    let (tell, heard) = mpsc::channel(HEARD);
    let mut speaker = Speaker { appliance, broker, topics, client, heard, told, is_up: false };
    tokio::select! {
        lost = listen(line, tell, (appliance, broker)) => if end.is_cancelled() { End::Bidden } else { lost },
        () = speaker.speak(end) => End::Bidden,
    }
}

/// Drives the line; ends with it.
async fn listen(mut line: EventLoop, tell: mpsc::Sender<Heard>, (appliance, broker): (&Appliance, &Broker)) -> End {
    let mut up = None;
    loop {
        let heard = match line.poll().await {
            Ok(Event::Incoming(Packet::ConnAck(_))) => {
                up = Some(appliance.now().steady);
                Heard::Up
            }
            Ok(Event::Incoming(Packet::SubAck(_))) => Heard::Subscribed,
            Ok(Event::Incoming(Packet::Publish(said))) => {
                Heard::Said { topic: String::from_utf8_lossy(&said.topic).into_owned(), payload: said.payload }
            }
            Ok(_) => continue,
            Err(e) => {
                let stood = up.is_some_and(|up| appliance.now().steady.since(up) >= LONGEST_PAUSE);
                return End::Lost { stood, why: wire::words(&e, &broker.spec.broker) };
            }
        };
        // The line never waits for who hears.
        let _ = tell.try_send(heard);
    }
}

struct Speaker<'a> {
    appliance: &'a Appliance,
    broker: &'a Broker,
    topics: Topics<'a>,
    client: AsyncClient,
    heard: mpsc::Receiver<Heard>,
    told: &'a mut Told,
    is_up: bool,
}

impl Speaker<'_> {
    /// Ends once `end` is cancelled and the broker knows; until then it goes on for as long as the line does.
    async fn speak(&mut self, end: &CancellationToken) {
        let spoken = tokio::select! {
            spoken = self.say_all() => spoken,
            () = end.cancelled() => return self.goodbye().await,
        };
        if spoken.is_err() {
            // The line is about to say why.
            std::future::pending::<()>().await;
        }
    }

    async fn say_all(&mut self) -> Result<(), ClientError> {
        while !matches!(self.heard.recv().await, Some(Heard::Up)) {}
        self.is_up = true;
        self.tell_pages();
        self.hear_what_is_kept().await?;
        self.retain(self.topics.status(), ONLINE.to_owned()).await?;
        let mut live = self.appliance.subscribe();
        let (mut all_due, mut round) = (self.appliance.now().steady + EVERY, Round::All);
        loop {
            let flats = self.appliance.flats();
            let values: usize = flats.iter().map(|flat| flat.values.len()).sum();
            for Retained { topic, payload } in self.told.news(&self.topics, &flats, round) {
                self.retain(topic, payload).await?;
            }
            tokio::time::sleep(BREATH * (1 + u32::try_from(values / TOGETHER).unwrap_or(u32::MAX))).await;
            // However much happens meanwhile: what nobody is told of for long is taken for unavailable.
            let rest = Duration::from_millis(all_due.since(self.appliance.now().steady).0);
            round = tokio::select! {
                biased;
                () = tokio::time::sleep(rest) => Round::All,
                () = self.birth() => Round::All,
                () = something(&mut live) => Round::News,
            };
            if round == Round::All {
                all_due = self.appliance.now().steady + EVERY;
            }
        }
    }

    fn tell_pages(&self) {
        let to = self.broker.spec.broker.to_string();
        tracing::info!("the broker at {to} is told how everything stands");
        let trouble = self.appliance.broker().filter(|view| view.to == to).and_then(|view| view.trouble);
        let connected_since = Some(When(self.appliance.now().wall()));
        self.appliance.broker_stands(Some(BrokerView { to, connected_since, trouble }));
    }

    /// What it has kept of us comes before the echo of a word of ours that is said once it has taken the subscription: the library may send
    /// what is queued later before that.
    async fn hear_what_is_kept(&mut self) -> Result<(), ClientError> {
        let (states, echo) = (self.topics.states(), self.topics.echo());
        let wanted = [states.clone(), echo.clone(), self.topics.birth()];
        let wanted = wanted.map(|topic| SubscribeFilter::new(topic, QoS::AtLeastOnce));
        self.client.subscribe_many(wanted).await?;
        let until_echo = async {
            while let Some(heard) = self.heard.recv().await {
                match heard {
                    Heard::Subscribed => {
                        let once = PublishOptions::new(QoS::AtLeastOnce);
                        self.client.publish(echo.as_str(), Bytes::new(), once).await?;
                    }
                    Heard::Said { topic, .. } if topic == echo => return Ok(()),
                    Heard::Said { topic, payload } => {
                        let state = serde_json::from_slice::<Map<String, Value>>(&payload).unwrap_or_default();
                        let names = of_state_topic(&topic, &self.topics.spec.base_topic);
                        if let Some((organization, connection)) = names.filter(|_| is_own(&state, self.topics.id)) {
                            self.told.knew(organization, connection, &state);
                        }
                    }
                    Heard::Up => {}
                }
            }
            Ok(())
        };
        // One that may not hear its own word is told all the same.
        tokio::time::timeout(PATIENCE, until_echo).await.unwrap_or(Ok(()))?;
        self.client.unsubscribe(states.as_str()).await
    }

    /// Home Assistant has begun, and says so: it is told everything.
    async fn birth(&mut self) {
        let birth = self.topics.birth();
        loop {
            match self.heard.recv().await {
                Some(Heard::Said { topic, payload }) if topic == birth && payload == ONLINE.as_bytes() => {
                    self.told.forget();
                    return;
                }
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    async fn retain(&self, topic: String, payload: String) -> Result<(), ClientError> {
        self.client.publish(topic, payload, PublishOptions::new(QoS::AtLeastOnce).retained()).await
    }

    /// The line ends once it is said.
    async fn goodbye(&self) {
        if !self.is_up {
            return;
        }
        let said = async {
            if self.retain(self.topics.status(), OFFLINE.to_owned()).await.is_ok() {
                let _ = self.client.disconnect_with_timeout(GOODBYE).await;
            }
            std::future::pending::<()>().await;
        };
        let _ = tokio::time::timeout(GOODBYE, said).await;
    }
}

/// Until something happens of which a value may tell.
async fn something(live: &mut broadcast::Receiver<Happened>) {
    match live.recv().await {
        Ok(_) | Err(RecvError::Lagged(_)) => while live.try_recv().is_ok() {},
        Err(RecvError::Closed) => std::future::pending().await,
    }
}
