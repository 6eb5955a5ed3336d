/**
 * Scheduled jobs of OpenClaw (`cron/jobs.json`) in the form of Hermes (contract hermes.md §4.8).
 */
import { createHash } from 'node:crypto'
import { asArray, asNumber, asRecord, asString, isRecord, type JsonObject, parseJson } from '../../../lib/json.ts'
import type { FoundJob, ImportEntry } from '../contract.ts'
import { failed, left, type SourceHome } from '../source-home.ts'

export function readOpenclawJobs(source: SourceHome, entries: ImportEntry[]): FoundJob[] {
  const path = ['cron/jobs.json', 'cron/cron.json'].find((name) => source.kindOf(name) !== 'missing')
  const file = path === undefined ? undefined : source.text(path, 16 * 1024 * 1024)
  if (path === undefined || file === undefined) return []
  const stored = 'text' in file ? parseJson(file.text) : undefined
  const jobs = Array.isArray(stored) ? stored : asRecord(stored)['jobs']
  if (!Array.isArray(jobs)) {
    entries.push(failed('jobs', path, 'problem' in file ? file.problem : 'it has no list of jobs'))
    return []
  }
  return asArray(jobs).flatMap((job, index): FoundJob[] => {
    const converted = isRecord(job) ? toJob(job) : 'it is no job'
    if (typeof converted !== 'string') return [converted]
    const name = asString(asRecord(job)['name']) || `job ${index + 1}`
    entries.push(left('jobs', name, converted))
    return []
  })
}

/** Why it is not taken, as a clause. */
function toJob(job: JsonObject): FoundJob | string {
  const payload = asRecord(job['payload'])
  const prompt = asString(payload['message']) || asString(payload['text'])
  if (prompt === '') return 'it has no text for the agent'
  const schedule = toSchedule(asRecord(job['schedule']))
  if (typeof schedule === 'string') return schedule
  const identity = asString(job['id']) || asString(job['jobId']) || JSON.stringify(job)
  const id = createHash('sha256').update(identity).digest('hex').slice(0, 12)
  const delivery = toDelivery(asRecord(job['delivery']))
  const isEnabled = job['enabled'] !== false
  const createdAt = asNumber(job['createdAtMs'])
  const model = asString(payload['model'])
  const zone = asString(asRecord(job['schedule'])['tz'])
  const changes = [
    ...delivery.changes,
    ...(zone === '' ? [] : [`the hour is that of \`timezone\`, and was that of ${zone}`]),
    ...(job['sessionTarget'] === 'main' ? ['it has a session of its own'] : []),
  ]
  return {
    id,
    change: changes.join('; ') || 'in the form of Hermes',
    job: {
      id,
      name: asString(job['name']) || prompt.slice(0, 50),
      prompt,
      skills: [],
      ...(model === '' ? {} : { model: model.slice(model.indexOf('/') + 1) }),
      schedule,
      schedule_display: schedule.display,
      repeat: { times: schedule.kind === 'once' ? 1 : null, completed: 0 },
      enabled: isEnabled,
      state: isEnabled ? 'scheduled' : 'paused',
      created_at: createdAt > 0 ? new Date(createdAt).toISOString() : null,
      next_run_at: null,
      last_run_at: null,
      deliver: delivery.deliver,
    },
  }
}

type Schedule =
  | { readonly kind: 'once'; readonly run_at: string; readonly display: string }
  | { readonly kind: 'interval'; readonly minutes: number; readonly display: string }
  | { readonly kind: 'cron'; readonly expr: string; readonly display: string }

function toSchedule({ kind, at, atMs, everyMs, expr }: JsonObject): Schedule | string {
  if (kind === 'at') {
    const time = typeof atMs === 'number' ? atMs : Date.parse(withZone(asString(at)))
    if (!(Math.abs(time) < 8.64e15)) return 'its time cannot be read'
    const text = new Date(time).toISOString()
    return { kind: 'once', run_at: text, display: `once at ${text}` }
  }
  if (kind === 'every') {
    const minutes = Math.max(1, Math.round(asNumber(everyMs) / 60_000))
    return asNumber(everyMs) > 0
      ? { kind: 'interval', minutes, display: `every ${minutes}m` }
      : 'its interval cannot be read'
  }
  const text = asString(expr).trim()
  if (kind === 'cron' && text !== '') return { kind: 'cron', expr: text, display: text }
  return 'its schedule cannot be read'
}

/** Without a zone, OpenClaw means UTC. */
function withZone(time: string): string {
  return /(?:Z|[-+]\d{2}:?\d{2})$/i.test(time) || !time.includes('T') ? time : `${time}Z`
}

function toDelivery({ mode, channel, to }: JsonObject): {
  readonly deliver: string
  readonly changes: readonly string[]
} {
  if (mode === 'webhook') return { deliver: 'local', changes: ['the result is kept, not sent to a webhook'] }
  if (mode === 'none') return { deliver: 'local', changes: [] }
  const platform = asString(channel)
  const target = asString(to)
    .replace(/^(?:channel|user|telegram|group):/g, '')
    .replace(/^group:/, '')
  const [chat = '', thread = ''] = target.split(/:(?:topic:)?/)
  if (!/^[a-z_]+$/.test(platform) || platform === 'last' || chat === '')
    return { deliver: 'local', changes: ['it names no chat: set deliver'] }
  return { deliver: thread === '' ? `${platform}:${chat}` : `${platform}:${chat}:${thread}`, changes: [] }
}
