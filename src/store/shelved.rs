//! Answers of the gateways in the file: two rows each, a head and a body. Written as any other change, most of them by the lazy lane; read at
//! start, heads first; swept in bounded batches. Knows rows and bytes; whether an answer still means anything is for `rules::gateway`.

use super::read::{ALL, Order, Snapshot, below};
use super::rows::Row;
use super::tables::{self, BODY, HEAD, Table};
use super::work::{Prepared, Work, written};
use super::{Commit, Lane, Store, StoreError, records};
use crate::domain::gateway::{Head, Kept, ShelfKey, Shelved, Variant};
use crate::domain::ids::{ConnectionKey, CredentialId};
use crate::domain::time::Now;
use crate::rules::gateway::{EntryId, Worth, digest, surplus};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Where the reading of heads goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShelfPlace(Vec<u8>);

pub(super) fn place(head: &Head, tag: u8) -> Vec<u8> {
    tables::shelf_row(&head.key.connection, tag, &head.key.credential, EntryId::of(head))
}

pub(super) fn push(answer: &Shelved, rows: &mut Vec<Row>) -> Result<(), StoreError> {
    let mut row = |tag, record| {
        let record = written(Table::Shelf, record)?;
        rows.push(Row::put(Table::Shelf, place(&answer.head, tag), record));
        Ok(())
    };
    row(HEAD, records::shelf_head(&answer.head))?;
    row(BODY, records::shelf_body(&answer.body))
}

impl Snapshot<'_> {
    /// The body that belongs to this head, and no other.
    fn shelf_body(&self, head: &Head) -> Result<Option<Arc<[u8]>>, StoreError> {
        let body =
            self.get(Table::Shelf, &place(head, BODY), |bytes| records::shelf_body_of(bytes).map(Arc::<[u8]>::from))?;
        Ok(body.filter(|body| body.len() as u64 == head.body_bytes && digest(body) == head.digest))
    }

    /// Every head, with what it takes and is worth at this moment; when somebody last used it is not in the file.
    fn shelf_worth(&self, now: &Now) -> Result<Vec<(Head, Worth)>, StoreError> {
        let mut all = Vec::new();
        self.visit(Table::Shelf, ALL, Order::Forth, |key, value| {
            if tables::shelf_tag(key) == Some(HEAD) {
                let head = records::shelf_head_of(value)?;
                let worth = Worth { cost: head.cost, bytes: head.bytes(), idle: now.age_of(head.as_of) };
                all.push((head, worth));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(all)
    }
}

impl Store {
    /// Heads of a connection's answers, of whichever credential, at most `limit`; and where to go on.
    pub fn shelf_heads(
        &self,
        connection: &ConnectionKey,
        from: Option<&ShelfPlace>,
        limit: usize,
    ) -> Result<(Vec<Head>, Option<ShelfPlace>), StoreError> {
        let prefix = tables::shelf_part(connection, HEAD);
        let end = tables::after_prefix(&prefix);
        self.core().read(|snapshot| {
            let (mut heads, mut on) = (Vec::new(), None);
            let first = from.map_or(Bound::Included(prefix.as_slice()), |place| Bound::Included(place.0.as_slice()));
            snapshot.visit(Table::Shelf, (first, below(&prefix, end.as_deref()).1), Order::Forth, |key, value| {
                if heads.len() >= limit {
                    on = Some(ShelfPlace(key.to_vec()));
                    return Ok(ControlFlow::Break(()));
                }
                heads.push(records::shelf_head_of(value)?);
                Ok(ControlFlow::Continue(()))
            })?;
            Ok((heads, on))
        })
    }

    /// The head of what is kept under exactly this.
    pub fn shelf_head(&self, key: &ShelfKey, variant: &Variant, kept: Kept) -> Result<Option<Head>, StoreError> {
        let row = tables::shelf_row(&key.connection, HEAD, &key.credential, EntryId::from_parts(key, variant, kept));
        self.core().read(|s| s.get(Table::Shelf, &row, records::shelf_head_of))
    }

    /// The answer that is kept under exactly this.
    pub fn shelved(&self, key: &ShelfKey, variant: &Variant, kept: Kept) -> Result<Option<Shelved>, StoreError> {
        let id = EntryId::from_parts(key, variant, kept);
        let row = tables::shelf_row(&key.connection, HEAD, &key.credential, id);
        self.core().read(|snapshot| {
            let head = snapshot.get(Table::Shelf, &row, records::shelf_head_of)?;
            let Some(head) = head.filter(|head| head.key == *key) else { return Ok(None) };
            Ok(snapshot.shelf_body(&head)?.map(|body| Shelved { head, body }))
        })
    }

    /// `None`: it is not there, or is not the one that the head speaks of.
    pub fn shelf_body(&self, head: &Head) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.core().read(|s| s.shelf_body(head))
    }

    /// Takes away at most `rows` answers that nobody can mean any more: `alive` are the connections, and of each the credentials whose answers
    /// it serves. False: there were none.
    pub async fn sweep_shelf(
        &self,
        alive: &[(ConnectionKey, Vec<CredentialId>)],
        rows: usize,
    ) -> Result<bool, StoreError> {
        let is_alive = |head: &Head| {
            let of = alive.iter().find(|(connection, _)| *connection == head.key.connection);
            of.is_some_and(|(_, credentials)| credentials.contains(&head.key.credential))
        };
        let dead = self.core().read(|snapshot| {
            let mut dead = Vec::new();
            snapshot.visit(Table::Shelf, ALL, Order::Forth, |key, value| {
                if dead.len() >= rows {
                    return Ok(ControlFlow::Break(()));
                }
                if tables::shelf_tag(key) == Some(HEAD) {
                    dead.extend(Some(records::shelf_head_of(value)?).filter(|head| !is_alive(head)));
                }
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(dead)
        })?;
        self.unshelve(dead).await
    }

    /// Takes away at most `rows` of the least valuable answers while all of them together take more than `most` bytes. False: they do not.
    pub async fn trim_shelf(&self, most: u64, now: &Now, rows: usize) -> Result<bool, StoreError> {
        let all = self.core().read(|s| s.shelf_worth(now))?;
        let mut gone = surplus(&all, most);
        gone.truncate(rows);
        self.unshelve(gone).await
    }

    /// By the lazy lane: whether they are there after a crash is of no matter.
    async fn unshelve(&self, heads: Vec<Head>) -> Result<bool, StoreError> {
        if heads.is_empty() {
            return Ok(false);
        }
        let writes = heads.into_iter().map(super::Write::Unshelve).collect();
        let prepared = Prepared::new(Commit { writes, lane: Lane::Lazy, ..Commit::default() })?;
        self.queue.submit(|reply| Work::Commit(prepared, reply)).await?;
        Ok(true)
    }
}
