/**
 * Keeps conversations within what the model can read: looks at their length before each turn and when the model refuses
 * one, has the agent room sum them up, and puts the result on disk under the fence of the turn.
 */

import type { CompressionResult, RequestSummary } from '../agent/compression/compress-transcript.ts'
import { compressionThreshold } from '../agent/compression/config.ts'
import { createSummaryCooldown } from '../agent/compression/cooldown.ts'
import { charsPerToken, estimateTokens } from '../agent/compression/estimate-tokens.ts'
import type { AgentConfig } from '../agent/config.ts'
import { type CompletionDeps, complete } from '../agent/models/completion.ts'
import type { CommandServices } from '../commands/command.ts'
import type { Engine } from '../engine/engine.ts'
import { acceptEvent } from '../inbox/queries.ts'
import { serializeEvent } from '../inbox/stored-event.ts'
import { HermesError, isHermesError, messageOf } from '../lib/errors.ts'
import { uuid7 } from '../lib/ids.ts'
import type { HookEventListener } from '../message/hook-events.ts'
import type { ChatMessage } from '../message/transcript.ts'
import { readTranscript, type TranscriptEntry } from '../sessions/transcript.ts'
import { applyCompression } from '../sessions/transcript-compression.ts'
import type { Store } from '../store/store.ts'
import type { Turn } from './turn/journal.ts'
import type { ChosenModel, TurnInfoFactory } from './turn/turn-info.ts'

export interface SessionCompressionDeps extends Omit<CompletionDeps, 'maxRetries'> {
  readonly store: Store
  readonly engine: Pick<Engine, 'wake'>
  /** On whose behalf a summary is asked for. */
  readonly turnInfoOf: TurnInfoFactory
  readonly emit: HookEventListener
  readonly settings: () => AgentConfig
  /** Whether the platform of this turn has its gateway events emitted. */
  emitsEvents(turn: Turn): boolean
  /** What the memory of plugins wants kept of these messages; '' for nothing. Never rejects. */
  insights(turn: Turn, messages: readonly ChatMessage[]): Promise<string>
}

/** All reject with the signal's reason, with `store/fenced` and as the store does. A summary that fails changes nothing. */
export interface SessionCompression extends Pick<CommandServices, 'compressSession'> {
  /** Resolves with the lines the turn works on: its own, byte for byte, unless the conversation is too long. */
  beforeTurn(turn: Turn, chosen: ChosenModel, system: string, signal: AbortSignal): Promise<readonly TranscriptEntry[]>
  /** The model found the conversation too long. Resolves with a shorter one; null: there is none. */
  afterContextOverflow(turn: Turn, chosen: ChosenModel, signal: AbortSignal): Promise<readonly ChatMessage[] | null>
  /** A person asks for it. Resolves with what he is told. */
  compressOnRequest(turn: Turn, focus: string, choose: () => Promise<ChosenModel>, signal: AbortSignal): Promise<string>
}

interface CompressionRequest {
  readonly turn: Turn
  readonly lines: readonly TranscriptEntry[]
  readonly chosen: ChosenModel
  readonly trigger: 'long' | 'refused' | 'asked'
  readonly focus: string
}

type SessionCompressionResult =
  | { readonly kind: 'done'; readonly lines: readonly TranscriptEntry[]; readonly compressed: CompressionResult }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'failed'; readonly error: unknown }

/** Of a long conversation at least this share must go, or it would be summed up anew at each turn. */
const minSavingsRatio = 0.1

export function createSessionCompression(deps: SessionCompressionDeps): SessionCompression {
  const { store, clock, log, settings } = deps
  const cooldown = createSummaryCooldown()

  async function compressAndStore(order: CompressionRequest, signal: AbortSignal): Promise<SessionCompressionResult> {
    const { turn, lines } = order
    const { sessionId } = turn
    try {
      const compressed = await summarizeConversation(deps, order, signal)
      if (compressed === undefined) return { kind: 'nothing' }
      deps.failpoint('compression:summarised')
      const stored = await store.run(() => applyCompression(turn.fence, sessionId, lines, compressed, clock()))
      deps.failpoint('compression:stored')
      cooldown.recordSuccess(sessionId)
      reportCompressed(turn, order.trigger, compressed, stored.count)
      return { kind: 'done', lines: stored.lines, compressed }
    } catch (error) {
      signal.throwIfAborted()
      if (isHermesError(error) && error.code.startsWith('store/')) throw error
      const waitMs = cooldown.recordFailure(sessionId, clock())
      log.warn(
        { session: turn.sessionKey, turn: turn.id, waitMs, error },
        `the conversation could not be compressed and stays as it is: ${messageOf(error)}`,
      )
      return { kind: 'failed', error }
    }
  }

  function reportCompressed(
    turn: Turn,
    why: string,
    { tokensBefore, tokensAfter }: CompressionResult,
    count: number,
  ): void {
    log.info(
      { session: turn.sessionKey, turn: turn.id, why, tokensBefore, tokensAfter, count },
      'conversation compressed',
    )
    if (!deps.emitsEvents(turn)) return
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
      const outcome = await compressAndStore({ turn, lines: transcript, chosen, trigger: 'long', focus: '' }, signal)
      return outcome.kind === 'done' ? outcome.lines : transcript
    },

    async afterContextOverflow(turn, chosen, signal) {
      if (!mayTry(turn)) return null
      const lines = await store.run(() => readTranscript(turn.sessionId))
      const outcome = await compressAndStore({ turn, lines, chosen, trigger: 'refused', focus: '' }, signal)
      return outcome.kind === 'done' ? outcome.lines.map(({ message }) => message) : null
    },

    async compressOnRequest(turn, focus, choose, signal) {
      const chosen = await choose().catch((error: unknown) => ({ error }))
      if ('error' in chosen) return failureText(chosen.error)
      const outcome = await compressAndStore({ turn, lines: turn.transcript, chosen, trigger: 'asked', focus }, signal)
      switch (outcome.kind) {
        case 'nothing':
          return 'There is nothing to compress: this conversation is still short.'
        case 'failed':
          return failureText(outcome.error)
        case 'done': {
          const { tokensBefore, tokensAfter } = outcome.compressed
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

/** Loaded with the first long conversation. */
async function summarizeConversation(
  deps: SessionCompressionDeps,
  order: CompressionRequest,
  signal: AbortSignal,
): Promise<CompressionResult | undefined> {
  const { compressTranscript } = await import('../agent/compression/compress-transcript.ts')
  const { turn, lines, trigger, focus } = order
  const settings = deps.settings()
  const { protect_first_n, protect_last_n, target_ratio } = settings.compression
  const tokens = estimateTokens(lines.map(({ message }) => message))
  const own = lines.findIndex(({ turnId }) => turnId === turn.id)
  const rules = {
    // What was refused is longer than the window, whatever the configuration says.
    contextLength: trigger === 'refused' ? Math.min(settings.context_length, tokens) : settings.context_length,
    threshold: compressionThreshold(settings),
    targetRatio: target_ratio,
    protectFirstMessages: protect_first_n,
    protectLastMessages: protect_last_n,
    turnStart: own === -1 ? lines.length : own,
    minTokensSaved: trigger === 'long' ? tokens * minSavingsRatio : 1,
  }
  return compressTranscript(
    lines,
    rules,
    { focus, insights: (messages) => deps.insights(turn, messages) },
    createSummaryRequest(deps, order, signal),
  )
}

/** A managed model call as any other; nobody watches its text grow. */
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
    const asked = { ...deps, maxRetries: () => deps.settings().agent.max_retries }
    return complete(asked, { provider, input, turn: deps.turnInfoOf(turn, { provider, model }), signal })
  }
}

function failureText(error: unknown): string {
  const hint = error instanceof HermesError ? ` ${error.hint}` : ''
  return `The conversation could not be compressed and stays as it is.${hint}\n\n> ${messageOf(error).slice(0, 500).toWellFormed()}`
}

function formatTokens(tokens: number): string {
  return Math.round(tokens).toLocaleString('en')
}
