/** The tables of the route: inbox, turns, transcript, outbox. */
export const initial = `
create table lanes (
  session_key text primary key,
  session_id text not null,
  epoch integer not null,
  fresh integer not null,
  source text not null,
  updated_at integer not null
) without rowid;

create table sessions (
  id text primary key,
  session_key text not null,
  platform text not null,
  user_id text not null,
  title text not null,
  parent_id text,
  created_at integer not null,
  updated_at integer not null,
  ended_at integer,
  end_reason text,
  input_tokens integer not null default 0,
  output_tokens integer not null default 0
) without rowid;
create index sessions_by_update on sessions (updated_at);

create table inbox (
  seq integer primary key autoincrement,
  session_key text not null,
  lane text not null,
  kind text not null,
  platform text not null,
  account text not null,
  chat_id text not null,
  payload text not null,
  state text not null,
  turn_id text,
  tries integer not null default 0,
  available_at integer not null,
  accepted_at integer not null,
  reason text,
  outcome text
);
create index inbox_open on inbox (session_key, lane, seq) where state in ('queued', 'claimed');
create index inbox_parked on inbox (seq) where state = 'parked';
create index inbox_by_chat on inbox (platform, account, chat_id, seq);
create index inbox_by_age on inbox (accepted_at);

create table inbox_keys (
  key text primary key,
  seq integer not null
) without rowid;
create index inbox_keys_by_seq on inbox_keys (seq);

create table turns (
  id text primary key,
  session_key text not null,
  session_id text not null,
  epoch integer not null,
  state text not null,
  stop_requested integer not null default 0,
  origin text not null,
  authority text not null,
  route text not null,
  reason text,
  model text not null default '',
  provider text not null default '',
  started_at integer not null,
  ended_at integer
) without rowid;
create index turns_open on turns (session_key) where state in ('running', 'waiting');
create index turns_by_age on turns (started_at);

create table turn_inputs (
  turn_id text not null,
  seq integer not null,
  how text not null,
  primary key (turn_id, seq)
) without rowid;

create table messages (
  id integer primary key autoincrement,
  session_id text not null,
  turn_id text,
  ord integer not null,
  role text not null,
  content text not null,
  text_id integer,
  tool_calls text,
  tool_call_id text,
  tool_name text,
  provider_data text,
  usage text,
  superseded integer not null default 0,
  created_at integer not null
);
create unique index messages_in_order on messages (session_id, ord);

create table texts (
  id integer primary key autoincrement,
  body text not null
);

create table prompts (
  session_id text primary key,
  text text not null
) without rowid;

create table tool_calls (
  turn_id text not null,
  call_id text not null,
  name text not null,
  args_hash text not null,
  mode text not null,
  state text not null,
  result text,
  late_result text,
  started_at integer not null,
  ended_at integer,
  primary key (turn_id, call_id)
) without rowid;

create table approvals (
  id text primary key,
  turn_id text not null,
  call_id text not null,
  action_hash text not null,
  state text not null,
  description text not null,
  remaining_ms integer not null,
  decided_by text,
  created_at integer not null,
  decided_at integer,
  unique (turn_id, call_id, action_hash)
) without rowid;

create table grants (
  id integer primary key autoincrement,
  scope text not null,
  rule text not null,
  granted_by text not null,
  created_at integer not null
);

create table outbox (
  id integer primary key autoincrement,
  key text not null unique,
  platform text not null,
  account text not null,
  chat_id text not null,
  thread_id text not null,
  session_key text,
  turn_id text,
  kind text not null,
  op text not null,
  target text,
  text text not null,
  reply_to text,
  state text not null,
  doubt integer not null default 0,
  tries integer not null default 0,
  due_at integer not null,
  platform_id text,
  error text,
  created_at integer not null,
  updated_at integer not null
);
create index outbox_dead on outbox (id) where state = 'dead';
create index outbox_by_chat on outbox (platform, account, chat_id, id);
-- Last, because of two indexes that suit equally well the newer one is used.
create index outbox_open on outbox (platform, account, chat_id, id) where state in ('queued', 'sending', 'unknown');
create index outbox_by_age on outbox (created_at);

create table drafts (
  turn_id text not null,
  part integer not null,
  platform text not null,
  account text not null,
  chat_id text not null,
  platform_id text not null,
  created_at integer not null,
  primary key (turn_id, part)
) without rowid;

create table cursors (
  account text not null,
  chat_id text not null,
  last_id text not null,
  primary key (account, chat_id)
) without rowid;

create table trace (
  id integer primary key autoincrement,
  session_key text not null,
  turn_id text,
  event text not null,
  detail text not null,
  at integer not null
);
create index trace_by_session on trace (session_key, id);
create index trace_by_turn on trace (turn_id);

create virtual table messages_fts using fts5 (
  content, content = 'messages', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
create trigger messages_fts_insert after insert on messages when new.content <> '' begin
  insert into messages_fts (rowid, content) values (new.id, new.content);
end;
create trigger messages_fts_delete after delete on messages when old.content <> '' begin
  insert into messages_fts (messages_fts, rowid, content) values ('delete', old.id, old.content);
end;
`
