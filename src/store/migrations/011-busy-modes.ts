/**
 * Messages that arrive during a turn. `busy_mode` says how such a message was accepted, `joins` that it belongs to the turn
 * of the message before it, and `interrupted_by` which message ended a turn early.
 */
export const busyModes = `
alter table inbox add column busy_mode text;
alter table inbox add column joins integer not null default 0;
alter table turns add column interrupted_by integer;
`
