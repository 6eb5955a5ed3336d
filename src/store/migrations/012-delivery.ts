/**
 * Where messages go that belong to no conversation. `home_channels` are those that a person has chosen with a command; they
 * have precedence over the configuration. `dead_targets` are chats that no longer take messages: `last_seq` and `last_outbox`
 * are the newest rows of inbox and outbox when that was found out, so that a later row shows that the chat is alive again.
 * `restart_requests` are restarts that were asked for and not reported yet; `target` is the chat that asked, JSON.
 */
export const delivery = `
create table home_channels (
  platform text not null,
  account text not null,
  chat_id text not null,
  thread_id text not null,
  name text not null,
  updated_at integer not null,
  primary key (platform, account)
) without rowid;

create table dead_targets (
  platform text not null,
  account text not null,
  chat_id text not null,
  reason text not null,
  last_seq integer not null,
  last_outbox integer not null,
  since integer not null,
  primary key (platform, account, chat_id)
) without rowid;

create table restart_requests (
  id integer primary key,
  target text,
  requested_at integer not null
);
`
