/**
 * The commands for conversations: list and open earlier ones, take messages back, answer again, continue with a copy. Each
 * change is stored in the transaction that completes its command, so that a crash neither loses nor repeats it.
 */
import { dropSessionGrants } from '../approvals/queries.ts'
import type { CommandReply } from '../commands/command.ts'
import type { ConversationCaller, ConversationServices, RetryResult } from '../commands/conversation.ts'
import { textReply } from '../commands/reply.ts'
import { acceptEvent, countQueuedEvents } from '../inbox/queries.ts'
import { parseStoredEvent, serializeEvent } from '../inbox/stored-event.ts'
import { brand, sessionIdAt, uuid7 } from '../lib/ids.ts'
import { type MessageEvent, parseCommand } from '../message/event.ts'
import type { SessionId, SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import {
  branchSession,
  findKeyOfSession,
  latestUsage,
  listExchanges,
  listRecentTurns,
  listTurnInputs,
  renameSession,
  switchSession,
  turnPresence,
  withdrawFrom,
} from '../sessions/conversation-edits.ts'
import { countMessages, sessionById } from '../sessions/session-queries.ts'
import { type EpochOptions, findSessionState } from '../sessions/session-state.ts'
import { readTranscript, type TranscriptEntry } from '../sessions/transcript.ts'
import { row, type Transaction } from '../store/query.ts'
import { readVisibleInsights, readVisibleSessions } from '../store/sqlite/visible-sessions.ts'
import type { Store } from '../store/store.ts'
import { sessionScopeOf } from './session-scope.ts'
import type { ReplacedSession, SessionServices } from './session-services.ts'

export interface ConversationDeps {
  readonly store: Store
  /** The path of the database, for reads in another thread. */
  readonly database: string
  readonly changeConversation: SessionServices['changeConversation']
  /** Notifies hooks and plugins once another session is the current one. */
  sessionReplaced(replaced: ReplacedSession): void
  contextLength(): number
  readonly clock: () => number
}

/** Far more than a person lists; what is older is found by its id or title on the command line. */
const maxListed = 500

export function createConversationServices(deps: ConversationDeps): ConversationServices {
  const { store, clock } = deps
  return {
    async list(caller, limit) {
      const state = await store.run(() => findSessionState(caller.sessionKey))
      const rows = await readVisibleSessions(
        { database: deps.database, scope: sessionScopeOf(caller), limit: maxListed },
        caller.signal,
      )
      return rows
        .filter(({ session, text }) => text !== '' && session !== state?.session_id)
        .slice(0, limit)
        .map(({ session, at, text }) => ({ id: session, label: text, at }))
    },

    open(caller, entry, say) {
      const { sessionKey } = caller
      return changeSession(deps, caller, 'resume', function* (now) {
        const owner = yield* findKeyOfSession(entry.id)
        if (owner !== undefined) return { text: say({ kind: 'in-use' }) }
        yield* switchSession(epochOptions(caller.source, sessionKey, entry.id, now), 'resume')
        yield* dropSessionGrants(entry.id)
        const entries = yield* readTranscript(entry.id)
        const last = entries.findLast(({ message }) => message.role !== 'tool' && message.content !== '')
        const text = say({ kind: 'opened', messages: entries.length, last: last?.message.content ?? '' })
        return { text, newSessionId: entry.id }
      })
    },

    undo({ sessionKey }, count, say) {
      return deps.changeConversation(sessionKey, function* () {
        const current = yield* readConversation(sessionKey)
        const { exchanges, followsSummary } = listExchanges(current?.entries ?? [])
        const taken = exchanges.slice(-count)
        const [first] = taken
        if (current !== undefined && first !== undefined) yield* withdrawFrom(current.sessionId, first.ord)
        return say({
          count: taken.length,
          text: first?.text ?? '',
          usedTools: taken.some(({ usesTools }) => usesTools),
          reachesSummary: followsSummary && taken.length < count,
        })
      })
    },

    async retry({ sessionKey, source }, say) {
      const key = `retry:${uuid7(clock())}`
      // Stopping the running turn for nothing would lose it.
      if ((await store.run(() => countQueuedEvents(sessionKey))) > 0) return textReply(say({ kind: 'queued' }))
      return deps.changeConversation(sessionKey, function* (now) {
        return say(yield* retryLastMessage(sessionKey, source, key, now))
      })
    },

    branch(caller, title, say) {
      const { sessionKey, source } = caller
      const id = sessionIdAt(clock())
      return changeSession(deps, caller, 'branch', function* (now) {
        const current = yield* readConversation(sessionKey)
        if (current === undefined || current.entries.length === 0) return { text: say({ kind: 'nothing' }) }
        const parent = yield* row(sessionById, { id: current.sessionId })
        const name = title !== '' || parent === undefined || parent.title === '' ? title : `${parent.title} (branch)`
        yield* branchSession(epochOptions(source, sessionKey, id, now), current.sessionId, name)
        const messages = current.entries.length
        return { text: say({ kind: 'branched', sessionId: brand<SessionId>(id), messages }), newSessionId: id }
      })
    },

    rename: (key, title) =>
      store.run(function* () {
        const state = yield* findSessionState(key)
        if (state === undefined) return false
        yield* renameSession(state.session_id, title)
        return true
      }),

    usage: (key) => store.run(() => readUsage(deps, key)),

    async insights(caller, days) {
      const { authority, signal } = caller
      const isWholeGateway = authority.role === 'owner' && authority.chatType === 'dm'
      const since = clock() - days * 86_400_000
      const scope = isWholeGateway ? null : sessionScopeOf(caller)
      const found = await readVisibleInsights({ database: deps.database, scope, since }, signal)
      return { ...found, isWholeGateway }
    },
  }
}

function* readUsage({ contextLength }: ConversationDeps, key: SessionKey) {
  const state = yield* findSessionState(key)
  const session = state === undefined ? undefined : yield* row(sessionById, { id: state.session_id })
  if (session === undefined) return undefined
  const stored = yield* latestUsage(session.id)
  const latest: { inputTokens: number; outputTokens: number; cachedInputTokens: number } | undefined =
    stored === undefined ? undefined : JSON.parse(stored)
  return {
    inputTokens: session.input_tokens,
    outputTokens: session.output_tokens,
    messages: (yield* row(countMessages, { session_id: session.id }))?.count ?? 0,
    contextTokens: latest === undefined ? undefined : latest.inputTokens + latest.outputTokens,
    cachedTokens: latest?.cachedInputTokens ?? 0,
    contextLength: contextLength(),
    startedAt: session.created_at,
  }
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

/** A change after which another session may be the current one. */
async function changeSession(
  deps: ConversationDeps,
  { sessionKey, source }: ConversationCaller,
  reason: ReplacedSession['reason'],
  change: (now: number) => Transaction<{ readonly text: string; readonly newSessionId?: string }>,
): Promise<CommandReply> {
  let replaced: ReplacedSession | undefined
  const reply = await deps.changeConversation(sessionKey, function* (now) {
    const before = yield* findSessionState(sessionKey)
    const { text, newSessionId } = yield* change(now)
    const oldSessionId = before?.session_id ?? null
    replaced = newSessionId === undefined ? undefined : { sessionKey, source, oldSessionId, newSessionId, reason }
    return text
  })
  return {
    write: reply.write,
    committed() {
      if (replaced !== undefined) deps.sessionReplaced(replaced)
      reply.committed()
    },
    abandoned: reply.abandoned,
  }
}

function epochOptions(source: SessionSource, key: SessionKey, newSessionId: string, now: number): EpochOptions {
  const { platform, userId = '' } = source
  return { key, source: JSON.stringify(source), platform, userId, newSessionId, now }
}

/** Takes the last exchange back and queues its message again. Changes nothing unless it returns `again`. */
function* retryLastMessage(
  key: SessionKey,
  source: SessionSource,
  eventKey: string,
  now: number,
): Transaction<RetryResult> {
  if ((yield* countQueuedEvents(key)) > 0) return { kind: 'queued' }
  const current = yield* readConversation(key)
  if (current === undefined) return { kind: 'nothing' }
  const failed = yield* findFailedMessage(current)
  const { exchanges, followsSummary } = listExchanges(current.entries)
  const last = failed === undefined ? exchanges.at(-1) : undefined
  if (failed === undefined && last === undefined) return { kind: followsSummary ? 'summarised' : 'nothing' }
  const original = failed ?? (last === undefined ? undefined : yield* originalMessage(last.turnId)) ?? undefined
  // The event of an old message is no longer stored.
  const event = original ?? textMessage(source, last?.text ?? '', now)
  // The message runs again with the rights of its author.
  if ((event.source.userId ?? '') !== (source.userId ?? '')) return { kind: 'not-yours' }
  if (last !== undefined) yield* withdrawFrom(current.sessionId, last.ord)
  const { platform, account, chatId } = event.source
  const payload = serializeEvent({ ...event, timestamp: now }, Number.POSITIVE_INFINITY)
  const row = { sessionKey: key, lane: 'turn', kind: event.messageType, platform, account, chatId, payload } as const
  yield* acceptEvent(row, [eventKey], now)
  return { kind: 'again' }
}

/** The newest message, if its turn failed and left nothing in the conversation. */
function* findFailedMessage({ sessionId }: Conversation): Transaction<MessageEvent | undefined> {
  for (const { id, payload } of yield* listRecentTurns(sessionId)) {
    const event = parseStoredEvent(payload)
    if (event.compress !== undefined || parseCommand(event) !== null) continue
    const presence = yield* turnPresence(sessionId, id)
    if (presence === 'withdrawn') continue
    return presence === 'failed' || presence === 'absent' ? event : undefined
  }
  return undefined
}

/** The message that began a turn, with the texts of those that joined it; undefined when it is no longer stored. */
function* originalMessage(turnId: string | null): Transaction<MessageEvent | undefined> {
  const inputs = turnId === null ? [] : yield* listTurnInputs(turnId)
  const events = inputs.map(({ how, payload }) => ({ how, event: parseStoredEvent(payload) }))
  const head = events.find(({ how }) => how === 'head')?.event
  if (head === undefined) return undefined
  // The stored head contains what was merged into it.
  const steered = events.filter(({ how, event }) => how === 'steered' && event.source.userId === head.source.userId)
  return { ...head, text: [head.text, ...steered.map(({ event }) => event.text)].join('\n') }
}

function textMessage(source: SessionSource, text: string, timestamp: number): MessageEvent {
  return { source, text, messageType: 'text', timestamp, allowGatewayControl: false }
}
