/**
 * Compresses the conversation of a sub-agent, which is stored nowhere, in the middle of its work: old results are cleared;
 * if that is not enough, its older calls are summarised; and at last its newest results are shortened.
 */
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { ChatMessage, Usage } from '../../message/transcript.ts'
import type { Auxiliary } from '../models/auxiliary.ts'
import type { Provider } from '../models/provider.ts'
import type { TurnInfo } from '../support/agent-hooks.ts'
import { compressTranscript, leaveOutOldest, type RequestSummary } from './compress-transcript.ts'
import type { CompressionConfig } from './config.ts'
import { compressionLimit, estimateTokens, urgentShare } from './context-size.ts'
import type { SummaryCooldown } from './cooldown.ts'
import type { CompressionOptions } from './plan.ts'
import { compressionRules, createSummaryRequest, excessOf } from './request-summary.ts'
import { shortenNewestResults } from './shorten-results.ts'

export interface InMemoryCompressionDeps {
  readonly auxiliary: Auxiliary
  /** ms */
  readonly clock: () => number
  readonly log: Logger
  readonly settings: () => CompressionConfig & { readonly max_output_tokens?: number | undefined }
  readonly cooldown: SummaryCooldown
}

export interface InMemoryConversation {
  readonly messages: readonly ChatMessage[]
  /** The tokens of the next request; undefined if the provider has rejected it as too long. */
  readonly tokens: number | undefined
  /** The calibration factor: tokens that the provider counts per estimated token. */
  readonly ratio: number
  /** The summaries of earlier compressions. New ones are added. */
  readonly summaries: WeakSet<ChatMessage>
  readonly turn: TurnInfo
  readonly provider: Provider
  readonly signal: AbortSignal
}

/** Null when nothing can be saved. A failed summary is logged. Rejects with the reason of the signal only. */
export async function compressInMemory(
  deps: InMemoryCompressionDeps,
  conversation: InMemoryConversation,
  recordUsage: (usage: Usage) => void,
): Promise<readonly ChatMessage[] | null> {
  const { messages, turn, ratio, provider, signal } = conversation
  const settings = deps.settings()
  const before = estimateTokens(messages)
  const tokens = conversation.tokens ?? before * ratio
  const requestSummary = createSummaryRequest(deps, { turn, main: { provider, model: turn.model }, signal })
  const remaining = (current: readonly ChatMessage[]) => tokens - (before - estimateTokens(current)) * ratio
  const limit = compressionLimit(settings)
  let current = messages
  for (const summarizes of ['nothing', 'turn'] as const) {
    if (current !== messages && remaining(current) <= limit) break
    current = await compressOnce(deps, { ...conversation, messages: current }, summarizes, requestSummary, recordUsage)
  }
  const rules = rulesOf(deps, conversation, current, 'turn')
  if (excessOf(remaining(current), rules) > 0) current = leaveOut(deps, conversation, current, rules)
  const excess = excessOf(remaining(current), rules)
  if (excess > 0) {
    const shortened = new Map(shortenNewestResults(current, excess / ratio).map(({ at, message }) => [at, message]))
    if (shortened.size > 0) current = current.map((message, at) => shortened.get(at) ?? message)
  }
  return current === messages ? null : current
}

function rulesOf(
  { settings }: InMemoryCompressionDeps,
  { tokens, ratio, summaries }: InMemoryConversation,
  messages: readonly ChatMessage[],
  summarizes: CompressionOptions['summarizes'],
): CompressionOptions {
  const { context_length: contextLength } = settings()
  const isUrgent = tokens !== undefined && tokens > contextLength * urgentShare
  return compressionRules(settings(), {
    tokens: estimateTokens(messages),
    ratio,
    trigger: tokens === undefined ? 'overflow' : isUrgent ? 'urgent' : 'long',
    turnStart: messages.findLastIndex((message) => message.role === 'user' && !summaries.has(message)),
    summarizes,
  })
}

/** The same messages when nothing can be left out. */
function leaveOut(
  { log }: InMemoryCompressionDeps,
  { summaries, turn }: InMemoryConversation,
  messages: readonly ChatMessage[],
  rules: CompressionOptions,
): readonly ChatMessage[] {
  const entries = messages.map((message) => ({ message, isSummary: summaries.has(message) }))
  const summary = leaveOutOldest(entries, rules)?.summary
  if (summary === undefined) return messages
  summaries.add(summary.message)
  const count = summary.to - summary.from
  log.warn({ event: 'subagent.part_left_out', session: turn.sessionId, count }, 'older work of a sub-agent is left out')
  return messages.toSpliced(summary.from, count, summary.message)
}

async function compressOnce(
  deps: InMemoryCompressionDeps,
  conversation: InMemoryConversation,
  summarizes: CompressionOptions['summarizes'],
  requestSummary: RequestSummary,
  recordUsage: (usage: Usage) => void,
): Promise<readonly ChatMessage[]> {
  const { cooldown, clock, log } = deps
  const { messages, summaries, turn, signal } = conversation
  if (summarizes !== 'nothing' && !cooldown.isOver(turn.sessionId, clock())) return messages
  const rules = rulesOf(deps, conversation, messages, summarizes)
  const entries = messages.map((message) => ({ message, isSummary: summaries.has(message) }))
  try {
    const insights = async () => ''
    const result = await compressTranscript(entries, rules, { focus: '', insights }, requestSummary)
    if (result === undefined) return messages
    const { clearedResults, summary } = result
    recordUsage(result.usage)
    if (summary !== undefined) {
      summaries.add(summary.message)
      cooldown.recordSuccess(turn.sessionId)
    }
    const cleared = new Map(clearedResults.map(({ at, message }) => [at, message]))
    return messages.flatMap((message, at) => {
      if (summary === undefined || at < summary.from || at >= summary.to) return [cleared.get(at) ?? message]
      return at === summary.from ? [summary.message] : []
    })
  } catch (error) {
    signal.throwIfAborted()
    const waitMs = cooldown.recordFailure(turn.sessionId, clock())
    const fields = { session: turn.sessionId, waitMs, err: error }
    log.warn(
      { event: 'subagent.compression_failed', ...fields },
      `cannot summarise the work of a sub-agent: ${messageOf(error)}`,
    )
    return messages
  }
}
