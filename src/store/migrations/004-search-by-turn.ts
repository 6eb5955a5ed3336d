/**
 * Search takes in at the end of each turn what was written since the last time. Two lines together cost it half of what
 * each costs alone, and it is not on the way from a message to its turn. What belongs to no turn is taken in at once.
 */
const takeIn = `
  insert into messages_fts (rowid, content) select id, content from messages
    where id > coalesce((select max(id) from messages_fts_docsize), 0) and content <> '';
`

export const searchByTurn = `
drop trigger messages_fts_insert;
create trigger messages_fts_insert after insert on messages when new.turn_id is null begin ${takeIn} end;
create trigger messages_fts_turn after update of state on turns when new.ended_at is not null begin ${takeIn} end;

drop trigger messages_fts_delete;
create trigger messages_fts_delete after delete on messages
when old.content <> '' and old.id <= (select max(id) from messages_fts_docsize) begin
  insert into messages_fts (messages_fts, rowid, content) values ('delete', old.id, old.content);
end;
`
