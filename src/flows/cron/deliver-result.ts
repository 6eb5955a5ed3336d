/**
 * Sends the result of a job to its targets: `origin`, `local`, `all`, or names of chats (contract hermes.md §4.8).
 */
import type { JobRun } from '../../cron/run-end.ts'
import type { Authority } from '../../message/authority.ts'
import type { Target } from '../../message/source.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { prepareDelivery } from '../delivery/deliver.ts'
import { type Destinations, formatTarget } from '../delivery/resolve-target.ts'
import { distinctTargets } from '../delivery/resolve-targets.ts'
import type { CronGateway } from './cron-gateway.ts'
import { currentAuthority } from './job-rights.ts'
import { findJobTargets } from './job-targets.ts'

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
