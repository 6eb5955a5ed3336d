/**
 * Compressed conversations: a summary replaces older messages, which are kept. An ordinal may therefore have several
 * messages with different values of `superseded`; the model reads the one with 0.
 */
export const compression = `
update messages set superseded = -1 where superseded = 1;
alter table messages add column is_summary integer not null default 0;
drop index messages_in_order;
create unique index messages_in_order on messages (session_id, ord, superseded);
`
