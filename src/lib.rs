//! Larder owns the credential of a rate-limited API and is its only caller. It polls what the quota can afford, keeps the last good
//! answer and the history of every item in one file, and serves every local reader from that shelf, with an honest age.
//!
//! This page is the architecture: a map, the laws, and three walks through the house.
//!
//! # The map
//!
//! ```text
//! main.rs      parse, and hand over
//! app.rs       boot and stop on one screen: settings, store, clock, door, engine, web
//! clock.rs     the only file that reads a clock: a steady timeline that survives restarts, and the wall
//! cli/         the commands; talk to a running appliance through its socket, else open the file; an agent's hand, which is lent its way
//! mqtt/        tells a broker how everything stands, for Home Assistant; the only room that knows rumqttc
//! web/         pages, JSON API and its document, events, metrics; the only room that knows axum, askama and Fluent
//! engine/      the shell: the one fetch path, poller, jobs, events, webhooks; the read models that every surface renders
//! store/       one redb file, one writer, snapshot readers; the only room that knows redb
//! upstream/    the door: send(Permit, Request) -> Reply, open(Permit, Request) -> events, renew(Permit) -> Renewal; the keyring; webhooks; an agent's way to its appliance; the only room that knows reqwest and the secrets
//! config/      larder.toml, recipes and environment become validated settings
//! recipes/     what is known about providers, as data: TOML, embedded; a user's own lie beside larder.toml
//! rules/       pure decisions: attempts, budget, line, schedule, breaker, throttle, classify, ending, extract, intake, spool, paging, feed, reconcile, complete, lifecycle,
//!              freshness, plan, delivery, trial, gateway, stream, succession, backup
//! domain/      the nouns: ids, time, limits, charges, targets, items, jobs, events
//! demo/        simulated providers on loopback, for `larder demo` and the tests
//! ```
//!
//! Rooms know only what stands below them: main > app > cli, web, mqtt > engine > store, upstream > rules > domain. `config` stands on `rules`,
//! `clock` and `demo` on `domain`. `tests/architecture.rs` reads the sources and holds this, and the rest of the house rules with it.
//!
//! # The words
//!
//! What people read stands in two places. The texts of the pages stand by key in `templates/texts/en.ftl`, and [`web`]'s room `texts` gives them to
//! templates and pages; a file beside it is another language. What is kept, or said by log, API, page and broker in the same words, is made where it
//! is known and never translated: what happened, what still works and when that changes in [`engine::words`] and `engine::view::words`, what was
//! noticed in [`engine::findings`], and why something was refused beside the rule or the door that refuses it.
//!
//! # The laws
//!
//! 1. **Never over.** In no window of any declared limit does the provider count more requests than the limit: under concurrency, kill -9,
//!    restarts, clock steps, slow networks. A request is charged durably before it is sent; a lost answer stays charged; a unit comes
//!    free `window` after its answer *arrived*. Lives in [`rules::budget`] and in the order of the writes in [`store`].
//! 2. **One door.** Nothing reaches a provider without a [`rules::budget::Permit`]. Only the budget mints one, only the store lets it out,
//!    only [`upstream::Door`] consumes it, and it cannot be copied. Webhooks are no providers, and [`upstream::messenger`] refuses to be
//!    sent to one.
//! 3. **Readers never wait for the provider and never spend** unless they ask for a refresh that the budget funds. All of
//!    [`engine::appliance::Appliance`] but `refresh` and `command` answers from the shelf. Clients of the gateway ask for what is not there:
//!    [`engine::gateway`] lets them wait for one request together, and spend what the budget leaves the caller `gateway`.
//! 4. **Only a classified, complete, good answer replaces the last good answer.** [`domain::outcome::Outcome::is_good`] is the gate.
//! 5. **Age is never hidden.** Every surface renders from [`engine::view`], where the age is; [`rules::freshness`] gives the one word.
//!    Where the provider dates its reading, its age counts, and not that of the answer.
//! 6. **A restart costs no request and forgets nothing.** Holds, ledgers, schedules, fingerprints and generations are in the file.
//! 7. **History is a system of record.** [`domain::item::HistoryEntry`] rows are only ever appended.
//! 8. **Backoff only slows.** [`rules::schedule`] waits for the greater of interval and backoff, counted from the last attempt.
//!
//! # A poll
//!
//! 1. The poller sleeps on the clock until a connection's `next_poll_at`. Is it enabled, does [`rules::breaker`] allow it? Then each active
//!    target is handed to the fetch path.
//! 2. **Admit, write 1.** [`store::Store::admit`] takes an [`store::Admission`]: who asks, for which endpoint, at what cost. The writer
//!    (its thread or, where nobody else waits, who asks in its place) asks the [`rules::budget::Ledger`] of the credential, which decides
//!    all limits and the hold together; where several organizations hold the credential, what is another's share ([`rules::budget::parts`]) is
//!    not lent while it is used. A refusal says until when ([`rules::budget::Refusal::NotUntil`]), and the poller sleeps until then.
//!    A reservation becomes a row, in one transaction with the connection's new schedule (the attempt is stamped *before* the call); after
//!    the fsync, and not before, it comes back as a `Permit`. Callers that wait together share one commit.
//! 3. **Send.** The door consumes the permit and always returns a [`domain::reply::Reply`]: an answer with its moment of arrival, or why there is
//!    none. Whatever cannot be written to the socket before `send_by` is not sent.
//! 4. **Decide.** [`rules::classify`] names the outcome, in one closed word, with the provider's own words and the longest credible wait.
//!    If it is data, [`rules::extract`] reads the items and anchors every offset to the arrival, and [`rules::reconcile`] compares them
//!    with the shelf: what appeared, changed, was removed; whether the generation grows.
//! 5. **Commit, write 2.** One [`store::Commit`] resolves the charge together with all that was learned: target, items, history, hold, schedule,
//!    events. If something changed it waits for the disk. If nothing did it goes through [`store::Lane::Lazy`] and rides on the next charge:
//!    an unchanged poll costs one fsync, not two.
//! 6. **Publish, serve.** Subscribers get the events that `commit` returned, and no others. Readers see the new answer because they read the store.
//!
//! A list that comes page by page is such a poll for each page: [`rules::paging`] says what follows from one, and steps 2 to 4 are walked
//! again for the next, from the end of the line. What the pages said waits in memory. With proof of the end it is committed at once and
//! whole, as old as its first page; without, as what was seen, and nothing is removed.
//!
//! # A scan
//!
//! One reading can feed many targets ([`engine::scans`]). Its pages are polled as those of a target, by the same door. What a page says is
//! written down with its charge, row by row where it is not what the shelf says already; so a restart goes on with the next page. Nobody
//! sees it yet.
//!
//! 1. The last page has come. For each target that the reading was for from its beginning [`rules::feed`] says what it makes of it:
//!    a fresher answer of its own stands, sudden emptiness is doubted, all else is reconciled as any answer is.
//! 2. What is to be written waits beside the shelf, in transactions of bounded size, and then one small one *switches* it into force:
//!    from that commit on every reader sees it, of all targets ([`store::Store::settle_generation`] has the rest of the story).
//! 3. Afterwards it is moved to its place, again in bounded transactions. What somebody writes there meanwhile is newer and stays.
//!
//! A crash before the switch leaves the shelf as it was, one after it the work of moving. A reading without proof of its end is given up whole,
//! and what it read is swept away a little at a time (T7).
//!
//! # A refresh
//!
//! Somebody presses the button, or a command was accepted and asks for a look afterwards.
//! [`engine::appliance::Appliance::refresh`] first asks whether it is worth a request: while the answer is younger than `refresh_min_age` the
//! refresh is refused, with the moment at which it would not be; and who waited behind a fetch of the same target takes its answer from the
//! shelf. Then it walks the poll's path from step 2 as [`domain::ids::Caller::Refresh`], which may take the units that the limits `keep` for
//! it: with five requests in five minutes and one kept, the poller can never take the fifth. If the budget says no, the reader has
//! that at once as [`engine::view::Denied::NotYet`]; a refresh waits in line for no more than a moment, for a pace or for others under way. The poll clock is not touched: a refresh makes no loop
//! faster.
//!
//! # An answer that is pushed
//!
//! An agent stands where the provider can be reached, and hands in what that gave it ([`engine::intake`]).
//!
//! 1. [`rules::intake`] says how old it is, by both clocks, and never younger than either; what is ahead of both is refused.
//! 2. Behind a request for its target that is under way, [`engine::fetch::push`] looks whether its id is known, and whether it is newer than what is on
//!    the shelf. If not, it is remembered, and nothing else.
//! 3. If so it walks a poll's path from step 4, with its as-of for the arrival: no charge is resolved, no hold follows. It is told to be taken in after
//!    the disk has it, id and all; so whoever was not told sends the same again, and nothing happens twice.
//!
//! # Another credential
//!
//! Somebody puts a new key into its file and sends SIGHUP, or sets one on the connection's page ([`engine::rotation`]).
//!
//! 1. [`upstream::keyring`] looks whether it can travel, hides it from every text, and says its fingerprint. [`rules::succession`] says whose
//!    budget that is: its own, or that of the account whose other key it is. The budget is installed from its charges.
//! 2. One commit remembers that, and tells who did it. Then another [`engine::core::Conn`] stands in the connection's place; targets, state and
//!    schedule are the same in both.
//! 3. What was admitted before goes out with the old secret, which the door finds by the credential of its permit, and is resolved in the old
//!    book. Who waited for the old budget begins anew with the new one.
//!
//! # Another configuration
//!
//! Somebody writes `larder.toml` otherwise and sends SIGHUP. A file that is wrong anywhere changes nothing.
//!
//! 1. [`engine::roster`] takes one connection after the other. The door looks at what is new of it ([`upstream::arrivals`]), its targets are compiled
//!    beside those that run, and the budget of everybody who shares its credential is installed anew from the charges.
//! 2. One commit tells who did it. Then the door knows the new way, and another [`engine::core::Conn`] of a later `edition` stands in the place of the
//!    one before: whoever was not admitted yet begins anew with that. What asks the same goes on as it is; what was under way is heard out.
//! 3. One that went has `left`: nothing of it is admitted any more and its loops end. Its charges, items and history stay in the file.
//!
//! # A connection from the browser
//!
//! Somebody picks a recipe on `/setup` and pastes a credential ([`engine::setup`]). Its [`engine::setup::Scribe`], which `app` lends the engine, makes
//! the text of one `[[connection]]` of that, and reads it as the file is read.
//!
//! 1. [`engine::roster`] takes it in on trial. One commit has the text, and the credential sealed; nothing is sent.
//! 2. A test is a probe: it is paid as every request is, and its answer is kept as a sample, on which other words cost nothing ([`rules::trial`]).
//! 3. Saved, it is another edition of the same connection, and the poller wakes. A start reads it beside the file, which counts where both have one.
//!
//! # A client of the gateway
//!
//! A program that knows nothing of Larder asks `/gateway/{connection}/{path...}`.
//!
//! 1. [`web::gateway`] takes the path as it stood in the request line, reads a token where the client has the provider's key, and drops it.
//! 2. [`rules::gateway`] says whether it may pass, and whether what is on the shelf would do. If so it is answered from memory.
//!    While that hit stands, the same octets over the same socket are answered before the server reads them ([`web::again`]).
//! 3. If not, all who ask the same board one flight ([`engine::gateway::flight`]). It asks as the target whose question it is, and walks a
//!    poll's path; else [`engine::fetch::pass`] waits its turn, is admitted, and [`upstream::Door::pass`] writes the client's request octet by
//!    octet. The answer is classified, and teaches of holds and limits, as every other.
//! 4. A good answer is put onto the shelf; a refusal or a failure leaves the last good one, which is served with its age and why. One that is
//!    too long for it goes on as it comes; where a limit counts what is in flight, its charge is settled when its last byte is there.
//!
//! Who asks for a stream of events joins it ([`engine::streams`]). [`rules::stream`] says when it is opened, once for all who read it and by
//! [`upstream::Door::open`] with a permit; when again, after an end or a hold; and what a reader missed that was slow or away.
//!
//! # A crash between the two writes
//!
//! The process is killed after the charge was durable and before the answer was. The file then holds a charge without a resolution, and the
//! schedule that was written with it.
//!
//! 1. [`store::Store::open_at_once`] repairs and checks the file, and says so in its [`store::Opening`]. (A file that was closed is checked behind
//!    its first readers; until its [`store::Verdict`] nothing is written and nobody sends.) The clock goes on from its stored mark: the steady
//!    timeline does not go back, and the length of the darkness is measured where it can be.
//! 2. The ledger is rebuilt from the charges that a limit may still count ([`rules::budget::Ledger::horizon`]). The pending one is taken as sent: it is
//!    in flight until its deadline, and posted from there, so that its unit is free `window` after the latest moment at which the provider
//!    could have answered. Found so, it is resolved as [`domain::outcome::Outcome::Lost`].
//! 3. The schedule knows the attempt, so the poll is not repeated: the next one is due when it would have been.
//! 4. A job that was being sent is [`domain::job::JobState::Unknown`], and is not sent again where its command says `retry = "never"`.
//! 5. Readers have the last good answer throughout, with its true age. A lazy write that the crash took was only ever something whose absence
//!    is safe: a missing resolution makes the ledger stricter, a missing sighting makes an answer look older.
#![forbid(unsafe_code)]

pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod demo;
pub mod domain;
pub mod engine;
pub mod mqtt;
pub mod rules;
pub mod store;
pub mod upstream;
pub mod web;
