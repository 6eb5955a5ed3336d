/**
 * Accepts changes of messages: edits, deletions and reactions.
 */

import { HermesError } from '../lib/errors.ts'
import { brand } from '../lib/ids.ts'
import type { AcceptResult } from '../message/accept-result.ts'
import type { MessageChange, ReactionChange } from '../message/change.ts'
import type { MessageEvent } from '../message/event.ts'
import type { HookEvents } from '../message/hook-events.ts'
import type { EventKey, SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import { applyDeletion, applyEdit, findRowByKey } from './apply-change.ts'
import type { InboxDeps } from './deps.ts'
import type { PreDispatch } from './pre-dispatch.ts'
import { acceptEvent, finishEvent, resultWithoutModel } from './queries.ts'
import { mayStore, parseStoredEvent, queueKindOf, serializeEvent, withAuthority } from './stored-event.ts'

type Keys = readonly [EventKey, ...EventKey[]]

/**
 * Checks access as for messages, and follows the account's setting `edits`. The change of a message that was never accepted
 * (it was not addressed to the agent, or is too old) is `refused`, and nothing of it is stored.
 * Throws `http/starting`, `inbox/too-large` or `store/...`, as `accept` does.
 */
export function createChangeHandler(
  deps: InboxDeps,
  preDispatch: PreDispatch | undefined,
  /** Publishes that a message was accepted. */
  emitReceived: (event: MessageEvent, sessionKey: SessionKey) => void,
): (change: MessageChange, keys: Keys) => Promise<AcceptResult> {
  const { store, clock, log } = deps

  return async (change, keys) => {
    if (!mayStore({ source: sourceOf(change) }, deps)) throw new HermesError('http/starting')
    const decision = deps.accounts.access({ source: await findAuthor(change) })
    if (!decision.allowed) {
      const { platform, chatId, userId } = sourceOf(change)
      log.debug(
        {
          event: 'inbox.change_refused',
          platform,
          chat: chatId,
          user: userId ?? '',
          change: change.kind,
          reason: decision.reason,
        },
        'change of a message refused',
      )
      return { status: 'refused', reason: decision.reason }
    }
    const accepted = await applyChange(change, keys)
    if (accepted.status === 'accepted')
      deps.preDispatchHooks?.messageChanged(change, deps.accounts.sessionKey(sourceOf(change)))
    return accepted
  }

  async function applyChange(change: MessageChange, keys: Keys): Promise<AcceptResult> {
    switch (change.kind) {
      case 'edited':
        return await edited(change.of, change.event, keys)
      case 'deleted':
        return await deleted(change.of, keys)
      case 'reaction':
        return await reacted(change, keys)
    }
  }

  /** Few platforms say who deleted a message. Otherwise the author of the message is checked. */
  async function findAuthor(change: MessageChange): Promise<SessionSource> {
    if (change.kind !== 'deleted' || change.source.userId !== undefined) return sourceOf(change)
    const row = await store.run(() => findRowByKey(change.of))
    return row === undefined ? change.source : parseStoredEvent(row.payload).source
  }

  async function edited(targetKey: EventKey, received: MessageEvent, keys: Keys): Promise<AcceptResult> {
    // A plugin that skips or rewrites messages sees their edits, too.
    const dispatched = await preDispatch?.(received, keys)
    if (dispatched !== undefined && 'result' in dispatched) return dispatched.result
    const event = await withAuthority(deps.accounts, dispatched?.event ?? received)
    const edit = {
      targetKey,
      keys,
      event,
      lane: queueKindOf(event, deps),
      policy: deps.accounts.editPolicyOf(event.source),
      withdrawnResult: notAnsweredResult,
      serialize: (amended: MessageEvent) => serializeEvent(amended, deps.settings().inbox),
    }
    const result = await store.run(() => applyEdit(edit, clock()))
    if (result.kind === 'unknown') return unknownMessage
    if (result.kind === 'duplicate') return { status: 'duplicate', seq: result.seq }
    log.info({ event: 'inbox.edited', seq: result.seq, result: result.kind }, 'message edited')
    if (result.kind === 'appended') {
      if (result.withdrawn !== undefined) deps.onWithdrawn(result.withdrawn, notAnsweredResult)
      const sessionKey = brand<SessionKey>(result.sessionKey)
      emitReceived(event, sessionKey)
      deps.engine.wake(sessionKey, result.lane)
    }
    return { status: 'accepted', seq: result.seq }
  }

  async function deleted(targetKey: EventKey, keys: Keys): Promise<AcceptResult> {
    const result = await store.run(() =>
      applyDeletion({ targetKey, keys, withdrawnResult: notAnsweredResult }, clock()),
    )
    if (result.kind === 'unknown') return unknownMessage
    if (result.kind === 'duplicate') return { status: 'duplicate', seq: result.seq }
    log.info({ event: 'inbox.deleted', seq: result.seq, result: result.kind }, 'message deleted')
    if (result.kind === 'withdrawn') deps.onWithdrawn(result.seq, notAnsweredResult)
    if (result.kind === 'waiting') await deps.stopEvent(result.seq)
    return { status: 'accepted', seq: result.seq }
  }

  /** A reaction has no effect beyond its gateway event, which is emitted once. */
  async function reacted(change: ReactionChange, keys: Keys): Promise<AcceptResult> {
    const { source, reaction, messageId, timestamp } = change
    const event: MessageEvent = { source, text: reaction, messageType: 'text', messageId, timestamp }
    const row = {
      sessionKey: deps.accounts.sessionKey(source),
      lane: 'control',
      kind: 'reaction',
      platform: source.platform,
      account: source.account,
      chatId: source.chatId,
      payload: serializeEvent(event, deps.settings().inbox),
    } as const
    const now = clock()
    const { seq, duplicate } = await store.run(function* () {
      const stored = yield* acceptEvent(row, keys, now)
      if (!stored.duplicate) yield* finishEvent(stored.seq, notAnsweredResult)
      return stored
    })
    if (duplicate) return { status: 'duplicate', seq }
    if (deps.emitsMessageEvents(source))
      deps.emit(change.added ? 'reaction:added' : 'reaction:removed', toReactionEvent(change))
    return { status: 'accepted', seq }
  }
}

function sourceOf(change: MessageChange): SessionSource {
  return change.kind === 'edited' ? change.event.source : change.source
}

const unknownMessage: AcceptResult = { status: 'refused', reason: 'the changed message was never accepted' }

const notAnsweredResult = resultWithoutModel('stopped')

/** The contract (§1.4) fixes the keys. */
function toReactionEvent(change: ReactionChange): HookEvents['reaction:added'] {
  const { source, reaction, itemUserId, messageId, timestamp, raw } = change
  return {
    platform: source.platform,
    reaction,
    user_id: source.userId ?? '',
    item_user_id: itemUserId ?? '',
    item_type: 'message',
    channel_id: source.chatId,
    message_ts: messageId,
    team_id: source.scopeId ?? '',
    event_ts: (timestamp / 1_000).toFixed(6),
    raw_event: raw,
  }
}
