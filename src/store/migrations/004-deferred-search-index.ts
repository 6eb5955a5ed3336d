/**
 * Indexes new messages for the search after the reply was sent or queued, so that a reply does not wait for the index. The
 * index is behind by at most a turn, or by fifty messages when turns end without a reply. Messages without a turn are indexed
 * at once. Indexing several messages together costs about as much as indexing one.
 */
const indexNewMessages = `
  insert into messages_fts (rowid, content) select id, content from messages
    where id > coalesce((select max(id) from messages_fts_docsize), 0) and content <> '';
`

export const deferredSearchIndex = `
drop trigger messages_fts_insert;
create trigger messages_fts_insert after insert on messages when new.turn_id is null begin ${indexNewMessages} end;
create trigger messages_fts_waiting after insert on outbox when new.state <> 'sending' begin ${indexNewMessages} end;
create trigger messages_fts_settled after update of state on outbox when new.state <> 'sending' begin ${indexNewMessages} end;
create trigger messages_fts_turn after update of state on turns
when new.ended_at is not null
  and (select max(id) from messages) > coalesce((select max(id) from messages_fts_docsize), 0) + 50 begin ${indexNewMessages} end;

drop trigger messages_fts_delete;
create trigger messages_fts_delete after delete on messages
when old.content <> '' and old.id <= (select max(id) from messages_fts_docsize) begin
  insert into messages_fts (messages_fts, rowid, content) values ('delete', old.id, old.content);
end;
`
