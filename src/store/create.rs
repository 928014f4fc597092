//! What gets its number from the writer: jobs and tokens. Part of the writer; stages rows, writes nothing itself.

use super::core::Core;
use super::read::numbered;
use super::records;
use super::rows::Row;
use super::sentences;
use super::tables::{self, Table};
use super::work::{Created, rows_of};
use super::write::Writing;
use super::{StoreError, TokenRecord, Write};
use crate::domain::event::NewEvent;
use crate::domain::ids::JobId;
use crate::domain::job::Job;

impl Writing {
    /// A key that names a job already, also one of this batch, gets that job.
    pub(super) fn create_job(&mut self, core: &Core, mut job: Job, event: &NewEvent) -> Result<Created, StoreError> {
        let key = job.idempotency_key.as_ref().map(|key| tables::job_key(&job.connection, key));
        if let Some(key) = &key
            && let Some(id) = self.look_up(core, Table::JobKeys, key, numbered)?
        {
            let there = self.look_up(core, Table::Jobs, &tables::number(id), |bytes| records::job_of(id, bytes))?;
            return match there {
                Some(there) => Ok((there, false, Vec::new())),
                None => Err(sentences::corrupt(core.name(), &format!("job {id} is missing"))),
            };
        }
        job.id = JobId(self.next.job);
        let mut rows = rows_of(&[Write::Job(job.clone())])?;
        rows.extend(key.map(|key| Row::put(Table::JobKeys, key, tables::number(job.id.0).to_vec())));
        let (event_rows, events) = self.number_events(vec![event.clone()])?;
        rows.extend(event_rows);
        self.next.job += 1;
        self.next.event += 1;
        rows.into_iter().for_each(|row| self.staged.set(row));
        Ok((job, true, events))
    }

    pub(super) fn create_token(&mut self, mut token: TokenRecord) -> Result<TokenRecord, StoreError> {
        token.id = self.next.token;
        let rows = rows_of(&[Write::Token(token.clone())])?;
        self.next.token += 1;
        rows.into_iter().for_each(|row| self.staged.set(row));
        Ok(token)
    }
}
