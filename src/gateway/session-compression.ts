/**
 * Keeps conversations within what the model can read: looks at their length before each turn and when the model refuses
 * one, has the agent room sum them up, and puts the result on disk under the fence of the turn.
 */

import { type CompletionDeps, complete } from '../agent/completion.ts'
import type { AskForSummary, Compressed } from '../agent/compression/compress.ts'
import { thresholdOf } from '../agent/compression/config.ts'
import { createCooldown } from '../agent/compression/cooldown.ts'
import { charsPerToken, tokensIn } from '../agent/compression/estimate.ts'
import type { AgentConfig } from '../agent/config.ts'
import type { CommandServices } from '../commands/command.ts'
import type { Engine } from '../engine/engine.ts'
import { acceptEvent } from '../inbox/queries.ts'
import { packEvent } from '../inbox/stored-event.ts'
import { HermesError, isHermesError, messageOf } from '../lib/errors.ts'
import { uuid7 } from '../lib/ids.ts'
import type { EventListener } from '../message/hook-events.ts'
import type { ChatMessage } from '../message/transcript.ts'
import { replaceLines } from '../sessions/compression.ts'
import { readTranscript, type TranscriptLine } from '../sessions/transcript.ts'
import type { Store } from '../store/store.ts'
import type { ChosenModel, FactsOf } from '../turn/facts.ts'
import type { Turn } from '../turn/journal.ts'

export interface SessionCompressionDeps extends Omit<CompletionDeps, 'maxRetries'> {
  readonly store: Store
  readonly engine: Pick<Engine, 'wake'>
  /** On whose behalf a summary is asked for. */
  readonly factsOf: FactsOf
  readonly emit: EventListener
  readonly settings: () => AgentConfig
  /** Whether the platform of this turn has its gateway events emitted. */
  watched(turn: Turn): boolean
  /** What the memory of plugins wants kept of these messages; '' for nothing. Never rejects. */
  insights(turn: Turn, messages: readonly ChatMessage[]): Promise<string>
}

/** All reject with the signal's reason, with `store/fenced` and as the store does. A summary that fails changes nothing. */
export interface SessionCompression extends Pick<CommandServices, 'compressSession'> {
  /** Resolves with the lines the turn works on: its own, byte for byte, unless the conversation is too long. */
  beforeTurn(turn: Turn, chosen: ChosenModel, system: string, signal: AbortSignal): Promise<readonly TranscriptLine[]>
  /** The model found the conversation too long. Resolves with a shorter one; null: there is none. */
  afterRefusal(turn: Turn, chosen: ChosenModel, signal: AbortSignal): Promise<readonly ChatMessage[] | null>
  /** A person asks for it. Resolves with what he is told. */
  byHand(turn: Turn, focus: string, choose: () => Promise<ChosenModel>, signal: AbortSignal): Promise<string>
}

interface Order {
  readonly turn: Turn
  readonly lines: readonly TranscriptLine[]
  readonly chosen: ChosenModel
  readonly why: 'long' | 'refused' | 'asked'
  readonly focus: string
}

type Outcome =
  | { readonly kind: 'done'; readonly lines: readonly TranscriptLine[]; readonly compressed: Compressed }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'failed'; readonly error: unknown }

/** Of a long conversation at least this share must go, or it would be summed up anew at each turn. */
const worthwhileShare = 0.1

export function createSessionCompression(deps: SessionCompressionDeps): SessionCompression {
  const { store, clock, log, settings } = deps
  const cooldown = createCooldown()

  async function carryOut(order: Order, signal: AbortSignal): Promise<Outcome> {
    const { turn, lines } = order
    const { sessionId } = turn
    try {
      const compressed = await shorten(deps, order, signal)
      if (compressed === undefined) return { kind: 'nothing' }
      deps.probe('compression:summarised')
      const stored = await store.run(() => replaceLines(turn.fence, sessionId, lines, compressed, clock()))
      deps.probe('compression:stored')
      cooldown.succeeded(sessionId)
      tell(turn, order.why, compressed, stored.count)
      return { kind: 'done', lines: stored.lines, compressed }
    } catch (error) {
      signal.throwIfAborted()
      if (isHermesError(error) && error.code.startsWith('store/')) throw error
      const waitMs = cooldown.failed(sessionId, clock())
      log.warn(
        { session: turn.sessionKey, turn: turn.id, waitMs, error },
        `the conversation could not be compressed and stays as it is: ${messageOf(error)}`,
      )
      return { kind: 'failed', error }
    }
  }

  function tell(turn: Turn, why: string, { tokensBefore, tokensAfter }: Compressed, count: number): void {
    log.info(
      { session: turn.sessionKey, turn: turn.id, why, tokensBefore, tokensAfter, count },
      'conversation compressed',
    )
    if (!deps.watched(turn)) return
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
      const { lines } = turn
      const most = settings().context_length * thresholdOf(settings())
      const tokens = tokensIn(lines.map(({ message }) => message)) + system.length / charsPerToken
      if (tokens <= most || !mayTry(turn)) return lines
      const outcome = await carryOut({ turn, lines, chosen, why: 'long', focus: '' }, signal)
      return outcome.kind === 'done' ? outcome.lines : lines
    },

    async afterRefusal(turn, chosen, signal) {
      if (!mayTry(turn)) return null
      const lines = await store.run(() => readTranscript(turn.sessionId))
      const outcome = await carryOut({ turn, lines, chosen, why: 'refused', focus: '' }, signal)
      return outcome.kind === 'done' ? outcome.lines.map(({ message }) => message) : null
    },

    async byHand(turn, focus, choose, signal) {
      const chosen = await choose().catch((error: unknown) => ({ error }))
      if ('error' in chosen) return failureText(chosen.error)
      const outcome = await carryOut({ turn, lines: turn.lines, chosen, why: 'asked', focus }, signal)
      switch (outcome.kind) {
        case 'nothing':
          return 'There is nothing to compress: this conversation is still short.'
        case 'failed':
          return failureText(outcome.error)
        case 'done': {
          const { tokensBefore, tokensAfter } = outcome.compressed
          return `Compressed: this conversation had about ${inWords(tokensBefore)} tokens, now it has ${inWords(tokensAfter)}. What was said stays in the history.`
        }
      }
    },

    compressSession(sessionKey, source, { focus, says }) {
      const key = `compress:${uuid7(clock())}`
      const { platform, account, chatId } = source
      return {
        *write(now) {
          const event = { source, text: '/compress', messageType: 'command', timestamp: now, internal: true } as const
          const payload = packEvent(
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
async function shorten(
  deps: SessionCompressionDeps,
  order: Order,
  signal: AbortSignal,
): Promise<Compressed | undefined> {
  const { compress } = await import('../agent/compression/compress.ts')
  const { turn, lines, why, focus } = order
  const settings = deps.settings()
  const { protect_first_n, protect_last_n, target_ratio } = settings.compression
  const tokens = tokensIn(lines.map(({ message }) => message))
  const own = lines.findIndex(({ turnId }) => turnId === turn.id)
  const rules = {
    // What was refused is longer than the window, whatever the configuration says.
    contextLength: why === 'refused' ? Math.min(settings.context_length, tokens) : settings.context_length,
    threshold: thresholdOf(settings),
    targetRatio: target_ratio,
    protectFirst: protect_first_n,
    protectLast: protect_last_n,
    turnStart: own === -1 ? lines.length : own,
    minGain: why === 'long' ? tokens * worthwhileShare : 1,
  }
  return compress(
    lines,
    rules,
    { focus, insights: (messages) => deps.insights(turn, messages) },
    askForSummary(deps, order, signal),
  )
}

/** A managed model call as any other; nobody watches its text grow. */
function askForSummary(deps: SessionCompressionDeps, { turn, chosen }: Order, signal: AbortSignal): AskForSummary {
  const { provider } = chosen
  return async ({ system, messages }) => {
    const settings = deps.settings()
    const model = settings.auxiliary.compression.model || settings.compression.summary_model || chosen.model
    const { max_output_tokens: maxOutputTokens } = settings
    const length = maxOutputTokens === undefined ? {} : { maxOutputTokens }
    const input = { model, system, messages, tools: [], ...length }
    const asked = { ...deps, maxRetries: () => deps.settings().agent.max_retries }
    return complete(asked, { provider, input, turn: deps.factsOf(turn, { provider, model }), signal })
  }
}

function failureText(error: unknown): string {
  const hint = error instanceof HermesError ? ` ${error.hint}` : ''
  return `The conversation could not be compressed and stays as it is.${hint}\n\n> ${messageOf(error).slice(0, 500).toWellFormed()}`
}

function inWords(tokens: number): string {
  return Math.round(tokens).toLocaleString('en')
}
