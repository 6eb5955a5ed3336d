/**
 * What becomes of the result of a run: a file of the home, `cron/output/<id>/YYYY-MM-DD_HH-MM-SS.md` (contract hermes.md §4.8), of which
 * the newest stay, and messages to the chats of the job.
 */
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { JobRun } from '../../cron/runs.ts'
import { systemCode } from '../../lib/errors.ts'
import { ensureDirectory, writeFileAtomicAsync } from '../../lib/files.ts'
import type { Authority } from '../../message/authority.ts'
import type { Target } from '../../message/source.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { prepareDelivery } from '../delivery/deliver.ts'
import { type Destinations, distinctTargets, formatTarget } from '../delivery/resolve-target.ts'
import type { CronGateway } from './cron-gateway.ts'
import { currentAuthority, findJobTargets } from './job-rights.ts'

const maxScriptChars = 4_000

/** Sends to each target once, also when it is called again. Resolves with what failed; '' for nothing. Rejects `store/...`. */
export async function deliverResult(
  gateway: CronGateway,
  outbox: Pick<Outbox, 'prepare'>,
  { stored: { job, authority }, slot }: JobRun,
  { text: whole, path }: { readonly text: string; readonly path: string },
): Promise<string> {
  if (whole.trim() === '') return ''
  const text = job.no_agent ? endsOf(whole, path) : whole
  const { targets, problems } = await findTargets(
    gateway,
    job,
    currentAuthority(gateway.accountDirectory, authority),
    gateway.stopping,
  )
  for (const target of targets) {
    const key = `cron:${job.id}:${slot}:${formatTarget(target)}`
    const content = { key, text, kind: 'reply' as const, authority }
    await gateway.store.commit(prepareDelivery(outbox, target, content), gateway.clock)
  }
  return problems.join('; ')
}

/** What a script prints may be long: the beginning and the end, and where the rest is. */
function endsOf(text: string, path: string): string {
  if (text.length <= maxScriptChars) return text
  const half = maxScriptChars / 2
  const rest = `[${text.length - maxScriptChars} characters left out${path === '' ? '' : `: ${path}`}]`
  return `${text.slice(0, half).toWellFormed()}\n\n${rest}\n\n${text.slice(-half).toWellFormed()}`
}

async function findTargets(
  destinations: Destinations,
  { deliver, origin }: JobRun['stored']['job'],
  authority: Authority,
  signal: AbortSignal,
): Promise<{ readonly targets: readonly Target[]; readonly problems: readonly string[] }> {
  const targets: Target[] = []
  const problems: string[] = []
  const asked = origin === null ? undefined : toTarget(origin)
  for (const name of deliver.split(',').map((target) => target.trim())) {
    if (name === '') continue
    const resolved = await findJobTargets(destinations, authority, name, asked, signal)
    if ('problem' in resolved) problems.push(`${name}: ${resolved.problem}`)
    else targets.push(...resolved.targets)
  }
  return { targets: distinctTargets(targets), problems }
}

/** An account other than the first is a part of the platform's name, as in targets that people write. */
function toTarget({ platform, chat_id, thread_id }: NonNullable<JobRun['stored']['job']['origin']>): Target {
  const [name = '', account = 'default'] = platform.split('/', 2)
  return { platform: name, account, chatId: chat_id, ...(thread_id === '' ? {} : { threadId: thread_id }) }
}

/** Resolves with the path. `directory`: `cron/output` of the home. `retention`: how many are kept of a job; below 1 all. */
export async function writeJobOutput(
  directory: string,
  retention: number,
  { stored: { job }, slot }: Pick<JobRun, 'stored' | 'slot'>,
  text: string,
): Promise<string> {
  const folder = join(directory, job.id)
  ensureDirectory(folder)
  const head = `# ${job.name}\n\n- Job: ${job.id}\n- Time: ${new Date(slot).toISOString()}\n- Schedule: ${job.schedule_display}\n`
  const content = `${head}\n## Result\n\n${text}\n`
  const path = await pathFor(folder, fileTime(slot), content)
  await writeFileAtomicAsync(path, content)
  if (retention < 1) return path
  const files = await listOutputs(folder)
  for (const name of files.slice(0, Math.max(0, files.length - retention)))
    await rm(join(folder, name), { force: true })
  return path
}

const resultHeading = '\n## Result\n'

/** The latest result of a job; '' for none. `id`: of a stored job. */
export async function readLatestOutput(directory: string, id: string): Promise<string> {
  const folder = join(directory, id)
  const latest = (await listOutputs(folder)).at(-1)
  if (latest === undefined) return ''
  const text = await readFile(join(folder, latest), 'utf8')
  const begin = text.indexOf(resultHeading)
  return begin === -1 ? '' : text.slice(begin + resultHeading.length).trim()
}

async function listOutputs(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith('.md')).sort()
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}

/**
 * Two runs in one second, such as one that a webhook asked for, have two files, which sort in the order of writing. A run whose end
 * is stored again after a crash has one.
 */
async function pathFor(folder: string, time: string, content: string): Promise<string> {
  const taken = new Set(await listOutputs(folder))
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? `${time}.md` : `${time}_${String(number).padStart(2, '0')}.md`
    const path = join(folder, name)
    if (!taken.has(name) || (await readFile(path, 'utf8')) === content) return path
  }
}

function fileTime(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace('T', '_').replaceAll(':', '-')
}
