/**
 * Reads the responses of Anthropic's Messages API: the events of a stream and the final message.
 */

import type { JsonObject } from '../../../lib/json.ts'
import { asRecord, asString, isRecord, parseJson } from '../../../lib/json.ts'
import { noUsage, type ToolCall } from '../../../message/transcript.ts'
import { ModelError, type ModelOutput, type TextDelta } from '../provider.ts'
import {
  type CountChars,
  createResponseSizeLimit,
  extractUsage,
  hasOutput,
  isIndex,
  type MutableJsonObject,
  mergeDelta,
  valuesByIndex,
} from '../response-json.ts'
import type { ResponseAggregator } from '../wire-format.ts'

export function parseAnthropicDelta(chunk: JsonObject): TextDelta | null {
  if (chunk['type'] !== 'content_block_delta') return null
  const delta = asRecord(chunk['delta'])
  const text = asString(delta['text'])
  if (text !== '') return { kind: 'text', text }
  const thinking = asString(delta['thinking'])
  return thinking === '' ? null : { kind: 'reasoning', text: thinking }
}

export function isAnthropicProgress({ type, delta }: JsonObject): boolean {
  return type === 'content_block_delta' ? hasOutput(delta) : type !== 'ping'
}

export function parseAnthropicResponse(response: JsonObject): ModelOutput {
  const { content } = response
  if (!Array.isArray(content)) {
    throw new ModelError(
      'bad-response',
      'The response contains no content; a message of the Messages API was expected.',
    )
  }
  const blocks = content.filter(isRecord)
  const reason = asString(response['stop_reason'])
  const reasoning = blocks.map((block) => asString(block['thinking'])).join('')
  return {
    text: blocks
      .filter((block) => block['type'] === 'text')
      .map((block) => asString(block['text']))
      .join(''),
    toolCalls: blocks.filter((block) => block['type'] === 'tool_use').map(parseToolCall),
    usage: extractUsage(response) ?? noUsage,
    finishReason: FINISH_REASONS[reason] ?? (reason || 'stop'),
    ...(reasoning === '' ? {} : { reasoning }),
    // Texts and calls can be rebuilt from the transcript; signed thinking cannot.
    ...(blocks.some((block) => !REBUILDABLE_BLOCK_TYPES.has(asString(block['type']))) ? { providerItems: blocks } : {}),
  }
}

const REBUILDABLE_BLOCK_TYPES = new Set(['text', 'tool_use'])

const FINISH_REASONS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
}

function parseToolCall(block: JsonObject, position: number): ToolCall {
  const { input } = block
  return {
    id: asString(block['id']) || `toolu_${position}`,
    name: asString(block['name']),
    arguments: typeof input === 'string' ? input : JSON.stringify(input ?? {}),
  }
}

interface ContentBlock {
  readonly fields: MutableJsonObject
  /** The input of a tool, as received so far. */
  json: string
}

/** Builds the `message` from the events of a stream. */
export function createAnthropicAggregator(maxChars: number): ResponseAggregator {
  const countChars = createResponseSizeLimit(maxChars)
  const blocks = new Map<number, ContentBlock>()
  let message: MutableJsonObject | undefined
  let isStopped = false
  return {
    add(event) {
      switch (event['type']) {
        case 'message_start':
          // A proxy that tries again sends the second response in the stream of the first, which it does not complete.
          blocks.clear()
          message = copyObject(event['message'], 'message', countChars)
          return
        case 'content_block_start': {
          const fields = copyObject(event['content_block'], 'content_block', countChars)
          blocks.set(parseIndex(event), { fields, json: '' })
          return
        }
        case 'content_block_delta': {
          const block = blocks.get(parseIndex(event))
          if (block === undefined || !isRecord(event['delta'])) throw invalidEvent('a content_block_delta')
          addToBlock(block, event['delta'], countChars)
          return
        }
        case 'message_delta':
          if (message === undefined) throw invalidEvent('a message_delta before the message')
          addToMessage(message, event)
          return
        case 'message_stop':
          isStopped = true
          return
        default:
          // Pings, ends of blocks, and events that are newer than this code.
          if (typeof event['type'] !== 'string') throw invalidEvent('an event without a type')
      }
    },
    markDone: () => undefined,
    get isDone() {
      return isStopped
    },
    result() {
      if (!isStopped) return null
      if (message === undefined) throw invalidEvent('a stream without a message')
      return { ...message, content: valuesByIndex(blocks).map(finishBlock) }
    },
  }
}

function addToBlock(block: ContentBlock, delta: JsonObject, countChars: CountChars): void {
  const { type, ...fields } = delta
  if (type === 'input_json_delta') {
    const piece = fields['partial_json']
    if (typeof piece !== 'string') throw invalidEvent('an input_json_delta')
    countChars(piece.length)
    block.json += piece
  } else if (type === 'citations_delta') {
    mergeDelta(block.fields, { citations: [fields['citation']] }, countChars)
  } else {
    // text_delta, thinking_delta and signature_delta contain the field that grows.
    for (const key of ['text', 'thinking', 'signature']) {
      if (fields[key] !== undefined && typeof fields[key] !== 'string') throw invalidEvent(`the ${key} of a delta`)
    }
    mergeDelta(block.fields, fields, countChars)
  }
}

/** Token counts and the stop reason: later values replace earlier ones, but null replaces nothing. */
function addToMessage(message: MutableJsonObject, event: JsonObject): void {
  const { type: _type, delta, usage, ...rest } = event
  const previousUsage = asRecord(message['usage'])
  Object.assign(message, withoutNulls(rest), withoutNulls(delta), {
    usage: { ...previousUsage, ...withoutNulls(usage) },
  })
}

function withoutNulls(value: unknown): JsonObject {
  return Object.fromEntries(
    Object.entries(asRecord(value)).filter(([key, entry]) => entry !== null && key !== '__proto__'),
  )
}

function finishBlock(block: ContentBlock): JsonObject {
  if (block.json === '') return block.fields
  const input = parseJson(block.json)
  // An input that was cut off or is not JSON stays a string: the loop reports the error to the model.
  return { ...block.fields, input: isRecord(input) ? input : block.json }
}

function copyObject(value: unknown, what: string, countChars: CountChars): MutableJsonObject {
  if (!isRecord(value)) throw invalidEvent(`the ${what}`)
  const copy: MutableJsonObject = {}
  mergeDelta(copy, value, countChars)
  return copy
}

function parseIndex({ index }: JsonObject): number {
  if (!isIndex(index)) throw invalidEvent('the index of a content block')
  return index
}

function invalidEvent(what: string): ModelError {
  return new ModelError('bad-response', `The model sent an unexpected event: ${what}.`)
}
