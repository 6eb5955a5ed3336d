/**
 * Compresses one conversation: has the agent summarise it, clears old tool results, and stores the result under the fence of
 * its turn. Loaded with the first long conversation.
 */
import {
  type CompressionResult,
  compressTranscript,
  leaveOutOldest,
} from '../../agent/compression/compress-transcript.ts'
import { compressionLimit, estimateTokens } from '../../agent/compression/context-size.ts'
import type { SummaryCooldown } from '../../agent/compression/cooldown.ts'
import type { CompressionOptions } from '../../agent/compression/plan.ts'
import { compressionRules, createSummaryRequest, excessOf } from '../../agent/compression/request-summary.ts'
import { shortenNewestResults } from '../../agent/compression/shorten-results.ts'
import type { AgentConfig } from '../../agent/config.ts'
import { toOpenAiHistory } from '../../agent/loop/openai-history.ts'
import type { Auxiliary } from '../../agent/models/auxiliary.ts'
import type { ChosenModel } from '../../agent/models/chosen-model.ts'
import type { TurnInfoFactory } from '../../agent/support/agent-hooks.ts'
import { moveSessionGrants } from '../../approvals/queries.ts'
import type { Engine } from '../../engine/engine.ts'
import { HermesError, isHermesError, messageOf } from '../../lib/errors.ts'
import { brand, sessionIdAt } from '../../lib/ids.ts'
import type { Logger } from '../../lib/log.ts'
import { beginningOf } from '../../lib/redact.ts'
import { linkAbortSignal, raceAbort } from '../../lib/timers.ts'
import type { HookEventListener } from '../../message/hook-events.ts'
import type { SessionId } from '../../message/ids.ts'
import type { SessionSource } from '../../message/source.ts'
import { type ChatMessage, noUsage } from '../../message/transcript.ts'
import type { PluginMemory } from '../../plugins/plugin-memory.ts'
import { rotateSession } from '../../sessions/session-rotation.ts'
import { type TranscriptEntry, turnStartIndex } from '../../sessions/transcript.ts'
import { applyCompression, type CompressionEdits } from '../../sessions/transcript-compression.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { Store } from '../../store/store.ts'

export interface CompressionPolicyDeps {
  readonly auxiliary: Auxiliary
  /** ms */
  readonly clock: () => number
  /** Named points at which crash tests kill the process; does nothing in production. */
  readonly failpoint?: ((point: string) => void) | undefined
  readonly log: Logger
  readonly store: Store
  readonly engine: Pick<Engine, 'wake'>
  /** What plugins learn about the request for a summary. */
  readonly turnInfoOf: TurnInfoFactory
  readonly emit: HookEventListener
  readonly settings: () => AgentConfig
  /** Whether the platform has its gateway events emitted. */
  emitsEvents(source: SessionSource): boolean
  /** A conversation continues in another session, in the middle of its turn. Called when that is stored. */
  sessionContinued(continued: { turn: Turn; newSessionId: SessionId }): void
  /** The oldest part of the conversation is left out of the requests. Called when that is stored. Rejects `store/…`. */
  partLeftOut(turn: Turn): Promise<void>
  /** The memory of plugins adds what it wants to keep. */
  readonly memory: Pick<PluginMemory, 'beforeCompression'>
  /**
   * Saves to memory what these messages would otherwise lose, before a summary replaces them. It is given a few seconds; a
   * failure is logged and changes nothing.
   */
  flushMemory?(turn: Turn, messages: readonly ChatMessage[], signal: AbortSignal): Promise<void>
}

export interface CompressionRequest {
  readonly turn: Turn
  readonly entries: readonly TranscriptEntry[]
  readonly chosen: ChosenModel
  /** `urgent`: little room is left. `overflow`: the provider has rejected the conversation. */
  readonly trigger: 'long' | 'urgent' | 'overflow' | 'requested'
  /** The tokens of the next request as far as they are known; 0 if they are not. */
  readonly tokens: number
  readonly focus: string
  /** The turn has begun, so that its own calls may be what is too long. It keeps its session. */
  readonly isRunning?: true
}

export type SessionCompressionResult =
  | {
      readonly kind: 'done'
      readonly entries: readonly TranscriptEntry[]
      readonly compressed: CompressionResult
      /** The session that continues the conversation. */
      readonly newSessionId?: SessionId
    }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'failed'; readonly error: unknown }

export interface RunCompressionDeps extends CompressionPolicyDeps {
  readonly cooldown: SummaryCooldown
  /** The calibration factor: tokens that the provider counts per estimated token. */
  readonly ratio: number
}

export type RunCompression = (request: CompressionRequest, signal: AbortSignal) => Promise<SessionCompressionResult>

/**
 * In a running turn: results are cleared and the conversation before the turn is summarised; if that is not enough, the older
 * calls of the turn are summarised, too; and if the newest results alone are too long, they are shortened. A failed summary
 * changes nothing there but the results.
 */
export async function compressSession(
  deps: RunCompressionDeps,
  request: CompressionRequest,
  signal: AbortSignal,
): Promise<SessionCompressionResult> {
  const { turn, isRunning } = request
  const maySummarize = isRunning === undefined || deps.cooldown.isOver(turn.sessionId, deps.clock())
  let result = await compressOnce(deps, request, maySummarize ? 'history' : 'nothing', signal)
  if (isRunning === undefined) return await fitIntoWindow(deps, request, result)
  if (result.kind === 'failed') result = await compressOnce(deps, request, 'nothing', signal)
  const isTooLong = () => remainingTokens(deps, request, result) > compressionLimit(deps.settings())
  if (maySummarize && isTooLong() && deps.cooldown.isOver(turn.sessionId, deps.clock())) {
    const entries = result.kind === 'done' ? result.entries : request.entries
    const again = await compressOnce(
      deps,
      { ...request, entries, tokens: remainingTokens(deps, request, result) },
      'turn',
      signal,
    )
    if (again.kind === 'done') result = again
  }
  return await fitIntoWindow(deps, request, result)
}

/** Whatever became of the summary, the next request fits into the window: the oldest part is left out, and newest results are shortened. */
async function fitIntoWindow(
  deps: RunCompressionDeps,
  request: CompressionRequest,
  result: SessionCompressionResult,
): Promise<SessionCompressionResult> {
  // A person who asks for a summary learns that there is none. In another session, the next check is that of its turn.
  if (request.trigger === 'requested' || (result.kind === 'done' && result.newSessionId !== undefined)) return result
  let fitting = result
  for (const part of ['history', 'turn'] as const) {
    if (excessAfter(deps, request, fitting) <= 0) break
    fitting = (await leaveOut(deps, request, fitting, part)) ?? fitting
  }
  return await shortenIfNeeded(deps, request, fitting)
}

function excessAfter(deps: RunCompressionDeps, request: CompressionRequest, result: SessionCompressionResult): number {
  // A window that is smaller than the configured one is unknown: the request with a summary shows whether it fits.
  const isSummarized = result.kind === 'done' && result.compressed.summary !== undefined
  const trigger = isSummarized && request.trigger === 'overflow' ? 'long' : request.trigger
  const rules = rulesOf(deps, { ...request, trigger }, request.entries, 'nothing')
  return excessOf(remainingTokens(deps, request, result), rules)
}

/** Undefined when nothing of this part can be left out. */
async function leaveOut(
  deps: RunCompressionDeps,
  request: CompressionRequest,
  result: SessionCompressionResult,
  part: 'history' | 'turn',
): Promise<SessionCompressionResult | undefined> {
  const { turn } = request
  const entries = result.kind === 'done' ? result.entries : request.entries
  const compressed = leaveOutOldest(entries, rulesOf(deps, request, entries, part))
  if (compressed?.summary === undefined) return undefined
  // A note is no reason for another session.
  const stored = await storeCompression(deps, { ...request, entries, isRunning: true }, compressed)
  const count = compressed.summary.to - compressed.summary.from
  const fields = { session: turn.sessionKey, turn: turn.id, count }
  deps.log.warn({ event: 'session.part_left_out', ...fields }, 'the oldest part of a conversation is left out')
  await deps.partLeftOut(turn)
  return stored
}

/** The tokens of the next request after a compression, estimated. */
function remainingTokens(
  { ratio }: RunCompressionDeps,
  { entries, tokens }: CompressionRequest,
  result: SessionCompressionResult,
): number {
  const before = estimateTokens(entries.map(({ message }) => message))
  const left = result.kind === 'done' ? result.entries : entries
  const after = estimateTokens(left.map(({ message }) => message))
  return (tokens === 0 ? before * ratio : tokens) - (before - after) * ratio
}

async function shortenIfNeeded(
  deps: RunCompressionDeps,
  request: CompressionRequest,
  result: SessionCompressionResult,
): Promise<SessionCompressionResult> {
  const excess = excessAfter(deps, request, result)
  if (excess <= 0) return result
  const entries = result.kind === 'done' ? result.entries : request.entries
  const messages = entries.map(({ message }) => message)
  const clearedResults = shortenNewestResults(messages, excess / deps.ratio)
  if (clearedResults.length === 0) return result
  const shortened = new Map(clearedResults.map(({ at, message }) => [at, message]))
  const compressed = {
    clearedResults,
    usage: noUsage,
    tokensBefore: estimateTokens(messages),
    tokensAfter: estimateTokens(messages.map((message, at) => shortened.get(at) ?? message)),
  }
  return await storeCompression(deps, { ...request, entries }, compressed)
}

async function compressOnce(
  deps: RunCompressionDeps,
  request: CompressionRequest,
  summarizes: CompressionOptions['summarizes'],
  signal: AbortSignal,
): Promise<SessionCompressionResult> {
  const { clock, log, cooldown } = deps
  const { turn } = request
  try {
    const compressed = await summarizeConversation(deps, request, summarizes, signal)
    if (compressed === undefined) return { kind: 'nothing' }
    deps.failpoint?.('compression:summarised')
    const stored = await storeCompression(deps, request, compressed)
    if (compressed.summary !== undefined) cooldown.recordSuccess(turn.sessionId)
    return stored
  } catch (error) {
    signal.throwIfAborted()
    if (isHermesError(error) && error.code.startsWith('store/')) throw error
    const waitMs = cooldown.recordFailure(turn.sessionId, clock())
    const fields = { session: turn.sessionKey, turn: turn.id, waitMs, err: error }
    log.warn({ event: 'session.compression_failed', ...fields }, 'the conversation could not be compressed')
    return { kind: 'failed', error }
  }
}

async function storeCompression(
  deps: RunCompressionDeps,
  { turn, entries, trigger, isRunning }: CompressionRequest,
  compressed: CompressionResult,
): Promise<SessionCompressionResult> {
  const edits: CompressionEdits = { ...compressed, turnOfSummary: turnOfSummary(turn, entries, compressed) }
  const rotates = !deps.settings().compression.in_place && isRunning === undefined && compressed.summary !== undefined
  if (rotates) return await storeInNewSession(deps, { turn, entries, trigger }, edits, compressed)
  const stored = await deps.store.run(() => applyCompression(turn.fence, turn.sessionId, entries, edits, deps.clock()))
  deps.failpoint?.(isRunning === true ? 'compression:stored-in-turn' : 'compression:stored')
  report(deps, turn, trigger, compressed, stored.count)
  return { kind: 'done', entries: stored.lines, compressed }
}

/** `compression.in_place: false` */
async function storeInNewSession(
  deps: RunCompressionDeps,
  { turn, entries, trigger }: Pick<CompressionRequest, 'turn' | 'entries' | 'trigger'>,
  edits: CompressionEdits,
  compressed: CompressionResult,
): Promise<SessionCompressionResult> {
  const now = deps.clock()
  const { sessionId: from, id: turnId, fence } = turn
  const to = brand<SessionId>(sessionIdAt(now))
  const { lines } = await deps.store.run(function* () {
    yield* moveSessionGrants(from, to)
    return yield* rotateSession({ fence, from, to, turnId }, entries, edits, now)
  })
  deps.failpoint?.('compression:rotated')
  deps.sessionContinued({ turn, newSessionId: to })
  report(deps, turn, trigger, compressed, 1, to)
  return { kind: 'done', entries: lines, compressed, newSessionId: to }
}

/** A summary of calls of the turn belongs to the turn: both leave the conversation together. */
function turnOfSummary(turn: Turn, entries: readonly TranscriptEntry[], { summary }: CompressionResult): string | null {
  return summary !== undefined && entries[summary.from]?.turnId === turn.id ? turn.id : null
}

function report(
  deps: RunCompressionDeps,
  turn: Turn,
  trigger: string,
  { tokensBefore, tokensAfter }: CompressionResult,
  count: number,
  newSessionId?: SessionId,
): void {
  const fields = { session: turn.sessionKey, turn: turn.id, trigger, tokensBefore, tokensAfter, count }
  deps.log.info({ event: 'session.compressed', ...fields }, 'conversation compressed')
  if (!deps.emitsEvents(turn.event.source)) return
  deps.emit('session:compress', {
    platform: turn.event.source.platform,
    session_id: newSessionId ?? turn.sessionId,
    old_session_id: newSessionId === undefined ? '' : turn.sessionId,
    in_place: newSessionId === undefined,
    compression_count: count,
  })
}

function rulesOf(
  { settings, ratio }: RunCompressionDeps,
  { turn, trigger }: CompressionRequest,
  entries: readonly TranscriptEntry[],
  summarizes: CompressionOptions['summarizes'],
): CompressionOptions {
  return compressionRules(settings(), {
    tokens: estimateTokens(entries.map(({ message }) => message)),
    ratio,
    trigger,
    turnStart: turnStartIndex(turn.id, entries),
    summarizes,
  })
}

async function summarizeConversation(
  deps: RunCompressionDeps,
  request: CompressionRequest,
  summarizes: CompressionOptions['summarizes'],
  signal: AbortSignal,
): Promise<CompressionResult | undefined> {
  const { turn, entries, focus } = request
  return compressTranscript(
    entries,
    rulesOf(deps, request, entries, summarizes),
    { focus, insights: (messages) => prepareMemory(deps, turn, messages, signal) },
    createSummaryRequest(deps, { turn: deps.turnInfoOf(turn, request.chosen), main: request.chosen, signal }),
  )
}

const maxFlushMs = 10_000

/** The memories save what they want first. Background tasks are not part of any user's memory. */
async function prepareMemory(
  deps: RunCompressionDeps,
  turn: Turn,
  messages: readonly ChatMessage[],
  signal: AbortSignal,
): Promise<string> {
  const { sessionId, sessionKey, authority, event } = turn
  if (event.task !== undefined) return ''
  const { platform, chatType, userId = '' } = event.source
  await flushInTime(deps, turn, messages, signal)
  return await deps.memory.beforeCompression(toOpenAiHistory(messages), {
    sessionId,
    sessionKey,
    platform,
    chatType,
    userId,
    role: authority.role,
  })
}

/** What takes too long is ended, so that it writes nothing when the turn goes on. Rejects with the reason of the signal only. */
async function flushInTime(
  { flushMemory, log }: RunCompressionDeps,
  turn: Turn,
  messages: readonly ChatMessage[],
  signal: AbortSignal,
): Promise<void> {
  if (flushMemory === undefined) return
  const linked = linkAbortSignal(signal)
  const timer = setTimeout(() => linked.abort(new Error(`it took longer than ${maxFlushMs / 1_000} s`)), maxFlushMs)
  try {
    await raceAbort(flushMemory(turn, messages, linked.signal), linked.signal)
  } catch (error) {
    signal.throwIfAborted()
    log.warn({ event: 'session.memory_flush_failed', session: turn.sessionKey, err: error }, 'memory was not saved')
  } finally {
    clearTimeout(timer)
    linked.release()
  }
}

/** The reply to `/compress`. */
export function resultText(result: SessionCompressionResult): string {
  switch (result.kind) {
    case 'nothing':
      return 'There is nothing to compress: this conversation is still short.'
    case 'failed':
      return failureText(result.error)
    case 'done': {
      const { tokensBefore, tokensAfter } = result.compressed
      return `Compressed: this conversation had about ${formatTokens(tokensBefore)} tokens, now it has ${formatTokens(tokensAfter)}. What was said stays in the history.`
    }
  }
}

export function failureText(error: unknown): string {
  const hint = error instanceof HermesError ? ` ${error.hint}` : ''
  const advice = 'You can continue to write. `/compress` tries again, and `/new` starts an empty conversation.'
  return `The conversation could not be compressed and remains unchanged. ${advice}${hint}\n\n> ${beginningOf(messageOf(error), 500)}`
}

function formatTokens(tokens: number): string {
  return Math.round(tokens).toLocaleString('en')
}
