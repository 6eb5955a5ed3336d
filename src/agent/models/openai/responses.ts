/**
 * The wire format of OpenAI's Responses API (the api mode `codex_responses`).
 */

import type { JsonObject } from '../../../lib/json.ts'
import { asArray, asNumber, asRecord, asString, isRecord } from '../../../lib/json.ts'
import { type ImagePart, noUsage, type ToolCall } from '../../../message/transcript.ts'
import type { ModelRequest } from '../../support/model-request.ts'
import { classifyFailure, parseProviderFailure } from '../map-provider-error.ts'
import {
  type NormalizedAssistantMessage,
  type NormalizedMessage,
  normalizeMessages,
  pictureAddress,
} from '../normalize-messages.ts'
import { ModelError, type ModelOutput, type RequestInput, type TextDelta } from '../provider.ts'
import { createResponseSizeLimit, extractUsage, hasOutput, valuesByIndex } from '../response-json.ts'
import type { ResponseAggregator, WireFormat } from '../wire-format.ts'

export const responsesFormat: WireFormat = {
  apiMode: 'codex_responses',
  buildRequest: buildResponsesRequest,
  createAggregator: createResponsesAggregator,
  isProgress: isResponsesProgress,
  parseDelta: parseResponsesDelta,
  parseResponse: parseResponsesResponse,
}

// Request. Nothing is stored at the vendor: each request contains the whole conversation, with encrypted reasoning.

function buildResponsesRequest(input: RequestInput): ModelRequest {
  return {
    model: input.model,
    ...(input.system === '' ? {} : { instructions: input.system.toWellFormed() }),
    input: normalizeMessages(input.messages, 'codex_responses', input.showsPictures).flatMap(toInputItems),
    ...(input.tools.length === 0 ? {} : { tools: input.tools.map(toResponsesTool) }),
    ...reasoningSettings(input),
    ...(input.maxOutputTokens === undefined ? {} : { max_output_tokens: input.maxOutputTokens }),
    store: false,
    include: ['reasoning.encrypted_content'],
    stream: true,
  }
}

/** The vendor gives a summary of the reasoning only on demand. */
function reasoningSettings({ reasoningEffort: effort, showsReasoning }: RequestInput): JsonObject {
  const shown = showsReasoning === true && effort !== 'none' ? { summary: 'auto' } : {}
  const fields = { ...(effort === undefined ? {} : { effort }), ...shown }
  return Object.keys(fields).length === 0 ? {} : { reasoning: fields }
}

function toResponsesTool({ name, description, parameters }: RequestInput['tools'][number]): JsonObject {
  // `strict` defaults to true here, and most schemas do not meet its requirements.
  return { type: 'function', name, description, parameters, strict: false }
}

function toInputItems(message: NormalizedMessage): readonly unknown[] {
  switch (message.role) {
    case 'user':
      return message.parts === undefined
        ? message.texts.map((content) => ({ role: 'user', content }))
        : [{ role: 'user', content: message.parts.map(toInputPart) }]
    case 'results':
      return message.results.map(({ id, text, images }) => ({
        type: 'function_call_output',
        call_id: id,
        output: images === undefined ? text : [text, ...images].map(toInputPart),
      }))
    case 'assistant': {
      if (matchesTranscript(message.items, message)) return message.items
      const texts = message.texts.map((content) => ({ role: 'assistant', content }))
      const calls = message.calls.map((call) => ({
        type: 'function_call',
        call_id: call.id,
        name: call.name,
        arguments: call.arguments,
      }))
      return [...texts, ...calls]
    }
  }
}

function toInputPart(part: string | ImagePart): JsonObject {
  if (typeof part === 'string') return { type: 'input_text', text: part }
  return { type: 'input_image', image_url: pictureAddress(part), detail: 'auto' }
}

/**
 * Whether the vendor's own items still have the content of the transcript. They do not when a text was changed, a call
 * renamed or an id replaced afterwards. Reasoning without its encrypted content cannot be used by the vendor.
 */
function matchesTranscript(items: readonly unknown[], message: NormalizedAssistantMessage): boolean {
  const records = items.filter(isRecord)
  if (records.length === 0 || records.length !== items.length) return false
  const isEncrypted = records.every(
    (item) => item['type'] !== 'reasoning' || asString(item['encrypted_content']) !== '',
  )
  const calls = records.filter((item) => item['type'] === 'function_call')
  const hasSameCalls =
    calls.length === message.calls.length &&
    message.calls.every((call, at) => {
      const item = calls[at]
      return item?.['call_id'] === call.id && item['name'] === call.name && item['arguments'] === call.arguments
    })
  return isEncrypted && hasSameCalls && outputText(records).trim() === message.texts.join('').trim()
}

// Response

function parseResponsesDelta(chunk: JsonObject): TextDelta | null {
  const text = asString(chunk['delta'])
  if (text === '') return null
  switch (chunk['type']) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      return { kind: 'text', text }
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
      return { kind: 'reasoning', text }
    default:
      return null
  }
}

/** Servers repeat these events while the response is being prepared. */
const WAITING_EVENTS = new Set(['response.created', 'response.in_progress', 'response.queued', 'keepalive', 'ping'])

function isResponsesProgress({ type, delta }: JsonObject): boolean {
  return delta === undefined ? !WAITING_EVENTS.has(asString(type)) : hasOutput(delta)
}

function parseResponsesResponse(response: JsonObject): ModelOutput {
  const { output, status } = response
  if (status === 'failed') {
    const failure = parseProviderFailure(response)
    throw new ModelError(classifyFailure(failure), `The model reported an error: ${failure.message || failure.code}`)
  }
  if (!Array.isArray(output)) {
    throw new ModelError(
      'bad-response',
      'The response contains no output; a response of the Responses API was expected.',
    )
  }
  const items = asArray(output).filter(isRecord)
  const toolCalls = parseToolCalls(items, asString(response['id']))
  const reasoning = reasoningText(items)
  return {
    text: outputText(items),
    toolCalls,
    usage: extractUsage(response) ?? noUsage,
    finishReason: toFinishReason(response, toolCalls.length > 0),
    ...(reasoning === '' ? {} : { reasoning }),
    ...(items.some(cannotBeRebuilt) ? { providerItems: items } : {}),
  }
}

/** The summaries of the reasoning, or its text where a server gives it. The vendor encrypts the rest. */
function reasoningText(items: readonly JsonObject[]): string {
  return items
    .filter((item) => item['type'] === 'reasoning')
    .flatMap((item) => [...asArray(item['summary']), ...asArray(item['content'])])
    .filter(isRecord)
    .map((part) => asString(part['text']))
    .join('\n\n')
}

function outputText(items: readonly JsonObject[]): string {
  return items
    .filter((item) => item['type'] === 'message')
    .flatMap((item) => asArray(item['content']))
    .filter(isRecord)
    .map((part) => asString(part['text']) || asString(part['refusal']))
    .join('')
}

/** Plain texts and calls can be rebuilt from the transcript; reasoning and the phase of a message cannot. */
function cannotBeRebuilt(item: JsonObject): boolean {
  if (item['type'] === 'message') return asString(item['phase']) !== ''
  return item['type'] !== 'function_call'
}

function parseToolCalls(items: readonly JsonObject[], responseId: string): ToolCall[] {
  return items
    .filter((item) => item['type'] === 'function_call')
    .map((item, position) => ({
      id: asString(item['call_id']) || asString(item['id']) || `call_${responseId || 'response'}_${position}`,
      name: asString(item['name']),
      arguments: asString(item['arguments']),
    }))
}

function toFinishReason(response: JsonObject, hasCalls: boolean): string {
  const reason = asString(asRecord(response['incomplete_details'])['reason'])
  if (response['status'] === 'incomplete' || reason !== '') {
    return reason === 'max_output_tokens' ? 'length' : reason || 'length'
  }
  return hasCalls ? 'tool_calls' : 'stop'
}

// Stream: the last event contains the whole response, so that only the size has to be limited before.

function createResponsesAggregator(maxChars: number): ResponseAggregator {
  const countChars = createResponseSizeLimit(maxChars)
  const items = new Map<number, unknown>()
  let final: JsonObject | null = null
  return {
    add(chunk) {
      const { type, delta, response } = chunk
      if (typeof type !== 'string') throw new ModelError('bad-response', 'The model sent an event without a type.')
      countChars(asString(delta).length)
      if (type === 'response.output_item.done') items.set(asNumber(chunk['output_index']), chunk['item'])
      if (type !== 'response.completed' && type !== 'response.incomplete') return
      if (!isRecord(response))
        throw new ModelError('bad-response', 'The model sent its final event without a response.')
      // Some servers leave the output of the final event empty, because they sent the items before.
      const output = asArray(response['output']).length > 0 ? response['output'] : valuesByIndex(items)
      final = { ...response, output }
    },
    markDone: () => undefined,
    get isDone() {
      return final !== null
    },
    result: () => final,
  }
}
