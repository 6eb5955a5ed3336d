/**
 * Approvals become questions. `seen_at` is when a running process last saw a question, so that its time limit stops while no
 * process runs; `reason` is why a user refused.
 */
export const approvals = `
drop table approvals;
alter table questions add column seen_at integer;
alter table questions add column reason text;
`
