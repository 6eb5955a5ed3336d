/**
 * Plugins see a message before anybody has asked whether its writer may write (contract §2.6, `pre_gateway_dispatch`).
 * What they decide holds: a message that is fetched once more is not asked about once more.
 */

import type { AcceptResult, ReadCursor } from '../message/accept-result.ts'
import type { MessageChange } from '../message/change.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Transaction } from '../store/query.ts'
import { advanceExistingCursor } from './cursors.ts'
import type { InboxDeps } from './inbox.ts'
import { acceptEvent, addKeys, findEventKind, findSeqByKeys, finishEvent } from './queries.ts'
import { serializeEvent } from './stored-event.ts'

export interface PreDispatchHooks {
  /** Whether anybody wants to see messages. */
  hasPreDispatchHooks(): boolean
  /** What becomes of a message. Never rejects, takes a bounded time. */
  preDispatch(
    event: MessageEvent,
    sessionKey: SessionKey,
  ): Promise<
    { readonly kind: 'pass'; readonly event: MessageEvent } | { readonly kind: 'skip'; readonly reason: string }
  >
  /** A change was taken in. Returns at once. */
  messageChanged(change: MessageChange, sessionKey: SessionKey): void
}

/** The event as it goes on, or what its platform is told. Rejects `store/…`. */
export type PreDispatch = (
  event: MessageEvent,
  keys: readonly string[],
  mark?: ReadCursor,
) => Promise<{ readonly event: MessageEvent } | { readonly answer: AcceptResult }>

/** The kind of rows that remember what was skipped; nothing of the message is in them. */
const skippedKind = 'skipped'

export function createPreDispatch(deps: InboxDeps): PreDispatch {
  const { store, clock, log, preDispatchHooks } = deps

  function* findKnown(keys: readonly string[]): Transaction<{ seq: number; isSkipped: boolean } | undefined> {
    const seq = yield* findSeqByKeys(keys)
    if (seq === undefined) return undefined
    const isSkipped = (yield* findEventKind(seq)) === skippedKind
    if (isSkipped) yield* addKeys(keys, seq)
    return { seq, isSkipped }
  }

  /** For the platform it is read; nobody else hears of it. */
  async function storeSkipped(
    { source, messageId, timestamp }: MessageEvent,
    sessionKey: SessionKey,
    keys: readonly string[],
    mark: ReadCursor | undefined,
  ): Promise<void> {
    const { platform, account, chatId } = source
    const name = messageId === undefined ? {} : { messageId }
    const placeholder: MessageEvent = { source, text: '', messageType: 'text', timestamp, ...name }
    const payload = serializeEvent(placeholder, deps.maxMessageBytes())
    const row = { sessionKey, lane: 'control', kind: skippedKind, platform, account, chatId, payload } as const
    const now = clock()
    await store.run(function* () {
      // A stranger must not decide in which places the agent takes part.
      if (mark !== undefined) yield* advanceExistingCursor(source, mark, now)
      const { seq, duplicate } = yield* acceptEvent(row, keys, now)
      if (!duplicate) yield* finishEvent(seq, notAnsweredResult)
    })
  }

  return async (event, keys, mark) => {
    if (preDispatchHooks === undefined || event.internal === true || !preDispatchHooks.hasPreDispatchHooks())
      return { event }
    const earlier = await store.run(() => findKnown(keys))
    // What was taken in is recognised further on, with its mark.
    if (earlier !== undefined)
      return earlier.isSkipped ? { answer: { status: 'duplicate', seq: earlier.seq } } : { event }
    const sessionKey = deps.sessionKeyOf(event.source)
    const decision = await preDispatchHooks.preDispatch(event, sessionKey)
    if (decision.kind === 'pass') return { event: decision.event }
    const { platform, chatId: chat } = event.source
    log.info({ platform, chat, reason: decision.reason }, 'message skipped by a plugin')
    await storeSkipped(event, sessionKey, keys, mark)
    return { answer: { status: 'refused', reason: decision.reason } }
  }
}

const notAnsweredResult = {
  status: 'stopped',
  text: '',
  sessionId: '',
  model: '',
  usage: { inputTokens: 0, outputTokens: 0 },
} as const
