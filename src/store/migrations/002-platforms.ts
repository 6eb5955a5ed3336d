/** For chat platforms: read cursors, outgoing files and buttons, and questions to users. */
export const platforms = `
drop table cursors;
create table marks (
  platform text not null,
  account text not null,
  place text not null,
  last_id text not null,
  updated_at integer not null,
  primary key (platform, account, place)
) without rowid;

alter table outbox add column attachment text;
alter table outbox add column buttons text;

create table questions (
  id text primary key,
  kind text not null,
  session_key text not null,
  platform text not null,
  account text not null,
  chat_id text not null,
  asked_user text not null,
  choices text not null,
  payload text not null,
  state text not null,
  answer text,
  answered_by text,
  expires_at integer not null,
  created_at integer not null,
  answered_at integer
) without rowid;
create index questions_waiting on questions (session_key, created_at) where state = 'waiting';
create index questions_by_age on questions (created_at);
create unique index grants_by_rule on grants (scope, rule);
`
