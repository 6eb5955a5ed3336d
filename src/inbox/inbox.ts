/**
 * The door: an event is refused, known already, or on disk. Only after that may its platform be told "got it".
 */
import { HermesError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { AcceptResult, ReadCursor } from '../message/accept-result.ts'
import type { MessageChange } from '../message/change.ts'
import type { MessageEvent } from '../message/event.ts'
import { type HookEventListener, truncateForHooks } from '../message/hook-events.ts'
import type { EventKey, SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { TurnResult } from '../message/turn-result.ts'
import type { Store } from '../store/store.ts'
import { createChangeHandler } from './changes.ts'
import { advanceCursor, advanceExistingCursor } from './cursors.ts'
import { createPreDispatch, type PreDispatchHooks } from './pre-dispatch.ts'
import { acceptEvent } from './queries.ts'
import { serializeEvent } from './stored-event.ts'

export type QueueKind = 'turn' | 'control'

export interface InboxDeps {
  readonly store: Store
  readonly clock: () => number
  readonly log: Logger
  readonly maxMessageBytes: () => number
  /** False while the daemon starts or stops: nothing is taken in then, and platforms deliver again later. */
  isOpen(): boolean
  /** Whether this person may talk to the agent here (contract §3.10). */
  checkAccess(event: Pick<MessageEvent, 'source' | 'internal'>): { readonly allowed: boolean; readonly reason: string }
  /** What an edit does on the account of this source. */
  editPolicyOf(source: SessionSource): 'ignore' | 'amend' | 'rerun'
  sessionKeyOf(source: SessionSource): SessionKey
  /** `control` for commands that act at once, `turn` for everything that waits its place. */
  queueKindOf(event: MessageEvent): QueueKind
  /** Told after the event is on disk. */
  wake(key: SessionKey, lane: QueueKind, event?: MessageEvent): void
  /** Told after it is on disk that an event which waited will not be worked on. */
  onWithdrawn(seq: number, outcome: TurnResult): void
  readonly emit: HookEventListener
  /** Whether what happens there is a gateway event. */
  emitsEvents(source: SessionSource): boolean
  /** Who sees messages before anybody else; undefined where there are no plugins. */
  readonly preDispatchHooks?: PreDispatchHooks
  /** Named points for crash tests; does nothing in production. */
  failpoint(point: string): void
}

export interface Inbox {
  /**
   * Never keeps half an event. Throws `inbox/too-large` or `store/…`: then the platform must not be acknowledged.
   * A mark moves with the event, also where it is known already, refused or too large: it will not be fetched again.
   * What is refused begins none.
   */
  accept(event: MessageEvent, keys: readonly [EventKey, ...EventKey[]], mark?: ReadCursor): Promise<AcceptResult>
  /**
   * What happened to an earlier message. Of a message that was never taken in (it was not addressed to the agent, or is
   * too old) nothing is kept: `refused`. Throws as `accept`.
   */
  change(change: MessageChange, keys: readonly [EventKey, ...EventKey[]]): Promise<AcceptResult>
}

export function createInbox(deps: InboxDeps): Inbox {
  const { store, clock, log } = deps
  const preDispatch = createPreDispatch(deps)

  return {
    async accept(received, keys, cursor) {
      if (!deps.isOpen()) throw new HermesError('http/starting')
      const dispatched = await preDispatch(received, keys, cursor)
      if ('answer' in dispatched) return dispatched.answer
      const { event } = dispatched
      const decision = event.internal === true ? { allowed: true, reason: 'internal' } : deps.checkAccess(event)
      const { platform, account, chatId, userId } = event.source
      if (!decision.allowed) {
        log.info({ platform, chat: chatId, user: userId ?? '', reason: decision.reason }, 'message refused')
        // A stranger must not decide in which places the agent takes part, nor fill the list of those that are read again.
        await advancePast(event, cursor, advanceExistingCursor)
        emitRefused(event, decision.reason)
        return { status: 'refused', reason: decision.reason }
      }
      const payload = await serializeOrAdvance(event, cursor)
      const sessionKey = deps.sessionKeyOf(event.source)
      const lane = deps.queueKindOf(event)
      deps.failpoint('inbox:before-commit')
      const row = { sessionKey, lane, kind: event.messageType, platform, account, chatId, payload }
      const now = clock()
      const { seq, duplicate } = await store.run(function* () {
        if (cursor !== undefined) yield* advanceCursor(event.source, cursor, now)
        return yield* acceptEvent(row, keys, now)
      })
      deps.failpoint('inbox:committed')
      if (duplicate) return { status: 'duplicate', seq }
      log.info({ session: sessionKey, seq, lane }, 'message accepted')
      emitReceived(event, sessionKey)
      deps.wake(sessionKey, lane, event)
      return { status: 'accepted', seq }
    },

    change: createChangeHandler(deps, preDispatch, emitReceived),
  }

  function emitReceived(event: MessageEvent, sessionKey: SessionKey): void {
    if (event.internal === true || !deps.emitsEvents(event.source)) return
    deps.emit('message:received', { ...toMessageContext(event), session_key: sessionKey })
  }

  function emitRefused(event: MessageEvent, reason: string): void {
    if (deps.emitsEvents(event.source)) deps.emit('message:refused', { ...toMessageContext(event), reason })
  }

  /** For what is not kept: read is read, or it would be fetched after every outage. */
  async function advancePast(
    { source }: MessageEvent,
    mark: ReadCursor | undefined,
    move = advanceCursor,
  ): Promise<void> {
    if (mark !== undefined) await store.run(() => move(source, mark, clock()))
  }

  async function serializeOrAdvance(event: MessageEvent, mark: ReadCursor | undefined): Promise<string> {
    try {
      return serializeEvent(event, deps.maxMessageBytes())
    } catch (error) {
      await advancePast(event, mark)
      throw error
    }
  }
}

function toMessageContext({ source, text, messageId }: MessageEvent) {
  return {
    platform: source.platform,
    user_id: source.userId ?? '',
    chat_id: source.chatId,
    thread_id: source.threadId ?? '',
    chat_type: source.chatType,
    message_id: messageId ?? '',
    message: truncateForHooks(text),
    message_full: text,
  }
}
