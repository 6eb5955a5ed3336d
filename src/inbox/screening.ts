/**
 * Plugins see a message before anybody has asked whether its writer may write (contract §2.6, `pre_gateway_dispatch`).
 * What they decide holds: a message that is fetched once more is not asked about once more.
 */
import type { MessageChange } from '../message/change.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Accepted, ReadMark } from '../platforms/adapter.ts'
import type { UseCase } from '../store/query.ts'
import type { InboxDeps } from './inbox.ts'
import { moveKnownMark } from './marks.ts'
import { acceptEvent, addNames, finishEvent, kindOfEvent, seqNamed } from './queries.ts'
import { packEvent } from './stored-event.ts'

export interface DoorPlugins {
  /** Whether anybody wants to see messages. */
  screens(): boolean
  /** What becomes of a message. Never rejects, takes a bounded time. */
  screen(
    event: MessageEvent,
    sessionKey: SessionKey,
  ): Promise<
    { readonly kind: 'pass'; readonly event: MessageEvent } | { readonly kind: 'skip'; readonly reason: string }
  >
  /** A change was taken in. Returns at once. */
  changed(change: MessageChange, sessionKey: SessionKey): void
}

/** The event as it goes on, or what its platform is told. Rejects `store/…`. */
export type Screen = (
  event: MessageEvent,
  keys: readonly string[],
  mark?: ReadMark,
) => Promise<{ readonly event: MessageEvent } | { readonly answer: Accepted }>

/** The kind of rows that remember what was skipped; nothing of the message is in them. */
const skipped = 'skipped'

export function createScreening(deps: InboxDeps): Screen {
  const { store, clock, log, plugins } = deps

  function* known(keys: readonly string[]): UseCase<{ seq: number; isSkipped: boolean } | undefined> {
    const seq = yield* seqNamed(keys)
    if (seq === undefined) return undefined
    const isSkipped = (yield* kindOfEvent(seq)) === skipped
    if (isSkipped) yield* addNames(keys, seq)
    return { seq, isSkipped }
  }

  /** For the platform it is read; nobody else hears of it. */
  async function skip(
    { source, messageId, timestamp }: MessageEvent,
    sessionKey: SessionKey,
    keys: readonly string[],
    mark: ReadMark | undefined,
  ): Promise<void> {
    const { platform, account, chatId } = source
    const name = messageId === undefined ? {} : { messageId }
    const trace: MessageEvent = { source, text: '', messageType: 'text', timestamp, ...name }
    const payload = packEvent(trace, deps.maxMessageBytes())
    const row = { sessionKey, lane: 'control', kind: skipped, platform, account, chatId, payload } as const
    const now = clock()
    await store.run(function* () {
      // A stranger must not decide in which places the agent takes part.
      if (mark !== undefined) yield* moveKnownMark(source, mark, now)
      const { seq, duplicate } = yield* acceptEvent(row, keys, now)
      if (!duplicate) yield* finishEvent(seq, notAnswered)
    })
  }

  return async (event, keys, mark) => {
    if (plugins === undefined || event.internal === true || !plugins.screens()) return { event }
    const earlier = await store.run(() => known(keys))
    // What was taken in is recognised further on, with its mark.
    if (earlier !== undefined)
      return earlier.isSkipped ? { answer: { status: 'duplicate', seq: earlier.seq } } : { event }
    const sessionKey = deps.sessionKey(event.source)
    const decided = await plugins.screen(event, sessionKey)
    if (decided.kind === 'pass') return { event: decided.event }
    const { platform, chatId: chat } = event.source
    log.info({ platform, chat, reason: decided.reason }, 'message skipped by a plugin')
    await skip(event, sessionKey, keys, mark)
    return { answer: { status: 'refused', reason: decided.reason } }
  }
}

const notAnswered = {
  status: 'stopped',
  text: '',
  sessionId: '',
  model: '',
  usage: { inputTokens: 0, outputTokens: 0 },
} as const
