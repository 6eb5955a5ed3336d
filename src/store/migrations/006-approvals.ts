/**
 * What a tool waits for is a question like others: when it was last seen by a living process, so that its clock can stand
 * still while there is none, and why somebody said no.
 */
export const approvals = `
drop table approvals;
alter table questions add column seen_at integer;
alter table questions add column reason text;
`
