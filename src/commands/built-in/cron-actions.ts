/**
 * What `/cron` does.
 */
import { findClosestMatch } from '../../lib/did-you-mean.ts'
import { toMarkdownLabel } from '../../message/untrusted-text.ts'
import type { CommandContext } from '../command.ts'
import type { JobCommand, JobServices } from '../jobs.ts'

const usage =
  'Write `/cron add every 2h | check the backups`, `/cron add weekdays at 9am | report the news`, `/cron edit backups | every 4h | check the new backups too` (what is empty stays), or `/cron show`, `pause`, `resume`, `run`, `stop` or `remove` with the id or the name of a job.'

const actions: Readonly<Record<string, JobCommand['action']>> = {
  add: 'create',
  create: 'create',
  new: 'create',
  list: 'list',
  ls: 'list',
  show: 'show',
  edit: 'update',
  update: 'update',
  pause: 'pause',
  resume: 'resume',
  run: 'run',
  stop: 'stop',
  remove: 'remove',
  delete: 'remove',
  rm: 'remove',
}

const done: Readonly<Record<JobCommand['action'], string>> = {
  list: '**Scheduled jobs**',
  show: '**Scheduled job**',
  create: 'Scheduled:',
  update: 'Changed:',
  pause: 'Paused:',
  resume: 'Goes on:',
  run: 'Starts now:',
  stop: 'Stopped:',
  remove: 'Removed:',
}

/** Limits a line. What is shown of one job may be longer. */
function maxCharsOf(action: JobCommand['action']): number {
  return action === 'show' ? 1_500 : 300
}

export async function cron(context: CommandContext, jobs: JobServices): Promise<string> {
  const parsed = parse(context.args.trim())
  if ('problem' in parsed) return parsed.problem
  const result = await jobs.run(parsed, context)
  if ('problem' in result) return result.problem
  if (result.lines.length === 0) return `There are no scheduled jobs. ${usage}`
  const lines = result.lines.map((line) => `- ${toMarkdownLabel(jobs.withhold(line), maxCharsOf(parsed.action))}`)
  return `${done[parsed.action]}\n\n${lines.join('\n')}`
}

function parse(args: string): JobCommand | { readonly problem: string } {
  const [word = ''] = args.split(/\s/, 1)
  const rest = args.slice(word.length).trim()
  if (word === '') return { action: 'list' }
  const action = Object.hasOwn(actions, word.toLowerCase()) ? actions[word.toLowerCase()] : undefined
  if (action === undefined) {
    const similar = findClosestMatch(word.toLowerCase(), Object.keys(actions))
    return {
      problem: `I do not know \`/cron ${toMarkdownLabel(word)}\`.${similar === null ? '' : ` Did you mean \`/cron ${similar}\`?`} ${usage}`,
    }
  }
  if (action === 'list') return { action }
  if (action === 'update') return parseChange(rest)
  if (action !== 'create') return rest === '' ? { problem: `Name a job. ${usage}` } : { action, job_id: rest }
  const [, schedule = '', prompt = ''] = /^([^|\n]*)[|\n]([\s\S]*)$/.exec(rest) ?? []
  if (schedule.trim() === '' || prompt.trim() === '') return { problem: usage }
  return { action, schedule: schedule.trim(), prompt: prompt.trim() }
}

/** `<job> | <schedule> | <prompt>`; what is empty stays. */
function parseChange(text: string): JobCommand | { readonly problem: string } {
  const [, job = '', schedule = '', prompt = ''] = /^([^|\n]*)[|\n]([^|\n]*)(?:[|\n]([\s\S]*))?$/.exec(text) ?? []
  if (job.trim() === '' || `${schedule}${prompt}`.trim() === '') return { problem: usage }
  return {
    ...{ action: 'update', job_id: job.trim() },
    ...(schedule.trim() === '' ? {} : { schedule: schedule.trim() }),
    ...(prompt.trim() === '' ? {} : { prompt: prompt.trim() }),
  }
}
