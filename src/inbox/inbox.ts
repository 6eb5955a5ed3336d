/**
 * The door: an event is refused, known already, or on disk. Only after that may its platform be told "got it".
 */
import { HermesError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { MessageChange } from '../message/change.ts'
import type { MessageEvent } from '../message/event.ts'
import { cutForHooks, type EventListener } from '../message/hook-events.ts'
import type { EventKey, SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { Accepted, ReadMark, TurnOutcome } from '../platforms/adapter.ts'
import type { Store } from '../store/store.ts'
import { createChanges } from './changes.ts'
import { moveKnownMark, moveMark } from './marks.ts'
import { acceptEvent } from './queries.ts'
import { createScreening, type DoorPlugins } from './screening.ts'
import { packEvent } from './stored-event.ts'

export type Lane = 'turn' | 'control'

export interface InboxDeps {
  readonly store: Store
  readonly clock: () => number
  readonly log: Logger
  readonly maxMessageBytes: () => number
  /** False while the daemon starts or stops: nothing is taken in then, and platforms deliver again later. */
  open(): boolean
  /** Whether this person may talk to the agent here (contract §3.10). */
  access(event: Pick<MessageEvent, 'source' | 'internal'>): { readonly allowed: boolean; readonly reason: string }
  /** What an edit does on the account of this source. */
  edits(source: SessionSource): 'ignore' | 'amend' | 'rerun'
  sessionKey(source: SessionSource): SessionKey
  /** `control` for commands that act at once, `turn` for everything that waits its place. */
  laneOf(event: MessageEvent): Lane
  /** Told after the event is on disk. */
  wake(key: SessionKey, lane: Lane, event?: MessageEvent): void
  /** Told after it is on disk that an event which waited will not be worked on. */
  settled(seq: number, outcome: TurnOutcome): void
  readonly emit: EventListener
  /** Whether what happens there is a gateway event. */
  watched(source: SessionSource): boolean
  /** Who sees messages before anybody else; undefined where there are no plugins. */
  readonly plugins?: DoorPlugins
  /** Named points for crash tests; does nothing in production. */
  probe(point: string): void
}

export interface Inbox {
  /**
   * Never keeps half an event. Throws `inbox/too-large` or `store/…`: then the platform must not be acknowledged.
   * A mark moves with the event, also where it is known already, refused or too large: it will not be fetched again.
   * What is refused begins none.
   */
  accept(event: MessageEvent, keys: readonly [EventKey, ...EventKey[]], mark?: ReadMark): Promise<Accepted>
  /**
   * What happened to an earlier message. Of a message that was never taken in (it was not addressed to the agent, or is
   * too old) nothing is kept: `refused`. Throws as `accept`.
   */
  change(change: MessageChange, keys: readonly [EventKey, ...EventKey[]]): Promise<Accepted>
}

export function createInbox(deps: InboxDeps): Inbox {
  const { store, clock, log } = deps
  const screen = createScreening(deps)

  return {
    async accept(arrived, keys, mark) {
      if (!deps.open()) throw new HermesError('http/starting')
      const screened = await screen(arrived, keys, mark)
      if ('answer' in screened) return screened.answer
      const { event } = screened
      const verdict = event.internal === true ? { allowed: true, reason: 'internal' } : deps.access(event)
      const { platform, account, chatId, userId } = event.source
      if (!verdict.allowed) {
        log.info({ platform, chat: chatId, user: userId ?? '', reason: verdict.reason }, 'message refused')
        // A stranger must not decide in which places the agent takes part, nor fill the list of those that are read again.
        await moveOn(event, mark, moveKnownMark)
        tellRefused(event, verdict.reason)
        return { status: 'refused', reason: verdict.reason }
      }
      const payload = await packed(event, mark)
      const sessionKey = deps.sessionKey(event.source)
      const lane = deps.laneOf(event)
      deps.probe('inbox:before-commit')
      const row = { sessionKey, lane, kind: event.messageType, platform, account, chatId, payload }
      const now = clock()
      const { seq, duplicate } = await store.run(function* () {
        if (mark !== undefined) yield* moveMark(event.source, mark, now)
        return yield* acceptEvent(row, keys, now)
      })
      deps.probe('inbox:committed')
      if (duplicate) return { status: 'duplicate', seq }
      log.info({ session: sessionKey, seq, lane }, 'message accepted')
      tellReceived(event, sessionKey)
      deps.wake(sessionKey, lane, event)
      return { status: 'accepted', seq }
    },

    change: createChanges(deps, screen, tellReceived),
  }

  function tellReceived(event: MessageEvent, sessionKey: SessionKey): void {
    if (event.internal === true || !deps.watched(event.source)) return
    deps.emit('message:received', { ...messageContext(event), session_key: sessionKey })
  }

  function tellRefused(event: MessageEvent, reason: string): void {
    if (deps.watched(event.source)) deps.emit('message:refused', { ...messageContext(event), reason })
  }

  /** For what is not kept: read is read, or it would be fetched after every outage. */
  async function moveOn({ source }: MessageEvent, mark: ReadMark | undefined, move = moveMark): Promise<void> {
    if (mark !== undefined) await store.run(() => move(source, mark, clock()))
  }

  async function packed(event: MessageEvent, mark: ReadMark | undefined): Promise<string> {
    try {
      return packEvent(event, deps.maxMessageBytes())
    } catch (error) {
      await moveOn(event, mark)
      throw error
    }
  }
}

function messageContext({ source, text, messageId }: MessageEvent) {
  return {
    platform: source.platform,
    user_id: source.userId ?? '',
    chat_id: source.chatId,
    thread_id: source.threadId ?? '',
    chat_type: source.chatType,
    message_id: messageId ?? '',
    message: cutForHooks(text),
    message_full: text,
  }
}
