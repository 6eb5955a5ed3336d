/**
 * Messages that arrive during a turn. `busy_mode` says how such a message was accepted, `joins` that it belongs to the turn
 * of the message before it, and `interrupted_by` which message ended a turn early. The index finds messages beyond the limit
 * of their queue whose senders have not been told yet.
 */
export const busyModes = `
alter table inbox add column busy_mode text;
alter table inbox add column joins integer not null default 0;
create index inbox_refused on inbox (session_key, seq) where busy_mode = 'refused';
alter table turns add column interrupted_by integer;
`
