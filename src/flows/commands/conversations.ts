/**
 * The commands for conversations: list and open earlier ones, take messages back, answer again, continue with a copy. Each
 * change is stored in the transaction that completes its command, so that a crash neither loses nor repeats it.
 */
import { dropSessionGrants } from '../../approvals/queries.ts'
import type { ConversationCaller, ConversationServices, RetryResult, UndoResult } from '../../commands/conversation.ts'
import type { ModelConversation } from '../../commands/model.ts'
import { acceptEvent, countQueuedEvents } from '../../inbox/queries.ts'
import { parseStoredEvent, serializeEvent } from '../../inbox/stored-event.ts'
import { brand, sessionIdAt, uuid7 } from '../../lib/ids.ts'
import { type MessageEvent, parseCommand } from '../../message/event.ts'
import type { SessionId, SessionKey } from '../../message/ids.ts'
import { ownWords } from '../../message/own-words.ts'
import type { SessionSource } from '../../message/source.ts'
import {
  branchSession,
  type Exchange,
  findKeyOfSession,
  listExchanges,
  listRecentTurns,
  listTurnInputs,
  renameSession,
  switchSession,
  turnPresence,
  withdrawFrom,
} from '../../sessions/conversation-edits.ts'
import { sessionById } from '../../sessions/session-queries.ts'
import { ensureSession, epochOptions, findSessionState } from '../../sessions/session-state.ts'
import { usageOfSession } from '../../sessions/session-usage.ts'
import { readTranscript, type TranscriptEntry } from '../../sessions/transcript.ts'
import { afterCommit, row, type Transaction, type TransactionPart } from '../../store/query.ts'
import type { VisibleSessions } from '../../store/sqlite/visible-sessions.ts'
import type { Store } from '../../store/store.ts'
import { sessionScopeOf } from '../sessions/session-scope.ts'
import type { ConversationChange, ReplacedSession, SessionServices } from '../sessions/session-services.ts'

export interface ConversationDeps {
  readonly store: Store
  readonly sessions: Pick<SessionServices, 'changeConversation' | 'sessionReplaced' | 'sessionStatus'>
  readonly visibleSessions: VisibleSessions
  /** The last messages of the current session were taken out of it. */
  sessionRewound(rewound: Pick<ReplacedSession, 'sessionKey' | 'source'> & { readonly sessionId: string }): void
  /** Whether several people write in the conversation. */
  isShared(source: SessionSource): boolean
  readonly models: { modelOf(conversation: ModelConversation): Promise<{ readonly contextLength: number }> }
  withhold(text: string): string
  readonly clock: () => number
}

/** Far more than a person lists; what is older is found by its id. */
const maxListed = 500

export function createConversationServices(deps: ConversationDeps): ConversationServices {
  const { store, clock } = deps
  return {
    async list(caller, limit, id) {
      const state = await store.run(() => findSessionState(caller.sessionKey))
      const request = { scope: sessionScopeOf(caller), limit: maxListed, id }
      const rows = await deps.visibleSessions.list(request, caller.signal)
      return rows
        .filter(({ session, text }) => text !== '' && session !== state?.session_id)
        .slice(0, limit)
        .map(({ session, at, text }) => ({ id: session, label: text, at }))
    },

    open(caller, entry, say) {
      const { sessionKey } = caller
      const refusal = function* () {
        return (yield* findKeyOfSession(entry.id)) === undefined ? undefined : say({ kind: 'in-use' })
      }
      return changeSession(deps, caller, 'resume', refusal, function* (now) {
        yield* switchSession(epochOptions(caller.source, sessionKey, entry.id, now), 'resume')
        yield* dropSessionGrants(entry.id)
        const entries = yield* readTranscript(entry.id)
        const last = entries.findLast(({ message }) => message.role !== 'tool' && message.content !== '')
        const text = say({ kind: 'opened', messages: entries.length, last: ownWords(last?.message.content ?? '') })
        return { text, newSessionId: entry.id }
      })
    },

    undo(caller, count, say) {
      return deps.sessions.changeConversation(caller.sessionKey, {
        *refusal() {
          const { first, result } = yield* planUndo(deps, caller, count)
          return first === undefined ? say(result) : undefined
        },
        *run() {
          const { first, result } = yield* planUndo(deps, caller, count)
          if (first !== undefined) {
            yield* withdrawFrom(first.sessionId, first.ord)
            yield* afterRewind(deps, caller, first.sessionId)
          }
          return say(result)
        },
      })
    },

    retry(caller, say) {
      const key = `retry:${uuid7(clock())}`
      return deps.sessions.changeConversation(caller.sessionKey, {
        *refusal() {
          const plan = yield* planRetry(deps, caller)
          return plan.kind === 'again' ? undefined : say(plan)
        },
        *run(now) {
          const plan = yield* planRetry(deps, caller)
          if (plan.kind === 'again') {
            yield* queueAgain(caller, plan, key, now)
            if (plan.from !== undefined) yield* afterRewind(deps, caller, plan.from.sessionId)
          }
          return say({ kind: plan.kind })
        },
      })
    },

    branch(caller, title, say) {
      const { sessionKey, source } = caller
      const id = sessionIdAt(clock())
      const refusal = function* () {
        const current = yield* readConversation(sessionKey)
        return current === undefined || current.entries.length === 0 ? say({ kind: 'nothing' }) : undefined
      }
      return changeSession(deps, caller, 'branch', refusal, function* (now) {
        const current = yield* readConversation(sessionKey)
        if (current === undefined) return { text: say({ kind: 'nothing' }) }
        const parent = yield* row(sessionById, { id: current.sessionId })
        const name = title !== '' || parent === undefined || parent.title === '' ? title : `${parent.title} (branch)`
        yield* branchSession(epochOptions(source, sessionKey, id, now), current.sessionId, name)
        const messages = current.entries.length
        return { text: say({ kind: 'branched', sessionId: brand<SessionId>(id), messages }), newSessionId: id }
      })
    },

    rename: (key, source, title) =>
      store.run(function* () {
        const now = clock()
        const { session_id } = yield* ensureSession(epochOptions(source, key, sessionIdAt(now), now))
        yield* renameSession(session_id, title)
      }),

    status: deps.sessions.sessionStatus,

    usage: (key) => store.run(() => readUsage(key)),

    async insights(caller, days) {
      const { authority, signal } = caller
      const isWholeGateway = authority.role === 'owner' && authority.chatType === 'dm'
      const since = clock() - days * 86_400_000
      const scope = isWholeGateway ? null : sessionScopeOf(caller)
      const stored = await deps.visibleSessions.insights({ scope, since }, signal)
      return { ...stored, isWholeGateway }
    },

    contextLength: async (conversation) => (await deps.models.modelOf(conversation)).contextLength,
    withhold: deps.withhold,
  }
}

function* readUsage(key: SessionKey) {
  const state = yield* findSessionState(key)
  return state === undefined ? undefined : yield* usageOfSession(state.session_id)
}

interface Conversation {
  readonly sessionId: string
  readonly entries: readonly TranscriptEntry[]
}

function* readConversation(key: SessionKey): Transaction<Conversation | undefined> {
  const state = yield* findSessionState(key)
  if (state === undefined) return undefined
  return { sessionId: state.session_id, entries: yield* readTranscript(state.session_id) }
}

function afterRewind(
  deps: ConversationDeps,
  { sessionKey, source }: ConversationCaller,
  sessionId: string,
): Transaction<void> {
  return afterCommit(() => deps.sessionRewound({ sessionKey, source, sessionId }))
}

/** A change after which another session may be the current one. */
function changeSession(
  deps: ConversationDeps,
  { sessionKey, source }: ConversationCaller,
  reason: ReplacedSession['reason'],
  refusal: ConversationChange['refusal'],
  change: (now: number) => Transaction<{ readonly text: string; readonly newSessionId?: string }>,
): Promise<TransactionPart<string>> {
  return deps.sessions.changeConversation(sessionKey, {
    refusal,
    *run(now) {
      const before = yield* findSessionState(sessionKey)
      const { text, newSessionId } = yield* change(now)
      const oldSessionId = before?.session_id ?? null
      if (newSessionId !== undefined)
        yield* afterCommit(() =>
          deps.sessions.sessionReplaced({ sessionKey, source, oldSessionId, newSessionId, reason }),
        )
      return text
    },
  })
}

interface UndoPlan {
  /** Where to take back from; absent when nothing can be taken back. */
  readonly first?: { readonly sessionId: string; readonly ord: number }
  readonly result: UndoResult
}

/** In a shared conversation, people take back what they wrote themselves, up to a message of another person. */
function* planUndo(
  { isShared }: Pick<ConversationDeps, 'isShared'>,
  { sessionKey, source, authority }: ConversationCaller,
  count: number,
): Transaction<UndoPlan> {
  const current = yield* readConversation(sessionKey)
  const { exchanges, followsSummary } = listExchanges(current?.entries ?? [])
  const taken: Exchange[] = []
  const others = new Set<string>()
  let keptOf: string | undefined
  for (const exchange of exchanges.slice(-count).reverse()) {
    const other = isShared(source) ? yield* findOtherAuthor(exchange, source) : undefined
    if (other !== undefined && authority.role !== 'owner') {
      keptOf = other
      break
    }
    if (other !== undefined) others.add(other)
    taken.unshift(exchange)
  }
  const [first] = taken
  const result = {
    count: taken.length,
    text: first?.text ?? '',
    usedTools: taken.some(({ usesTools }) => usesTools),
    reachesSummary: followsSummary && keptOf === undefined && taken.length < count,
    others: [...others],
    keptOf,
  }
  if (current === undefined || first === undefined) return { result }
  return { first: { sessionId: current.sessionId, ord: first.ord }, result }
}

/** The name of another author of an exchange; '' when it is not known who wrote it; undefined when `source` did. */
function* findOtherAuthor({ turnId }: Exchange, source: SessionSource): Transaction<string | undefined> {
  const inputs = turnId === null ? [] : yield* listTurnInputs(turnId)
  const events = inputs.map(({ payload }) => parseStoredEvent(payload))
  if (events.length === 0) return ''
  const other = events.find((event) => !isAuthor(event, source))
  return other === undefined ? undefined : (other.source.userName ?? other.source.userId ?? '')
}

/** False for a message whose author is not known. */
function isAuthor({ internal, source: { userId } }: MessageEvent, { userId: asking }: SessionSource): boolean {
  return internal !== true && userId !== undefined && userId !== '' && userId === asking
}

type RetryPlan =
  | Exclude<RetryResult, { kind: 'again' }>
  | {
      readonly kind: 'again'
      readonly event: Pick<MessageEvent, 'text' | 'messageType' | 'messageId' | 'busyMode'>
      /** What to take back. */
      readonly from?: { readonly sessionId: string; readonly ord: number }
    }

/** Only reads. */
function* planRetry(
  { isShared }: Pick<ConversationDeps, 'isShared'>,
  { sessionKey, source }: ConversationCaller,
): Transaction<RetryPlan> {
  if ((yield* countQueuedEvents(sessionKey)) > 0) return { kind: 'queued' }
  const current = yield* readConversation(sessionKey)
  if (current === undefined) return { kind: 'nothing' }
  const failed = yield* findFailedMessage(current)
  const { exchanges, followsSummary } = listExchanges(current.entries)
  const last = failed === undefined ? exchanges.at(-1) : undefined
  if (failed === undefined && last === undefined) return { kind: followsSummary ? 'summarised' : 'nothing' }
  const original = failed ?? (last === undefined ? undefined : yield* originalMessage(last.turnId))
  // The message runs with the rights of the person who asks, so this person must be its author.
  if (original?.internal === true || (original === undefined && isShared(source))) return { kind: 'unknown-author' }
  if (original !== undefined && (original.source.userId ?? '') !== (source.userId ?? '')) return { kind: 'not-yours' }
  if (isShared(source) && (source.userId ?? '') === '') return { kind: 'unknown-author' }
  // The event of an old message is no longer stored.
  const event = original ?? { text: last?.text ?? '', messageType: 'text' }
  return { kind: 'again', event, ...(last && { from: { sessionId: current.sessionId, ord: last.ord } }) }
}

/** Takes the last exchange back and queues its message again, as a message of the chat in which the command was typed. */
function* queueAgain(
  { sessionKey, source, authority, message }: ConversationCaller,
  { event: original, from }: Extract<RetryPlan, { kind: 'again' }>,
  eventKey: string,
  now: number,
): Transaction<void> {
  if (from !== undefined) yield* withdrawFrom(from.sessionId, from.ord)
  const { messageId: _, busyMode, ...content } = original
  const messageId = message?.event.messageId
  const event: MessageEvent = {
    allowGatewayControl: false,
    ...content,
    source,
    authority,
    timestamp: now,
    messageId,
  }
  const { platform, account, chatId } = source
  const payload = serializeEvent(event)
  const row = { sessionKey, lane: 'turn', kind: event.messageType, platform, account, chatId, payload } as const
  yield* acceptEvent(row, [eventKey], now)
}

/** The newest message, if its turn failed and left nothing in the conversation. */
function* findFailedMessage({ sessionId }: Conversation): Transaction<MessageEvent | undefined> {
  for (const { id, payload } of yield* listRecentTurns(sessionId)) {
    const event = parseStoredEvent(payload)
    if (event.compress !== undefined || parseCommand(event) !== null) continue
    const presence = yield* turnPresence(sessionId, id)
    if (presence === 'withdrawn') continue
    return presence === 'failed' || presence === 'absent' ? yield* originalMessage(id) : undefined
  }
  return undefined
}

/** The message that began a turn, with the texts of those that were steered into it; undefined when it is no longer stored. */
function* originalMessage(turnId: string | null): Transaction<MessageEvent | undefined> {
  const inputs = turnId === null ? [] : yield* listTurnInputs(turnId)
  const events = inputs.map(({ how, payload }) => ({ how, event: parseStoredEvent(payload) }))
  const head = events.find(({ how }) => how === 'head')?.event
  if (head === undefined) return undefined
  // The stored head contains what was merged into it.
  const steered = events.filter(({ how, event }) => how === 'steered' && event.source.userId === head.source.userId)
  return { ...head, text: [head.text, ...steered.map(({ event }) => event.text)].join('\n') }
}
