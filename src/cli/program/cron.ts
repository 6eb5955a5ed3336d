/**
 * Defines the commands for scheduled jobs.
 */

import type { Command } from 'commander'
import type { JsonOption } from '../kit/context.ts'
import type { CronRequest } from '../shared/cron-request.ts'
import { type Commands, json } from './options.ts'

interface JobOptions extends JsonOption {
  readonly name?: string
  readonly schedule?: string
  readonly prompt?: string
  readonly deliver?: string
  readonly repeat?: string
  readonly skills?: string
  readonly model?: string
  readonly provider?: string
  readonly script?: string
  readonly agent: boolean
  readonly toolsets?: string
  readonly workdir?: string
  readonly contextFrom?: string
}

export function addCronCommands(root: Commands): void {
  const { command: cron, context, from } = root.group('cron', 'jobs that the agent does at their times')
  const act = async (request: CronRequest, { json: isJson }: JsonOption) =>
    (await import('../cron.ts')).cronAction(context, request, isJson)
  const show = from(() => import('../cron.ts'))
  show.add('list', 'cronList', 'list the jobs, the next one first', json).alias('ls')
  from(() => import('../cron-tick.ts'))
    .add('tick', 'cronTick', 'carry out the jobs that are due, without a daemon')
    .description(
      'Carries out the jobs that are due now, sends their results and ends. A running gateway does that by itself, so that nothing is done then.',
    )
  show
    .add('status', 'cronStatus', 'show which jobs need attention', json)
    .description('Shows how many jobs wait, and those whose last run failed. The exit code is then 1.')
  withJobOptions(
    cron
      .command('create <schedule> [prompt]')
      .alias('add')
      .summary('schedule a job')
      .description(
        'Schedules a job. The schedule is a duration (30m, in 2h), an interval (every 2h, every other day), a time (2027-01-31T09:00, tomorrow at 9am), days and a time (weekdays at 9am, monthly on the 1st at 9am), or a cron expression ("0 9 * * 1-5").',
      ),
  ).action((schedule: string, prompt: string | undefined, options: JobOptions) =>
    act({ action: 'create', ...requestOf(options), schedule, prompt }, options),
  )
  withJobOptions(
    cron
      .command('edit <job>')
      .description('change a job; what is not named stays as it is')
      .option('--schedule <schedule>', 'another schedule')
      .option('--prompt <text>', 'another message for the agent'),
  ).action((job: string, options: JobOptions) => act({ action: 'update', job_id: job, ...requestOf(options) }, options))
  const simple: readonly (readonly [CronRequest['action'], string])[] = [
    ['show', 'show all that is stored of a job'],
    ['pause', 'keep a job from running'],
    ['resume', 'let a paused job run again'],
    ['run', 'run a job now'],
    ['stop', 'end the run of a job'],
    ['remove', 'remove a job'],
  ]
  for (const [action, description] of simple) {
    const command = cron
      .command(`${action} <job>`)
      .description(description)
      .option(...json)
      .action((job: string, options: JsonOption) => act({ action, job_id: job }, options))
    if (action === 'remove') command.alias('rm')
  }
}

function withJobOptions(command: Command): Command {
  return command
    .option('--name <name>', 'what the job is called')
    .option('--deliver <targets>', 'local, all, or targets with commas between them')
    .option('--repeat <times>', 'how often it runs; 0 or forever for ever')
    .option('--skills <names>', 'skills to load, with commas between them')
    .option('--model <model>', 'the model of its turns')
    .option('--provider <name>', 'the provider of the model')
    .option('--script <path>', 'a file in scripts/ of the home, which runs before the agent')
    .option('--no-agent', 'the output of the script is the result')
    .option('--toolsets <names>', 'the toolsets of its turns, with commas between them')
    .option('--workdir <path>', 'the directory of the script')
    .option('--context-from <jobs>', 'ids of jobs whose latest results it gets')
    .option(...json)
}

function requestOf({
  agent,
  repeat,
  toolsets,
  contextFrom,
  json: _json,
  ...options
}: JobOptions): Record<string, unknown> {
  return {
    ...options,
    ...(agent ? {} : { no_agent: true }),
    repeat: repeat !== undefined && /^-?\d+$/.test(repeat) ? Number(repeat) : repeat,
    enabled_toolsets: toolsets,
    context_from: contextFrom,
  }
}
