/**
 * Restarts that a person or a signal has asked for: who asked and the home channels are told before and after, and each
 * conversation that goes on is told once. A request is stored until it is reported, so that the report survives a crash.
 */
import { parseStoredEvent } from '../inbox/stored-event.ts'
import { formatDuration } from '../lib/duration.ts'
import type { Logger } from '../lib/log.ts'
import type { Target } from '../message/source.ts'
import type { Outbox, PreparedReply } from '../outbox/outbox.ts'
import type { PlatformAccount } from '../platforms/accounts.ts'
import { exec, query, rows, sql, type Transaction } from '../store/query.ts'
import type { Store } from '../store/store.ts'
import { findHomeChannels } from './delivery/home-channels.ts'
import type { TurnNotices } from './turn/turn-notices.ts'

export interface RestartDeps {
  readonly store: Store
  readonly outbox: Pick<Outbox, 'prepare'>
  readonly accountDirectory: { list(): readonly PlatformAccount[] }
  readonly clock: () => number
  readonly log: Logger
}

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
 * Stores that a restart was asked for, with the notices to the home channels. The caller yields `write` in its transaction and
 * then starts the restart.
 * @param requester the chat that asked and is told by its caller; null for a signal
 */
export function prepareRestart(deps: RestartDeps, requester: Target | null): PreparedReply {
  let notices: readonly PreparedReply[] = []
  return {
    *write(now) {
      for (const notice of notices) notice.rolledBack()
      yield* exec(insertRequest, { target: requester === null ? null : JSON.stringify(requester), now })
      notices = yield* homeNotices(
        deps,
        requester === null ? [] : [requester],
        `restart:${now}:before`,
        startsText,
        now,
      )
    },
    committed() {
      for (const notice of notices) notice.committed()
      deps.log.info(
        { event: 'gateway.restart_requested', platform: requester?.platform ?? '' },
        'a restart is requested',
      )
    },
    rolledBack() {
      for (const notice of notices) notice.rolledBack()
    },
  }
}

/** For a restart that no command asked for. Rejects `store/…`. */
export async function requestRestart(deps: RestartDeps): Promise<void> {
  const request = prepareRestart(deps, null)
  try {
    await deps.store.run(() => request.write(deps.clock()))
  } catch (error) {
    request.rolledBack()
    throw error
  }
  request.committed()
}

const startsText = '🔄 The gateway restarts.'

/** Reports restarts of the last process, once: to who asked, to the home channels and to interrupted conversations. */
export async function reportRestart(
  deps: RestartDeps & { readonly notices: Pick<TurnNotices, 'resumed'> },
): Promise<void> {
  const { store, clock, log } = deps
  let notices: readonly PreparedReply[] = []
  const requested = await store.run(function* () {
    const requests = yield* rows(selectRequests, {})
    const last = requests.at(-1)
    if (last === undefined) return false
    notices = yield* reportNotices(deps, requests, clock())
    yield* exec(deleteRequests, { id: last.id })
    return true
  })
  if (!requested) return
  for (const notice of notices) notice.committed()
  log.info({ event: 'gateway.restarted' }, 'the gateway was restarted')
  for (const { id, payload } of await store.run(() => rows(selectInterrupted, {})))
    await deps.notices.resumed(parseStoredEvent(payload), id)
}

interface RestartRequest {
  readonly id: number
  readonly target: string | null
  readonly requested_at: number
}

function* reportNotices(
  deps: RestartDeps,
  requests: readonly RestartRequest[],
  now: number,
): Transaction<readonly PreparedReply[]> {
  const since = requests[0]?.requested_at ?? now
  const text = `✅ The gateway was restarted (${formatDuration(Math.max(0, now - since))}).`
  const requesters = requests.flatMap(({ target }): Target[] => (target === null ? [] : [JSON.parse(target)]))
  const notices: PreparedReply[] = []
  for (const target of distinct(requesters)) {
    const key = `restart:${since}:after:${keyOf(target)}`
    const notice = deps.outbox.prepare({ key, target, kind: 'notice', text })
    yield* notice.write(now)
    notices.push(notice)
  }
  return [...notices, ...(yield* homeNotices(deps, requesters, `restart:${since}:after`, text, now))]
}

/** A notice to each home channel that wants it, except to those who are told anyway. */
function* homeNotices(
  { outbox, accountDirectory }: RestartDeps,
  told: readonly Target[],
  key: string,
  text: string,
  now: number,
): Transaction<readonly PreparedReply[]> {
  const accounts = accountDirectory.list().filter(({ silentRestarts }) => silentRestarts !== true)
  const homes = (yield* findHomeChannels(accounts)).map(({ target }) => target)
  const notices: PreparedReply[] = []
  for (const target of distinct(homes)) {
    if (told.some((one) => keyOf(one) === keyOf(target))) continue
    const notice = outbox.prepare({ key: `${key}:${keyOf(target)}`, target, kind: 'notice', text, isUnsolicited: true })
    yield* notice.write(now)
    notices.push(notice)
  }
  return notices
}

function distinct(targets: readonly Target[]): readonly Target[] {
  return [...new Map(targets.map((target) => [keyOf(target), target])).values()]
}

function keyOf({ platform, account, chatId, threadId = '' }: Target): string {
  return `${platform}/${account}/${chatId}/${threadId}`
}
