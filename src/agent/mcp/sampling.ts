/**
 * Answers requests of MCP servers for a text of a model (MCP, sampling), where `sampling.enabled` allows it. Only texts: a server
 * gets neither tools nor pictures.
 */
import {
  type CreateMessageRequest,
  type CreateMessageResult,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/client'
import { messageOf } from '../../lib/errors.ts'
import { asArray, asRecord, asString } from '../../lib/json.ts'
import type { Logger } from '../../lib/log.ts'
import type { ChatMessage } from '../../message/transcript.ts'
import type { AuxiliaryModel } from '../models/auxiliary.ts'
import type { McpServerConfig } from './config.ts'
import { cleanText } from './names.ts'

export type AnswerSampling = (
  params: CreateMessageRequest['params'],
  signal: AbortSignal,
) => Promise<CreateMessageResult>

export interface SamplingDeps {
  readonly server: string
  readonly settings: Pick<McpServerConfig['sampling'], 'max_tokens_cap' | 'max_rpm'> &
    Partial<Pick<McpServerConfig['sampling'], 'model' | 'allowed_models' | 'timeout'>>
  readonly model: Pick<AuxiliaryModel, 'complete'>
  /** ms */
  readonly clock: () => number
  readonly log: Logger
}

const maxMessages = 100
const maxTextChars = 100_000
const minuteMs = 60_000

export function createSampling({ server, settings, model, clock, log }: SamplingDeps): AnswerSampling {
  let recent: readonly number[] = []
  return async (params, signal) => {
    const now = clock()
    recent = recent.filter((at) => now - at < minuteMs)
    if (recent.length >= settings.max_rpm) {
      log.warn({ event: 'mcp.sampling_limited', server }, 'an MCP server asks for too many texts')
      throw new ProtocolError(ProtocolErrorCode.InvalidRequest, `more than ${settings.max_rpm} requests in a minute`)
    }
    recent = [...recent, now]
    const input = {
      system: cleanText(asString(params.systemPrompt), maxTextChars),
      messages: params.messages.slice(-maxMessages).map(toChatMessage),
      tools: [],
      maxOutputTokens: Math.min(params.maxTokens, settings.max_tokens_cap),
    }
    log.info({ event: 'mcp.sampling', server, messages: input.messages.length }, 'an MCP server asks for a text')
    const named = chosenModel(settings, params)
    const seconds = settings.timeout
    const limit = seconds === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(seconds * 1_000)])
    try {
      const { text, finishReason, model: name } = await model.complete({ input, signal: limit, model: named })
      const stopReason = finishReason === 'length' ? 'maxTokens' : 'endTurn'
      return { role: 'assistant', content: { type: 'text', text }, model: name, stopReason }
    } catch (error) {
      signal.throwIfAborted()
      log.warn({ event: 'mcp.sampling_failed', server, err: error }, 'no model answered an MCP server')
      throw new ProtocolError(ProtocolErrorCode.InternalError, `no model answered: ${cleanText(messageOf(error), 200)}`)
    }
  }
}

/** The configured model, or the first one that the server names and may choose; undefined for the usual one. */
function chosenModel(
  { model = '', allowed_models: allowed = [] }: SamplingDeps['settings'],
  { modelPreferences }: CreateMessageRequest['params'],
): string | undefined {
  if (model !== '') return model
  return modelPreferences?.hints?.map(({ name = '' }) => name).find((name) => allowed.includes(name))
}

function toChatMessage({ role, content }: CreateMessageRequest['params']['messages'][number]): ChatMessage {
  const parts = Array.isArray(content) ? asArray(content) : [content]
  const text = parts.map((part) => asString(asRecord(part)['text'])).filter((partText) => partText !== '')
  const cleaned = cleanText(text.join('\n'), maxTextChars)
  return role === 'user' ? { role: 'user', content: cleaned } : { role: 'assistant', content: cleaned }
}
