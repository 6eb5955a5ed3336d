/**
 * The door: an event is refused, known already, or on disk. Only after that may its platform be told "got it".
 */
import { HermesError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { MessageEvent } from '../message/event.ts'
import type { EventKey, SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { Accepted } from '../platforms/adapter.ts'
import type { Store } from '../store/store.ts'
import { acceptEvent } from './queries.ts'

export type Lane = 'turn' | 'control'

export interface InboxDeps {
  readonly store: Store
  readonly clock: () => number
  readonly log: Logger
  readonly maxMessageBytes: () => number
  /** False while the daemon starts or stops: nothing is taken in then, and platforms deliver again later. */
  open(): boolean
  /** Whether this person may talk to the agent here (contract §3.10). */
  access(event: MessageEvent): { readonly allowed: boolean; readonly reason: string }
  sessionKey(source: SessionSource): SessionKey
  /** `control` for commands that act at once, `turn` for everything that waits its place. */
  laneOf(event: MessageEvent): Lane
  /** Told after the event is on disk. */
  wake(key: SessionKey, lane: Lane): void
  /** Named points for crash tests; does nothing in production. */
  probe(point: string): void
}

export interface Inbox {
  /** Never keeps half an event. Throws `inbox/too-large` or `store/…`: then the platform must not be acknowledged. */
  accept(event: MessageEvent, keys: readonly [EventKey, ...EventKey[]]): Promise<Accepted>
}

export function createInbox(deps: InboxDeps): Inbox {
  return {
    async accept(event, keys) {
      if (!deps.open()) throw new HermesError('http/starting')
      const verdict = event.internal === true ? { allowed: true, reason: 'internal' } : deps.access(event)
      const { platform, account, chatId, userId } = event.source
      if (!verdict.allowed) {
        deps.log.info({ platform, chat: chatId, user: userId ?? '', reason: verdict.reason }, 'message refused')
        return { status: 'refused', reason: verdict.reason }
      }
      const payload = JSON.stringify(event, wellFormed)
      const bytes = Buffer.byteLength(payload)
      if (bytes > deps.maxMessageBytes()) {
        throw new HermesError('inbox/too-large', `It has ${bytes} bytes, ${deps.maxMessageBytes()} are allowed.`)
      }
      const sessionKey = deps.sessionKey(event.source)
      const lane = deps.laneOf(event)
      deps.probe('inbox:before-commit')
      const row = { sessionKey, lane, kind: event.messageType, platform, account, chatId, payload }
      const { seq, duplicate } = await deps.store.run(() => acceptEvent(row, keys, deps.clock()))
      deps.probe('inbox:committed')
      if (duplicate) return { status: 'duplicate', seq }
      deps.log.info({ session: sessionKey, seq, lane }, 'message accepted')
      deps.wake(sessionKey, lane)
      return { status: 'accepted', seq }
    },
  }
}

/** Half a character cannot be stored or sent: JSON would carry it as an escape to where it breaks something. */
function wellFormed(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value
}
