/** What adapters keep (`flows/platform-records.ts`): one JSON value for each key of an account. */
export const platformRecords = `
create table platform_records (
  id integer primary key,
  platform text not null,
  account text not null,
  key text not null,
  value text not null,
  updated_at integer not null
);
create unique index platform_records_by_key on platform_records (platform, account, key);
create index platform_records_by_age on platform_records (updated_at);
`
