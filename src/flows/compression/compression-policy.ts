/**
 * Keeps conversations within the context window of the model: decides before each turn, after each batch of tools and after a
 * context overflow whether a conversation is too long. What then happens is in compress-session.ts.
 */

import {
  compressionLimit,
  contextTokens,
  estimateTokens,
  excessTokens,
  isSurelyShort,
  ratioOfRequest,
  urgentShare,
} from '../../agent/compression/context-size.ts'
import { createSummaryCooldown } from '../../agent/compression/cooldown.ts'
import type { RequestSize } from '../../agent/loop/loop.ts'
import type { CountedContext } from '../../agent/loop/loop-state.ts'
import type { ChosenModel } from '../../agent/models/chosen-model.ts'
import type { SessionCompressor } from '../../commands/session.ts'
import { acceptEvent } from '../../inbox/queries.ts'
import { serializeEvent } from '../../inbox/stored-event.ts'
import { createLruCache } from '../../lib/cache.ts'
import { uuid7 } from '../../lib/ids.ts'
import { type ChatMessage, withoutImages } from '../../message/transcript.ts'
import { readTranscript, type TranscriptEntry } from '../../sessions/transcript.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { CompressionPolicyDeps, RunCompression } from './run-compression.ts'

/** All reject with the signal's reason, with `store/fenced` and as the store does. A failed summary changes nothing. */
export interface CompressionPolicy {
  /** For `/compress`. */
  readonly compressSession: SessionCompressor['compress']
  /**
   * Resolves with the transcript that the turn uses: unchanged unless the conversation is too long. Another turn is the same
   * turn in the session that continues the conversation; its system prompt is not built yet.
   */
  beforeTurn(
    turn: Turn,
    chosen: ChosenModel,
    system: string,
    signal: AbortSignal,
  ): Promise<{ readonly turn: Turn; readonly entries: readonly TranscriptEntry[] }>
  /** The provider has counted a request of the turn. */
  counted(turn: Turn, chosen: ChosenModel, request: RequestSize): void
  /** The tokens of the next request of a turn, if they are too many; null if they are few enough. */
  excess(
    chosen: ChosenModel,
    system: string,
    messages: readonly ChatMessage[],
    counted: CountedContext | null,
  ): number | null
  /** After tools have run: `tokens` are too many. Resolves with a shorter conversation, or null when it stays as it is. */
  afterTools(
    turn: Turn,
    chosen: ChosenModel,
    tokens: number,
    signal: AbortSignal,
  ): Promise<readonly ChatMessage[] | null>
  /** The model rejected the conversation as too long. Resolves with a shorter one, or null when it cannot be shortened. */
  afterContextOverflow(turn: Turn, chosen: ChosenModel, signal: AbortSignal): Promise<readonly ChatMessage[] | null>
  /** Requested by the user. Resolves with the reply. */
  compressOnRequest(turn: Turn, focus: string, choose: () => Promise<ChosenModel>, signal: AbortSignal): Promise<string>
}

/** Sessions and models whose counts are remembered. */
const maxRemembered = 1_000
/** No tokenizer counts more than twice the estimate of a whole conversation. */
const maxLearnedRatio = 2

export function createCompressionPolicy(deps: CompressionPolicyDeps): CompressionPolicy {
  const { store, clock, settings } = deps
  const cooldown = createSummaryCooldown()
  /** What the provider counted at the end of the latest turn of a session. */
  const counts = createLruCache<{ readonly turnId: string; readonly tokens: number }>(maxRemembered)
  /** Counted by estimated tokens, by model. */
  const ratios = createLruCache<number>(maxRemembered)

  const ratioKey = ({ provider, model }: ChosenModel) => `${provider.name}/${model}`
  const ratioOf = (chosen: ChosenModel) => ratios.get(ratioKey(chosen)) ?? 1
  const settingsOf = ({ contextLength }: ChosenModel) =>
    contextLength === undefined ? settings() : { ...settings(), context_length: contextLength }
  const seenBy = ({ provider, model }: ChosenModel, messages: readonly ChatMessage[]) =>
    provider.sees?.(model) === true ? messages : withoutImages(messages)
  const isUrgent = (tokens: number, chosen: ChosenModel) => tokens > settingsOf(chosen).context_length * urgentShare

  const compress: RunCompression = async (request, signal) => {
    const { compressSession } = await import('./run-compression.ts')
    const { chosen } = request
    const parts = { cooldown, ratio: ratioOf(chosen), settings: () => settingsOf(chosen) }
    const result = await compressSession({ ...deps, ...parts }, request, signal)
    if (result.kind === 'done') counts.delete(request.turn.sessionId)
    return result
  }

  /**
   * A rejected conversation fills the window, also where the provider counts nothing. Far fewer estimated tokens mean that the
   * window is smaller than configured.
   */
  function learnFromRejection(chosen: ChosenModel, messages: readonly ChatMessage[]): void {
    const least = settingsOf(chosen).context_length / Math.max(1, estimateTokens(messages))
    if (least > ratioOf(chosen) && least <= maxLearnedRatio) ratios.set(ratioKey(chosen), least)
  }

  /** The tokens before the first request of a turn. */
  function tokensBefore({ sessionId, transcript }: Turn, chosen: ChosenModel, system: string): number {
    const known = counts.get(sessionId)
    const at = known === undefined ? -1 : transcript.findLastIndex(({ turnId }) => turnId === known.turnId)
    const counted = known === undefined || at === -1 ? null : { tokens: known.tokens, messages: at + 1 }
    const messages = seenBy(
      chosen,
      transcript.map(({ message }) => message),
    )
    return contextTokens({ messages, counted, system, ratio: ratioOf(chosen) })
  }

  return {
    async beforeTurn(turn, chosen, system, signal) {
      const { transcript, sessionId } = turn
      const limit = compressionLimit(settingsOf(chosen))
      const messages = seenBy(
        chosen,
        transcript.map(({ message }) => message),
      )
      if (isSurelyShort({ messages, system }, limit)) return { turn, entries: transcript }
      const tokens = tokensBefore(turn, chosen, system)
      const maySummarize = cooldown.isOver(sessionId, clock()) || isUrgent(tokens, chosen)
      if (tokens <= limit || !settings().compression.enabled || !maySummarize) return { turn, entries: transcript }
      const trigger = isUrgent(tokens, chosen) ? 'urgent' : 'long'
      const result = await compress({ turn, entries: transcript, chosen, trigger, tokens, focus: '' }, signal)
      if (result.kind !== 'done') return { turn, entries: transcript }
      const { entries, newSessionId } = result
      if (newSessionId === undefined) return { turn, entries }
      return { turn: { ...turn, sessionId: newSessionId, systemPrompt: undefined, transcript: entries }, entries }
    },

    counted({ id, sessionId }, chosen, request) {
      counts.set(sessionId, { turnId: id, tokens: request.inputTokens + request.outputTokens })
      const ratio = ratioOfRequest({ ...request, messages: seenBy(chosen, request.messages) })
      if (ratio !== undefined) ratios.set(ratioKey(chosen), ratio)
    },

    excess: (chosen, system, messages, counted) =>
      excessTokens(settingsOf(chosen), {
        messages: seenBy(chosen, messages),
        system,
        counted,
        ratio: ratioOf(chosen),
      }),

    async afterTools(turn, chosen, tokens, signal) {
      const entries = await store.run(() => readTranscript(turn.sessionId))
      const trigger = isUrgent(tokens, chosen) ? 'urgent' : 'long'
      const result = await compress({ turn, entries, chosen, trigger, tokens, focus: '', isRunning: true }, signal)
      return result.kind === 'done' ? result.entries.map(({ message }) => message) : null
    },

    async afterContextOverflow(turn, chosen, signal) {
      if (!settings().compression.enabled) return null
      const entries = await store.run(() => readTranscript(turn.sessionId))
      learnFromRejection(
        chosen,
        entries.map(({ message }) => message),
      )
      const request = { turn, entries, chosen, trigger: 'overflow', tokens: 0, focus: '', isRunning: true } as const
      const result = await compress(request, signal)
      return result.kind === 'done' ? result.entries.map(({ message }) => message) : null
    },

    async compressOnRequest(turn, focus, choose, signal) {
      const chosen = await choose().catch((error: unknown) => ({ error }))
      const { failureText, resultText } = await import('./run-compression.ts')
      if ('error' in chosen) return failureText(chosen.error)
      const entries = turn.transcript
      return resultText(await compress({ turn, entries, chosen, trigger: 'requested', tokens: 0, focus }, signal))
    },

    compressSession(sessionKey, source, { focus, says }) {
      const key = `compress:${uuid7(clock())}`
      const { platform, account, chatId } = source
      return {
        *write(now) {
          const event = { source, text: '/compress', messageType: 'command', timestamp: now, internal: true } as const
          const payload = serializeEvent({ ...event, allowGatewayControl: false, compress: { focus } })
          yield* acceptEvent(
            { sessionKey, lane: 'turn', kind: 'internal', platform, account, chatId, payload },
            [key],
            now,
          )
          return says
        },
        committed: () => deps.engine.wake(sessionKey, 'turn'),
      }
    },
  }
}
