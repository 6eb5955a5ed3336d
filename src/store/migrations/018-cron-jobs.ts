/**
 * Scheduled jobs. `record`: the fields of `cron/jobs.json`, JSON. `authority`: of the person who made it, JSON; `maker`: the platform and
 * the id of that person. `name`: in lower case. `ended_at`: when a completed job has run last; null for another one. `next_run_at` is
 * null for a job that waits for nothing. The last three columns are null unless it runs now: the time for which it runs, the event of the run
 * once it is stored, and 1 once its script was started. `cron_file` has one row: what was written into `jobs.json` last, JSON.
 */
export const cronJobs = `
create table cron_jobs (
  id text primary key,
  record text not null,
  authority text not null,
  maker text not null,
  name text not null,
  ended_at integer,
  next_run_at integer,
  slot integer,
  seq integer,
  script integer
);
create index cron_jobs_by_maker on cron_jobs (maker);
create index cron_jobs_by_name on cron_jobs (name);
create index cron_jobs_due on cron_jobs (next_run_at) where next_run_at is not null;
create index cron_jobs_running on cron_jobs (slot) where slot is not null;
create index cron_jobs_ended on cron_jobs (ended_at) where ended_at is not null;
create table cron_file (id integer primary key, written text not null);
`
