/**
 * What happens to messages after they were written: edits, deletions and reactions come in here.
 */
import { brand } from '../lib/brand.ts'
import { HermesError } from '../lib/errors.ts'
import type { MessageChange, ReactionChange } from '../message/change.ts'
import type { MessageEvent } from '../message/event.ts'
import type { EventKey, SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { Accepted, TurnOutcome } from '../platforms/adapter.ts'
import { applyDeletion, applyEdit, rowNamed } from './change-rows.ts'
import type { InboxDeps } from './inbox.ts'
import { acceptEvent, finishEvent } from './queries.ts'
import { reactionEvent } from './reaction.ts'
import type { Screen } from './screening.ts'
import { packEvent, storedEvent } from './stored-event.ts'

type Keys = readonly [EventKey, ...EventKey[]]

/**
 * Decides access as for messages, and does what the account's setting `edits` says. A change of a message that was never
 * taken in (it was not addressed to the agent, or is too old) is `refused`: nothing of it is kept.
 * Throws `http/starting`, `inbox/too-large` or `store/…`, as `accept` does.
 */
export function createChanges(
  deps: InboxDeps,
  screen: Screen,
  /** A message has been taken in. */
  tellReceived: (event: MessageEvent, sessionKey: SessionKey) => void,
): (change: MessageChange, keys: Keys) => Promise<Accepted> {
  const { store, clock, log } = deps

  return async (change, keys) => {
    if (!deps.open()) throw new HermesError('http/starting')
    const verdict = deps.access({ source: await whoChanges(change) })
    if (!verdict.allowed) {
      const { platform, chatId, userId } = sourceOf(change)
      const who = { platform, chat: chatId, user: userId ?? '' }
      log.debug({ ...who, change: change.kind, reason: verdict.reason }, 'change of a message refused')
      return { status: 'refused', reason: verdict.reason }
    }
    const accepted = await takeIn(change, keys)
    if (accepted.status === 'accepted') deps.plugins?.changed(change, deps.sessionKey(sourceOf(change)))
    return accepted
  }

  async function takeIn(change: MessageChange, keys: Keys): Promise<Accepted> {
    switch (change.kind) {
      case 'edited':
        return await edited(change.of, change.event, keys)
      case 'deleted':
        return await deleted(change.of, keys)
      case 'reaction':
        return await reacted(change, keys)
    }
  }

  /** Platforms seldom say who deleted a message; then it counts as its author's doing. */
  async function whoChanges(change: MessageChange): Promise<SessionSource> {
    if (change.kind !== 'deleted' || change.source.userId !== undefined) return sourceOf(change)
    const found = await store.run(() => rowNamed(change.of))
    return found === undefined ? change.source : storedEvent(found.payload).source
  }

  async function edited(of: EventKey, now: MessageEvent, keys: Keys): Promise<Accepted> {
    // Whoever keeps words out keeps them out of edits, too.
    const screened = await screen(now, keys)
    if ('answer' in screened) return screened.answer
    const { event } = screened
    const edit = {
      of,
      keys,
      event,
      lane: deps.laneOf(event),
      manner: deps.edits(event.source),
      outcome: notAnswered,
      pack: (now: MessageEvent) => packEvent(now, deps.maxMessageBytes()),
    }
    const result = await store.run(() => applyEdit(edit, clock()))
    if (result.kind === 'unknown') return notTaken
    if (result.kind === 'duplicate') return { status: 'duplicate', seq: result.seq }
    log.info({ seq: result.seq, how: result.kind }, 'message edited')
    if (result.kind === 'appended') {
      if (result.withdrawn !== undefined) deps.settled(result.withdrawn, notAnswered)
      const sessionKey = brand<SessionKey>(result.sessionKey)
      tellReceived(event, sessionKey)
      deps.wake(sessionKey, result.lane)
    }
    return { status: 'accepted', seq: result.seq }
  }

  async function deleted(of: EventKey, keys: Keys): Promise<Accepted> {
    const result = await store.run(() => applyDeletion({ of, keys, outcome: notAnswered }, clock()))
    if (result.kind === 'unknown') return notTaken
    if (result.kind === 'duplicate') return { status: 'duplicate', seq: result.seq }
    log.info({ seq: result.seq, how: result.kind }, 'message deleted')
    if (result.kind === 'withdrawn') deps.settled(result.seq, notAnswered)
    return { status: 'accepted', seq: result.seq }
  }

  /** Nothing is to be done about a reaction but to tell of it, once. */
  async function reacted(change: ReactionChange, keys: Keys): Promise<Accepted> {
    const { source, reaction, messageId, timestamp } = change
    const event: MessageEvent = { source, text: reaction, messageType: 'text', messageId, timestamp }
    const row = {
      sessionKey: deps.sessionKey(source),
      lane: 'control',
      kind: 'reaction',
      platform: source.platform,
      account: source.account,
      chatId: source.chatId,
      payload: packEvent(event, deps.maxMessageBytes()),
    } as const
    const now = clock()
    const { seq, duplicate } = await store.run(function* () {
      const stored = yield* acceptEvent(row, keys, now)
      if (!stored.duplicate) yield* finishEvent(stored.seq, notAnswered)
      return stored
    })
    if (duplicate) return { status: 'duplicate', seq }
    if (deps.watched(source)) deps.emit(change.added ? 'reaction:added' : 'reaction:removed', reactionEvent(change))
    return { status: 'accepted', seq }
  }
}

function sourceOf(change: MessageChange): SessionSource {
  return change.kind === 'edited' ? change.event.source : change.source
}

const notTaken: Accepted = { status: 'refused', reason: 'the message it changes was never taken in' }

const notAnswered: TurnOutcome = {
  status: 'stopped',
  text: '',
  sessionId: '',
  model: '',
  usage: { inputTokens: 0, outputTokens: 0 },
}
