/**
 * Attempts count failures instead of claims: `attempt_open` marks the events that are being processed, so that the next
 * start knows what a crash interrupted. `crashes` counts crashes that may have been caused by another event; `own_crashes`
 * counts those that only this event can have caused, also if it made progress between them.
 */
export const attempts = `
alter table inbox add column crashes integer not null default 0;
alter table inbox add column own_crashes integer not null default 0;
alter table inbox add column attempt_open integer not null default 0;
update inbox set tries = 0 where state in ('queued', 'claimed');
alter table turns add column outage_since integer;
`
