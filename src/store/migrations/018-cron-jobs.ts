/**
 * Scheduled jobs. `record`: the fields of `cron/jobs.json`, JSON. `authority`: of the person who made it, JSON. `next_run_at` is null
 * for a job that waits for nothing. The last three columns are null unless it runs now: the time for which it runs, the event
 * of the run once it is stored, and 1 once its script was started. `cron_file` has one row: the digests of the texts of `jobs.json`
 * that this program wrote last, JSON.
 */
export const cronJobs = `
create table cron_jobs (
  id text primary key,
  record text not null,
  authority text not null,
  next_run_at integer,
  slot integer,
  seq integer,
  script integer
);
create index cron_jobs_due on cron_jobs (next_run_at) where next_run_at is not null;
create index cron_jobs_running on cron_jobs (slot) where slot is not null;
create table cron_file (id integer primary key, digests text not null);
`
