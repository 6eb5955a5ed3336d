/**
 * The durable side of a turn: what is on disk at each of its steps (design, "Durability"). Each method is one transaction,
 * composed of the queries of the modules that own the tables.
 */
import type { Journal, ToolCallLine } from '../../agent/loop/journal.ts'
import { hashToolCall } from '../../agent/loop/tool-batch.ts'
import { attachFiles, attachSkills } from '../../inbox/apply-change.ts'
import { continueAttempt, endPreparation, pauseAttempt, recordProgress } from '../../inbox/attempts.ts'
import { finishEventsOfTurn, markEventDead } from '../../inbox/queries.ts'
import { isHermesError } from '../../lib/errors.ts'
import { sessionIdAt, uuid7 } from '../../lib/ids.ts'
import { toShortLine } from '../../lib/redact.ts'
import type { Attachment } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import {
  type AssistantMessage,
  addUsage,
  type ChatMessage,
  type ToolCall,
  type ToolMessage,
  type Usage,
} from '../../message/transcript.ts'
import type { TurnResult } from '../../message/turn-result.ts'
import type { SessionsConfig } from '../../sessions/config.ts'
import type { SteeredMessages } from '../../sessions/running-turns.ts'
import { addSessionUsage, checkFence, revokeEpoch } from '../../sessions/session-state.ts'
import {
  appendMessage,
  type FrozenPrompt,
  freezePrompt,
  nextOrdinal,
  readTranscript,
  supersedeTurn,
  type TranscriptEntry,
  usageOfTurn,
} from '../../sessions/transcript.ts'
import type { Turn } from '../../sessions/turn.ts'
import {
  endOutage,
  endToolCall,
  endTurn,
  type FinalTurnState,
  startToolCall,
  storeLateResult,
  wasEffectStarted,
} from '../../sessions/turns.ts'
import { afterCommit, combine, enlist, type Transaction, type TransactionPart } from '../../store/query.ts'
import type { Retry, Store } from '../../store/store.ts'
import type { ResetIfDue } from './automatic-reset.ts'
import { type Claim, type ClaimRules, claimNextTurn, type MergeFollowing } from './claim.ts'
import type { Steered } from './steer.ts'

export interface TurnJournalDeps extends ClaimRules {
  readonly store: Store
  readonly clock: () => number
  /** Called when a turn with failed attempts has stored its first progress. */
  onProgress(key: SessionKey): void
  /** Whether the attempt of the running turn of a session is paused, because the turn waits. */
  isPaused?(key: SessionKey): boolean
  /** Ends a message for which `isRevoked` is true. Rejects `store/...`. */
  endRevoked?(key: SessionKey, seq: number): Promise<void>
  /** A voice message is to be steered into a running turn, and is not transcribed yet. Must not throw. */
  prepareSteered?(turn: Turn, message: Steered['unprepared'][number]): void
  /** Ends sessions by themselves. `open` is for one claim, and called only when the settings end sessions. */
  readonly reset?: { settings(): SessionsConfig; open(): Promise<ResetIfDue> }
  /** Takes secrets out of a text that people read. */
  withhold?(text: string): string
  /** Takes known secrets, and what looks like one, out of a text. */
  redact?(text: string): string
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint?: ((point: string) => void) | undefined
}

export interface TurnJournal {
  /** Claims the interrupted turn, or else the oldest message of the queue; null when there is none. */
  claim(key: SessionKey): Promise<Claim | null>
  /**
   * Stores the paths, the failures or the transcripts of attachments, with what the chat is told about them. A message that no longer
   * waits is left unchanged.
   */
  storeAttachments(seq: number, files: readonly Attachment[], notice?: TransactionPart): Promise<void>
  /** Stores like `storeAttachments`, for a message whose attempt has not begun. */
  storeEarly(seq: number, files: readonly Attachment[], notice?: TransactionPart): Promise<void>
  /** Stores the skills that a message names; '' for none. A message that no longer waits is left unchanged. */
  storeSkills(seq: number, skills: string): Promise<void>
  /** What the agent loop writes while it works. */
  journalOf(turn: Turn, prepareInterim?: PrepareInterim): TurnWrites
  /** Ends the attempt of a turn that goes on when the agent does. Rejects `store/fenced` when superseded. */
  pause(turn: Turn): Promise<void>
  /**
   * Ends the turn: transcript, outbox rows and inbox in one transaction. Rejects `store/fenced` when superseded.
   * @param reply written last
   */
  finish(turn: Turn, completion: TurnCompletion, reply?: TransactionPart, retry?: Retry): Promise<FinishedTurn>
}

export interface TurnWrites extends Journal {
  readonly nextOrd: () => number
  /** The next response, or the end of the turn, is stored together with this prompt of a new session. */
  freezePrompt(prompt: FrozenPrompt): void
  /** Writes the prompt that no response has taken along. */
  writePrompt(): Transaction<void>
  /** Stores that prompt at once. Rejects `store/...`, also `store/fenced` when superseded. */
  storePrompt(): Promise<void>
  /** Takes the waiting messages that are to be steered into the turn. Rejects `store/fenced` when superseded. */
  takeSteered(): Promise<SteeredMessages<ChatMessage>>
}

export interface FinishedTurn {
  readonly result: TurnResult
  /** The events that ended with the turn. */
  readonly seqs: readonly number[]
}

/**
 * Prepares the text of a response with tool calls as a message of its own, which is stored together with the response.
 * Resolves with null when the text is not shown. `ord` is the ordinal of the response.
 */
export type PrepareInterim = (text: string, ord: number) => Promise<TransactionPart | null>

export interface TurnCompletion extends FinalTurnState {
  readonly text: string
  /** The last message of the model; absent when there was none. */
  readonly message?: AssistantMessage
  /** The ordinal of the last message of a turn that is done. */
  readonly ord: number
  /** Usage of the last message only: earlier messages of the turn are in the transcript with theirs. */
  readonly usage: Usage
  readonly errorCode?: string
  readonly cutOff?: TurnResult['cutOff']
  readonly interruptedBy?: number
  /** The event becomes a dead letter instead of being done. */
  readonly deadLetter?: boolean
  /** The model cannot process the messages of the turn, so later requests must not contain them. */
  readonly leavesTranscript?: boolean
}

export function createTurnJournal(deps: TurnJournalDeps): TurnJournal {
  const { store, clock } = deps

  async function claim(key: SessionKey, merge?: MergeFollowing) {
    const now = clock()
    const ids = { turn: uuid7(now), session: sessionIdAt(now) }
    const reset = deps.reset !== undefined && endsSessions(deps.reset.settings()) ? deps.reset.open() : undefined
    if (reset === undefined) return await store.run(() => claimNextTurn(deps, key, ids, now, merge))
    const resetIfDue = await reset
    return await store.run(() => claimNextTurn({ ...deps, resetIfDue }, key, ids, now, merge))
  }

  async function claimMerged(key: SessionKey) {
    const single = await claim(key)
    if (single?.kind !== 'unmerged') return single
    const { createMerge } = await import('./merge.ts')
    const merged = await claim(key, createMerge(deps))
    deps.failpoint?.('turn:merged')
    return merged?.kind === 'unmerged' ? null : merged
  }

  async function storeFiles(write: () => Transaction<void>, notice: TransactionPart | undefined): Promise<void> {
    const now = clock()
    await store.run(function* () {
      yield* write()
      if (notice !== undefined) yield* enlist(notice, now)
    })
  }

  return {
    async claim(key) {
      for (;;) {
        const claimed = await claimMerged(key)
        if (claimed?.kind !== 'revoked') return claimed
        await deps.endRevoked?.(key, claimed.seq)
      }
    },

    storeAttachments: (seq, files, notice) =>
      storeFiles(function* () {
        yield* attachFiles(seq, files)
        yield* endPreparation(seq)
      }, notice),

    storeEarly: (seq, files, notice) => storeFiles(() => attachFiles(seq, files), notice),

    storeSkills: (seq, skills) =>
      store.run(function* () {
        yield* attachSkills(seq, skills)
        yield* endPreparation(seq)
      }),

    journalOf(turn, prepareInterim = async () => null) {
      const ordinals = createMessageOrdinals(turn)
      const runWithProgress = createProgressWriter(deps, turn)
      let unstored: FrozenPrompt | undefined
      function* writePrompt(): Transaction<void> {
        if (unstored === undefined) return
        yield* freezePrompt(turn.sessionId, unstored)
        yield* afterCommit(() => {
          unstored = undefined
        })
      }
      return {
        nextOrd: ordinals.next,
        freezePrompt(prompt) {
          unstored = prompt
        },
        writePrompt,
        async storePrompt() {
          if (unstored === undefined) return
          await store.run(function* () {
            yield* checkFence(turn.fence)
            yield* writePrompt()
          })
        },
        async recordAssistantMessage(message, usage, isFinalText) {
          const ord = ordinals.reserve(message)
          const reply = isFinalText ? await prepareInterim(message.content, ord) : null
          await runWithProgress({
            parts: reply === null ? [] : [reply],
            *write(now) {
              yield* appendAssistantMessage(turn, ord, message, usage, now)
              yield* writePrompt()
              if (reply !== null) yield* enlist(reply, now)
            },
          })
        },
        async takeSteered() {
          const steer = await import('./steer.ts')
          const now = clock()
          const taken = await store.run(() => steer.takeSteered(deps, turn, ordinals.next(), now))
          for (const message of taken.unprepared) deps.prepareSteered?.(turn, message)
          ordinals.skip(taken.messages.length)
          if (taken.messages.length > 0) deps.failpoint?.('turn:steered')
          return taken
        },
        wasStarted: (call) => store.run(() => wasEffectStarted(turn.id, call.id)),
        recordToolStart(call, mode) {
          const started = { turnId: turn.id, callId: call.id, name: call.name, argsHash: hashToolCall(call), mode }
          const now = clock()
          return store.run(function* () {
            yield* checkFence(turn.fence)
            // The turn waits in another call of the same batch.
            if (deps.isPaused?.(turn.sessionKey) === true) yield* continueAttempt(turn.seq)
            return yield* startToolCall(started, now)
          })
        },
        async recordToolResult(call, content, how, part, images, line) {
          const shownLine = line === undefined ? null : toStoredLine(line, deps)
          const result = { content, ...(images && { images }) }
          const whole: TransactionPart = {
            parts: part === undefined ? [] : [part],
            *write(now) {
              yield* appendToolResult(turn, ordinals.of(call), { call, result, how, line: shownLine }, now)
              if (part !== undefined) yield* enlist(part, now)
            },
          }
          try {
            // That a call was interrupted is no progress.
            await (how === 'interrupted' ? store.commit(whole, clock) : runWithProgress(whole))
          } catch (error) {
            if (isHermesError(error, 'store/fenced'))
              await store.run(() => storeLateResult(turn.id, call.id, content, clock()))
            throw error
          }
        },
      }
    },

    pause: (turn) =>
      store.run(function* () {
        yield* checkFence(turn.fence)
        yield* pauseAttempt(turn.seq)
      }),
    finish(turn, completion, reply = combine([]), retry) {
      const whole: TransactionPart<FinishedTurn> = {
        parts: [reply],
        *write(now) {
          const finished = yield* finishTurn(turn, completion, now)
          yield* enlist(reply, now)
          return finished
        },
      }
      return store.commit(whole, clock, retry)
    },
  }
}

/** Whether a session may end by itself. */
function endsSessions({ session_reset, reset_by_type, reset_by_platform }: SessionsConfig): boolean {
  if (session_reset.mode !== 'none') return true
  return [...Object.values(reset_by_type), ...Object.values(reset_by_platform)].some(
    (override) => override?.mode !== undefined && override.mode !== 'none',
  )
}

/** Runs transactions that are progress. The first one of a turn with failed attempts resets their count. */
function createProgressWriter({ store, clock, onProgress }: TurnJournalDeps, turn: Turn) {
  let isFirst = turn.hasFailedAttempts || turn.outageSince !== null
  return async (part: TransactionPart): Promise<void> => {
    if (!isFirst) return await store.commit(part, clock)
    const whole: TransactionPart = {
      parts: [part],
      *write(now) {
        yield* enlist(part, now)
        yield* recordProgress(turn.seq)
        yield* endOutage(turn.id)
      },
    }
    await store.commit(whole, clock)
    isFirst = false
    onProgress(turn.sessionKey)
  }
}

function* appendAssistantMessage(
  turn: Turn,
  ord: number,
  message: AssistantMessage,
  usage: Usage,
  now: number,
): Transaction<void> {
  yield* checkFence(turn.fence)
  yield* appendMessage({ sessionId: turn.sessionId, turnId: turn.id, ord, message, usage }, now)
}

type ResultContent = Pick<ToolMessage, 'content' | 'images'>

interface EndedCall {
  readonly call: ToolCall
  readonly result: ResultContent
  readonly how: 'done' | 'interrupted'
  /** See `endToolCall`. */
  readonly line: string | null
}

function* appendToolResult(turn: Turn, ord: number, ended: EndedCall, now: number): Transaction<void> {
  yield* checkFence(turn.fence)
  yield* storeToolResult(turn, ord, ended, now)
}

const maxLineChars = 200

function toStoredLine(
  { ok, label, summary }: ToolCallLine,
  { withhold = String, redact = String }: Pick<TurnJournalDeps, 'withhold' | 'redact'>,
): string {
  const shorten = (text: string) => toShortLine(text, maxLineChars, (long) => redact(withhold(long)))
  return JSON.stringify({ ok, label: shorten(label), summary: shorten(summary) })
}

/** Stores the state of a tool call together with the result that the model reads. */
function* storeToolResult(
  turn: Turn,
  ord: number,
  { call, result, how, line }: EndedCall,
  now: number,
): Transaction<void> {
  const message = { role: 'tool' as const, toolCallId: call.id, name: call.name, ...result }
  yield* endToolCall(turn.id, call.id, how, line, now)
  yield* appendMessage({ sessionId: turn.sessionId, turnId: turn.id, ord, message }, now)
}

function* finishTurn(turn: Turn, completion: TurnCompletion, now: number): Transaction<FinishedTurn> {
  const { state, reason, model, provider, message } = completion
  yield* checkFence(turn.fence)
  if (state !== 'done') {
    yield* closeOpenToolCalls(turn, now)
    yield* revokeEpoch(turn.fence)
  }
  const usage = addUsage(yield* usageOfTurn(turn.sessionId, turn.id, firstOrdinal(turn)), completion.usage)
  const result = turnResultOf(turn, completion, usage)
  if (message !== undefined) {
    const ord = state === 'done' ? completion.ord : yield* nextOrdinal(turn.sessionId)
    const entry = { sessionId: turn.sessionId, turnId: turn.id, ord, message, usage: completion.usage }
    yield* appendMessage(entry, now)
  }
  yield* endTurn(turn.id, { state, reason, model, provider }, now)
  // A dead letter contains the text of the messages that were merged into it.
  const seqs = yield* finishEventsOfTurn(turn.id, result)
  if (completion.deadLetter === true) yield* markEventDead(turn.seq, reason ?? '', result)
  if (completion.deadLetter === true || completion.leavesTranscript === true)
    yield* supersedeTurn(turn.sessionId, turn.id)
  yield* addSessionUsage(turn.sessionId, usage, now)
  return { result, seqs }
}

function turnResultOf(turn: Turn, completion: TurnCompletion, { inputTokens, outputTokens, cost }: Usage): TurnResult {
  return {
    status: completion.state,
    text: completion.text,
    sessionId: turn.sessionId,
    model: completion.model,
    usage: { inputTokens, outputTokens, cost },
    errorCode: completion.errorCode,
    cutOff: completion.cutOff,
    interruptedBy: completion.interruptedBy,
  }
}

/** A turn that ends early leaves no tool call without a result: models reject such a conversation. */
function* closeOpenToolCalls(turn: Turn, now: number): Transaction<void> {
  const entries = yield* readTranscript(turn.sessionId)
  const turnEntries = entries.filter((entry) => entry.turnId === turn.id)
  const answered = new Set(turnEntries.flatMap(({ message }) => (message.role === 'tool' ? [message.toolCallId] : [])))
  for (const { ord, message } of turnEntries) {
    if (message.role !== 'assistant') continue
    for (const [index, call] of (message.toolCalls ?? []).entries()) {
      if (answered.has(call.id)) continue
      const result = { content: interruptedToolResult }
      yield* storeToolResult(turn, ord + 1 + index, { call, result, how: 'interrupted', line: null }, now)
    }
  }
}

const interruptedToolResult = JSON.stringify({
  error: 'The turn ended before this tool gave a result; whether it had an effect is not known.',
})

/**
 * Assigns the transcript ordinals of a running turn. The results of one assistant message follow it in the order of its
 * tool calls, whichever call ends first. After a crash an open call keeps the ordinal that was reserved for it.
 */
function createMessageOrdinals(turn: Turn) {
  const ordinals = new Map<string, number>()
  let next = ordinalAfter(turn.transcript)
  const reserveAt = (ord: number, { toolCalls = [] }: AssistantMessage) => {
    for (const [index, call] of toolCalls.entries()) ordinals.set(call.id, ord + 1 + index)
    next = Math.max(next, ord + 1 + toolCalls.length)
  }
  for (const { turnId, ord, message } of turn.transcript) {
    if (turnId === turn.id && message.role === 'assistant') reserveAt(ord, message)
  }
  return {
    next: () => next,
    /** Messages of the user take the next ordinals. */
    skip(count: number): void {
      next += count
    },
    /** Reserves the ordinals of a message and of the results of its calls; returns the ordinal of the message. */
    reserve(message: AssistantMessage): number {
      const ord = next
      reserveAt(ord, message)
      return ord
    },
    of(call: ToolCall): number {
      const ordinal = ordinals.get(call.id)
      if (ordinal === undefined) throw new Error(`the tool call ${call.id} has no ordinal in the transcript`)
      return ordinal
    },
  }
}

/** Ordinal of the first message of this turn. */
function firstOrdinal(turn: Turn): number {
  return turn.transcript.find(({ turnId }) => turnId === turn.id)?.ord ?? ordinalAfter(turn.transcript)
}

function ordinalAfter(entries: readonly TranscriptEntry[]): number {
  return (entries.at(-1)?.ord ?? -1) + 1
}
