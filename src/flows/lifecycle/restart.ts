/**
 * Restarts that a person or a signal has asked for: who asked and the home channels are told before and after, and each
 * conversation that goes on is told once. A request is stored until it is reported, so that the report survives a crash.
 */
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import { formatDuration } from '../../lib/duration.ts'
import type { Target } from '../../message/source.ts'
import type { Outbox, Reply } from '../../outbox/outbox.ts'
import type { PlatformAccount } from '../../platforms/accounts.ts'
import { afterCommit, enlist, exec, query, rows, sql, type Transaction } from '../../store/query.ts'
import type { Runtime } from '../../store/runtime.ts'
import { findHomeChannels } from '../delivery/home-channels.ts'
import type { TurnNotices } from '../turn/turn-notices.ts'

export interface RestartingGateway extends Pick<Runtime, 'store' | 'clock' | 'log'> {
  readonly accountDirectory: { list(): readonly PlatformAccount[] }
}

type Notices = Pick<Outbox, 'prepare'>

const insertRequest = query((db, p: { target: string | null; now: number }) =>
  db.insertInto('restart_requests').values({ target: p.target, requested_at: p.now }),
)

const selectRequests = query((db, _: Record<never, never>) =>
  db.selectFrom('restart_requests').select(['id', 'target', 'requested_at']).orderBy('id'),
)

const deleteRequests = query((db, p: { id: number }) => db.deleteFrom('restart_requests').where('id', '<=', p.id))

const selectInterrupted = query((db, _: Record<never, never>) =>
  db
    .selectFrom('turns')
    .innerJoin('turn_inputs', 'turn_inputs.turn_id', 'turns.id')
    .innerJoin('inbox', 'inbox.seq', 'turn_inputs.seq')
    .select(['turns.id', 'inbox.payload'])
    // Literal SQL because of the partial index of open turns.
    .where(sql<boolean>`turns.state in ('running', 'waiting')`)
    .where('turns.state', '=', 'running')
    .where('turn_inputs.how', '=', 'head'),
)

/**
 * Stores that a restart was asked for, with the notices to the home channels. The caller starts the restart after its commit.
 * @param requester the chat that asked and is told by its caller; null for a signal
 */
export function* storeRestart(
  gateway: RestartingGateway,
  outbox: Notices,
  requester: Target | null,
  now: number,
): Transaction<void> {
  yield* exec(insertRequest, { target: requester === null ? null : JSON.stringify(requester), now })
  const told = requester === null ? [] : [requester]
  yield* tellHomes(gateway, outbox, { told, key: `restart:${now}:before`, text: startsText, now })
  yield* afterCommit(() =>
    gateway.log.info(
      { event: 'gateway.restart_requested', platform: requester?.platform ?? '' },
      'a restart is requested',
    ),
  )
}

/** For a restart that no command asked for. Rejects `store/…`. */
export async function requestRestart(gateway: RestartingGateway, outbox: Notices): Promise<void> {
  await gateway.store.run(() => storeRestart(gateway, outbox, null, gateway.clock()))
}

const startsText = '🔄 The gateway restarts.'

/** A later start is not what was asked for: another stop came between, and the gateway was off. */
const maxReportDelayMs = 3_600_000

/**
 * Reports restarts of the last process, once: to who asked, to the home channels and to interrupted conversations. A request
 * that is older than an hour is forgotten. Rejects `store/…`.
 */
export async function reportRestart(
  gateway: RestartingGateway,
  outbox: Notices,
  turnNotices: Pick<TurnNotices, 'resumed'>,
): Promise<void> {
  const { store, clock, log } = gateway
  const reported = await store.run(function* () {
    const requests = yield* rows(selectRequests, {})
    const now = clock()
    const recent = requests.filter(({ requested_at }) => now - requested_at <= maxReportDelayMs)
    yield* writeReport(gateway, outbox, recent, now)
    yield* exec(deleteRequests, { id: requests.at(-1)?.id ?? 0 })
    return recent.length > 0
  })
  if (!reported) return
  log.info({ event: 'gateway.restarted' }, 'the gateway was restarted')
  for (const { id, payload } of await store.run(() => rows(selectInterrupted, {})))
    await turnNotices.resumed(parseStoredEvent(payload), id)
}

interface RestartRequest {
  readonly target: string | null
  readonly requested_at: number
}

function* writeReport(
  gateway: RestartingGateway,
  outbox: Notices,
  requests: readonly RestartRequest[],
  now: number,
): Transaction<void> {
  const since = requests[0]?.requested_at
  if (since === undefined) return
  const text = `✅ The gateway was restarted (${formatDuration(Math.max(0, now - since))}).`
  const key = `restart:${since}:after`
  const told = distinct(requests.flatMap(({ target }): Target[] => (target === null ? [] : [JSON.parse(target)])))
  for (const target of told) yield* tell(outbox, { key: `${key}:${keyOf(target)}`, target, kind: 'notice', text }, now)
  yield* tellHomes(gateway, outbox, { told, key, text, now })
}

interface HomeNotice {
  /** The targets that are notified anyway. */
  readonly told: readonly Target[]
  readonly key: string
  readonly text: string
  readonly now: number
}

/** To each home channel that wants it. */
function* tellHomes(
  { accountDirectory }: RestartingGateway,
  outbox: Notices,
  { told, key, text, now }: HomeNotice,
): Transaction<void> {
  const accounts = accountDirectory.list().filter(({ silentRestarts }) => silentRestarts !== true)
  const homes = (yield* findHomeChannels(accounts)).map(({ target }) => target)
  for (const target of distinct(homes)) {
    if (told.some((other) => keyOf(other) === keyOf(target))) continue
    const notice = { key: `${key}:${keyOf(target)}`, target, kind: 'notice', text, isUnsolicited: true } as const
    yield* tell(outbox, notice, now)
  }
}

function tell(outbox: Notices, notice: Reply, now: number): Transaction<void> {
  return enlist(outbox.prepare(notice), now)
}

function distinct(targets: readonly Target[]): readonly Target[] {
  return [...new Map(targets.map((target) => [keyOf(target), target])).values()]
}

function keyOf({ platform, account, chatId, threadId = '' }: Target): string {
  return `${platform}/${account}/${chatId}/${threadId}`
}
