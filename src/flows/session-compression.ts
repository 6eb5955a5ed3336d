/**
 * Keeps conversations within the context window of the model. Checks their length before each turn and after a context
 * overflow, has the agent summarise them, and stores the result under the fence of the turn.
 */

import type { CompressionResult, RequestSummary } from '../agent/compression/compress-transcript.ts'
import { charsPerToken, compressionThreshold, estimateTokens } from '../agent/compression/context-size.ts'
import { createSummaryCooldown } from '../agent/compression/cooldown.ts'
import type { AgentConfig } from '../agent/config.ts'
import { toOpenAiHistory } from '../agent/loop/openai-history.ts'
import { type CompletionDeps, complete } from '../agent/models/completion.ts'
import { type RetryRules, retryRulesOf } from '../agent/models/retry-policy.ts'
import type { CommandServices } from '../commands/command.ts'
import type { Engine } from '../engine/engine.ts'
import { acceptEvent } from '../inbox/queries.ts'
import { serializeEvent } from '../inbox/stored-event.ts'
import { HermesError, isHermesError, messageOf } from '../lib/errors.ts'
import { uuid7 } from '../lib/ids.ts'
import { beginningOf } from '../lib/redact.ts'
import type { HookEventListener } from '../message/hook-events.ts'
import type { SessionSource } from '../message/source.ts'
import type { ChatMessage } from '../message/transcript.ts'
import type { PluginMemory } from '../plugins/plugin-memory.ts'
import { readTranscript, type TranscriptEntry } from '../sessions/transcript.ts'
import { applyCompression } from '../sessions/transcript-compression.ts'
import type { Store } from '../store/store.ts'
import { type ChosenModel, type Turn, type TurnInfoFactory, turnStartIndex } from './turn/claim.ts'

export interface SessionCompressionDeps extends Omit<CompletionDeps, 'retry'> {
  readonly store: Store
  readonly engine: Pick<Engine, 'wake'>
  /** What plugins learn about the request for a summary. */
  readonly turnInfoOf: TurnInfoFactory
  readonly emit: HookEventListener
  readonly settings: () => AgentConfig
  /** Whether the platform has its gateway events emitted. */
  emitsEvents(source: SessionSource): boolean
  /** The memory of plugins adds what it wants to keep. */
  readonly memory: Pick<PluginMemory, 'beforeCompression'>
}

/** All reject with the signal's reason, with `store/fenced` and as the store does. A failed summary changes nothing. */
export interface SessionCompression extends Pick<CommandServices, 'compressSession'> {
  /** Resolves with the transcript that the turn uses: unchanged unless the conversation is too long. */
  beforeTurn(turn: Turn, chosen: ChosenModel, system: string, signal: AbortSignal): Promise<readonly TranscriptEntry[]>
  /** The model rejected the conversation as too long. Resolves with a shorter one, or null when it cannot be shortened. */
  afterContextOverflow(turn: Turn, chosen: ChosenModel, signal: AbortSignal): Promise<readonly ChatMessage[] | null>
  /** Requested by the user. Resolves with the reply. */
  compressOnRequest(turn: Turn, focus: string, choose: () => Promise<ChosenModel>, signal: AbortSignal): Promise<string>
}

interface CompressionRequest {
  readonly turn: Turn
  readonly entries: readonly TranscriptEntry[]
  readonly chosen: ChosenModel
  readonly trigger: 'long' | 'overflow' | 'requested'
  readonly focus: string
}

type SessionCompressionResult =
  | { readonly kind: 'done'; readonly entries: readonly TranscriptEntry[]; readonly compressed: CompressionResult }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'failed'; readonly error: unknown }

/** A long conversation must shrink by at least this share, or each turn would compress it again. */
const minSavingsRatio = 0.1

export function createSessionCompression(deps: SessionCompressionDeps): SessionCompression {
  const { store, clock, log, settings } = deps
  const cooldown = createSummaryCooldown()

  async function compressAndStore(order: CompressionRequest, signal: AbortSignal): Promise<SessionCompressionResult> {
    const { turn, entries } = order
    const { sessionId } = turn
    try {
      const compressed = await summarizeConversation(deps, order, signal)
      if (compressed === undefined) return { kind: 'nothing' }
      deps.failpoint('compression:summarised')
      const stored = await store.run(() => applyCompression(turn.fence, sessionId, entries, compressed, clock()))
      deps.failpoint('compression:stored')
      cooldown.recordSuccess(sessionId)
      reportCompressed(turn, order.trigger, compressed, stored.count)
      return { kind: 'done', entries: stored.lines, compressed }
    } catch (error) {
      signal.throwIfAborted()
      if (isHermesError(error) && error.code.startsWith('store/')) throw error
      const waitMs = cooldown.recordFailure(sessionId, clock())
      const fields = { session: turn.sessionKey, turn: turn.id, waitMs, err: error }
      log.warn({ event: 'session.compression_failed', ...fields }, 'the conversation could not be compressed')
      return { kind: 'failed', error }
    }
  }

  function reportCompressed(
    turn: Turn,
    trigger: string,
    { tokensBefore, tokensAfter }: CompressionResult,
    count: number,
  ): void {
    const fields = { session: turn.sessionKey, turn: turn.id, trigger, tokensBefore, tokensAfter, count }
    log.info({ event: 'session.compressed', ...fields }, 'conversation compressed')
    if (!deps.emitsEvents(turn.event.source)) return
    deps.emit('session:compress', {
      platform: turn.event.source.platform,
      session_id: turn.sessionId,
      old_session_id: '',
      in_place: true,
      compression_count: count,
    })
  }

  function mayTry({ sessionId }: Turn): boolean {
    return settings().compression.enabled && cooldown.isOver(sessionId, clock())
  }

  return {
    async beforeTurn(turn, chosen, system, signal) {
      const { transcript } = turn
      const most = settings().context_length * compressionThreshold(settings())
      const tokens = estimateTokens(transcript.map(({ message }) => message)) + system.length / charsPerToken
      if (tokens <= most || !mayTry(turn)) return transcript
      const result = await compressAndStore({ turn, entries: transcript, chosen, trigger: 'long', focus: '' }, signal)
      return result.kind === 'done' ? result.entries : transcript
    },

    async afterContextOverflow(turn, chosen, signal) {
      if (!mayTry(turn)) return null
      const entries = await store.run(() => readTranscript(turn.sessionId))
      const result = await compressAndStore({ turn, entries, chosen, trigger: 'overflow', focus: '' }, signal)
      return result.kind === 'done' ? result.entries.map(({ message }) => message) : null
    },

    async compressOnRequest(turn, focus, choose, signal) {
      const chosen = await choose().catch((error: unknown) => ({ error }))
      if ('error' in chosen) return failureText(chosen.error)
      const result = await compressAndStore(
        { turn, entries: turn.transcript, chosen, trigger: 'requested', focus },
        signal,
      )
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
    },

    compressSession(sessionKey, source, { focus, says }) {
      const key = `compress:${uuid7(clock())}`
      const { platform, account, chatId } = source
      return {
        *write(now) {
          const event = { source, text: '/compress', messageType: 'command', timestamp: now, internal: true } as const
          const payload = serializeEvent(
            { ...event, allowGatewayControl: false, compress: { focus } },
            Number.POSITIVE_INFINITY,
          )
          yield* acceptEvent(
            { sessionKey, lane: 'turn', kind: 'internal', platform, account, chatId, payload },
            [key],
            now,
          )
          return says
        },
        committed: () => deps.engine.wake(sessionKey, 'turn'),
        abandoned: () => undefined,
      }
    },
  }
}

/** Imports its code with the first long conversation. */
async function summarizeConversation(
  deps: SessionCompressionDeps,
  order: CompressionRequest,
  signal: AbortSignal,
): Promise<CompressionResult | undefined> {
  const { compressTranscript } = await import('../agent/compression/compress-transcript.ts')
  const { turn, entries, trigger, focus } = order
  const settings = deps.settings()
  const { protect_first_n, protect_last_n, target_ratio } = settings.compression
  const tokens = estimateTokens(entries.map(({ message }) => message))
  const rules = {
    // The rejected request was longer than the window, whatever the configuration says.
    contextLength: trigger === 'overflow' ? Math.min(settings.context_length, tokens) : settings.context_length,
    threshold: compressionThreshold(settings),
    targetRatio: target_ratio,
    protectFirstMessages: protect_first_n,
    protectLastMessages: protect_last_n,
    turnStart: turnStartIndex(turn, entries),
    minTokensSaved: trigger === 'long' ? tokens * minSavingsRatio : 1,
  }
  return compressTranscript(
    entries,
    rules,
    { focus, insights: (messages) => memoryInsights(deps, turn, messages) },
    createSummaryRequest(deps, order, signal),
  )
}

/** A managed model call without a progress listener. */
function createSummaryRequest(
  deps: SessionCompressionDeps,
  { turn, chosen }: CompressionRequest,
  signal: AbortSignal,
): RequestSummary {
  const { provider } = chosen
  return async ({ system, messages }) => {
    const settings = deps.settings()
    const model = settings.auxiliary.compression.model || settings.compression.summary_model || chosen.model
    const { max_output_tokens: maxOutputTokens } = settings
    const length = maxOutputTokens === undefined ? {} : { maxOutputTokens }
    const input = { model, system, messages, tools: [], ...length }
    const { middleware, clock, failpoint, log, random, pause } = deps
    const retry = () => summaryRetryRules(deps.settings())
    return complete(
      { middleware, clock, failpoint, log, random, pause, retry },
      { provider, input, turn: deps.turnInfoOf(turn, { provider, model }), signal },
    )
  }
}

/** The turn continues without a summary, so it does not wait for the end of an outage here. */
const maxSummaryRetryMs = 15_000

function summaryRetryRules({ agent }: AgentConfig): RetryRules {
  const { windowMs, maxRetries } = retryRulesOf(agent)
  return { windowMs: Math.min(windowMs, maxSummaryRetryMs), maxRetries }
}

/** Background tasks are not part of any user's memory. */
async function memoryInsights(
  { memory }: SessionCompressionDeps,
  { sessionId, sessionKey, authority: { role }, event: { source, task } }: Turn,
  messages: readonly ChatMessage[],
): Promise<string> {
  if (task !== undefined) return ''
  const { platform, userId = '' } = source
  return await memory.beforeCompression(toOpenAiHistory(messages), { sessionId, sessionKey, platform, userId, role })
}

function failureText(error: unknown): string {
  const hint = error instanceof HermesError ? ` ${error.hint}` : ''
  const advice = 'You can continue to write. `/compress` tries again, and `/new` starts an empty conversation.'
  return `The conversation could not be compressed and remains unchanged. ${advice}${hint}\n\n> ${beginningOf(messageOf(error), 500)}`
}

function formatTokens(tokens: number): string {
  return Math.round(tokens).toLocaleString('en')
}
