/** Conversations that a person keeps at the top of the list. */
export const pinnedSessions = `
alter table sessions add column pinned integer not null default 0;
create index sessions_pinned on sessions (updated_at, id) where pinned = 1;
`
