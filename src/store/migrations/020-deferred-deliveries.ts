/**
 * What an adapter has received and works on later. `group_key`: those of one group are worked on together. `body` is that of the
 * adapter, and '' once it is done; the row stays for a time, so that a repeated delivery is recognised.
 */
export const deferredDeliveries = `
create table deferred_deliveries (
  key text primary key,
  platform text not null,
  group_key text not null,
  body text not null,
  received_at integer not null,
  done_at integer
);
create index deferred_deliveries_open on deferred_deliveries (platform, received_at) where done_at is null;
create index deferred_deliveries_done on deferred_deliveries (done_at) where done_at is not null;
`
