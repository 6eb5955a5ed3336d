/**
 * Compressed conversations: a line may take the place of older ones, which stay. So a place has one line for each number
 * in `superseded`, and one of them, 0, is read by the model.
 */
export const compression = `
update messages set superseded = -1 where superseded = 1;
alter table messages add column is_summary integer not null default 0;
drop index messages_in_order;
create unique index messages_in_order on messages (session_id, ord, superseded);
`
