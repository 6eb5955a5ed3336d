/**
 * Runs the plugin hooks that see a message before the access check (contract §2.6, `pre_gateway_dispatch`). Their decision to
 * skip a message is stored, so that they are not called again when the platform delivers it twice. They see a command that
 * bypasses hooks, such as `/stop`, but neither delay it nor decide about it: access is checked after them.
 */

import type { AcceptResult, ReadCursor } from '../message/accept-result.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Transaction } from '../store/query.ts'
import { advanceExistingCursor } from './cursors.ts'
import type { InboxDeps, PreDispatchHooks } from './deps.ts'
import { acceptEvent, addKeys, findEventKind, findSeqByKeys, finishEvent, resultWithoutModel } from './queries.ts'
import { serializeEvent } from './stored-event.ts'

/** The event to be processed, or the result for its platform. Rejects `http/starting`, `store/...`. */
export type PreDispatch = (
  event: MessageEvent,
  keys: readonly string[],
  cursor?: ReadCursor,
) => Promise<{ readonly event: MessageEvent } | { readonly result: AcceptResult }>

/** The kind of rows for skipped messages. They contain nothing of the message. */
const skippedKind = 'skipped'

export function createPreDispatch(deps: InboxDeps, hooks: PreDispatchHooks): PreDispatch {
  const { store, clock, log } = deps

  function* findKnown(keys: readonly string[]): Transaction<{ seq: number; isSkipped: boolean } | undefined> {
    const seq = yield* findSeqByKeys(keys)
    if (seq === undefined) return undefined
    const isSkipped = (yield* findEventKind(seq)) === skippedKind
    if (isSkipped) yield* addKeys(keys, seq)
    return { seq, isSkipped }
  }

  /** Advances the cursor of the platform, but causes no gateway event. */
  async function storeSkipped(
    { source, messageId, timestamp }: MessageEvent,
    sessionKey: SessionKey,
    keys: readonly string[],
    cursor: ReadCursor | undefined,
  ): Promise<void> {
    const { platform, account, chatId } = source
    const placeholder: MessageEvent = { source, text: '', messageType: 'text', timestamp, messageId }
    const payload = serializeEvent(placeholder, deps.settings().inbox)
    const row = { sessionKey, lane: 'control', kind: skippedKind, platform, account, chatId, payload } as const
    const now = clock()
    await store.run(function* () {
      // Access was not checked: such a message must not create a cursor.
      if (cursor !== undefined) yield* advanceExistingCursor(source, cursor, now)
      const { seq, duplicate } = yield* acceptEvent(row, keys, now)
      if (!duplicate) yield* finishEvent(seq, resultWithoutModel('stopped'))
    })
  }

  return async (event, keys, cursor) => {
    if (event.internal === true || !hooks.hasPreDispatchHooks()) return { event }
    const known = await store.run(() => findKnown(keys))
    // `accept` handles the duplicate of an accepted message, including its cursor.
    if (known !== undefined) return known.isSkipped ? { result: { status: 'duplicate', seq: known.seq } } : { event }
    const sessionKey = deps.accounts.sessionKey(event.source)
    const deciding = hooks.preDispatch(event, sessionKey)
    if (deps.commands.bypassesHooks(event)) {
      // It rejects when the gateway stops before its plugins are loaded.
      deciding.catch(() => undefined)
      return { event }
    }
    const decision = await deciding
    if (decision.kind === 'pass') return { event: decision.event }
    const { platform, chatId: chat } = event.source
    log.info({ event: 'inbox.skipped', platform, chat, reason: decision.reason }, 'message skipped by a plugin')
    await storeSkipped(event, sessionKey, keys, cursor)
    return { result: { status: 'refused', reason: decision.reason } }
  }
}
