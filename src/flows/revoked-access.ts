/**
 * Ends what waits and runs for people whose access was taken away: their messages end without an answer, and the trace says
 * why. Loaded when the access rules change, and at a start that finds open messages.
 */
import { decideAccess } from '../inbox/access.ts'
import { listOpenTurnEvents } from '../inbox/queries.ts'
import { parseStoredEvent } from '../inbox/stored-event.ts'
import { addTraceEntry } from '../inbox/trace.ts'
import type { Logger } from '../lib/log.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionSource } from '../message/source.ts'
import type { PlatformAccount } from '../platforms/accounts.ts'
import type { Store } from '../store/store.ts'
import type { SessionServices } from './session-services.ts'

export interface RevokedAccessDeps {
  readonly store: Store
  readonly stopEvent: SessionServices['stopEvent']
  readonly clock: () => number
  readonly log: Logger
}

type Accounts = readonly PlatformAccount[]

/**
 * Ends the messages of people who have access by `before` and not by `after`. Without `before`, at a start, messages of people
 * who have none; what the gateway itself has started is then kept, because not everything that gave access is stored with it.
 * Rejects `store/…`.
 */
export async function endRevokedMessages(
  { store, stopEvent, clock, log }: RevokedAccessDeps,
  after: Accounts,
  before?: Accounts,
): Promise<void> {
  for (const { seq, session_key, turn_id, payload } of await store.run(listOpenTurnEvents)) {
    const event = parseStoredEvent(payload)
    const person = before === undefined && event.internal === true ? undefined : personOf(event)
    if (person === undefined || refusalIn(after, person) === undefined) continue
    if (before !== undefined && refusalIn(before, person) !== undefined) continue
    const detail = `message ${seq} was ended: the access of its sender was taken away`
    await store.run(() => addTraceEntry({ session_key, turn_id }, 'access:revoked', detail, clock()))
    await stopEvent(seq)
    log.info({ event: 'access.message_ended', seq }, 'a message of a person without access was ended')
  }
}

/** What the gateway itself causes is stored with the person on whose behalf it acts. */
function personOf({ internal, source, authority }: MessageEvent): SessionSource | undefined {
  if (internal !== true) return source
  if (authority === undefined) return undefined
  const { platform, account = 'default', chatId = '', chatType, userId, parentChatId } = authority
  return {
    platform,
    account,
    chatId,
    chatType,
    ...(userId === undefined ? {} : { userId }),
    ...(parentChatId === undefined ? {} : { parentChatId }),
  }
}

/** Undefined for a person with access, and for an account that is not configured, which says nothing about a person. */
function refusalIn(accounts: Accounts, source: SessionSource): string | undefined {
  const account = accounts.find((one) => one.platform.name === source.platform && one.account === source.account)
  if (account === undefined) return undefined
  const { allowed, reason } = decideAccess(source, {}, account.access)
  return allowed ? undefined : reason
}
