/**
 * `cost`: US dollars; `priced_tokens`: the tokens whose price is known. `title_tried`: a title was asked for, whether or not there was
 * an answer. `auxiliary_calls` counts the calls of models beside the conversation; `usage` is JSON.
 */
export const usage = `
alter table sessions add column cost real not null default 0;
alter table sessions add column priced_tokens integer not null default 0;
alter table sessions add column title_tried integer not null default 0;
create table auxiliary_calls (
  id integer primary key autoincrement,
  session_id text not null,
  turn_id text,
  task text not null,
  provider text not null,
  model text not null,
  usage text not null,
  created_at integer not null
);
create index auxiliary_calls_by_session on auxiliary_calls (session_id);
create index auxiliary_calls_by_age on auxiliary_calls (created_at);
`
