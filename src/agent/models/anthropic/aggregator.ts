/**
 * Builds the `message` out of the events of Anthropic's stream.
 */

import { asString, isRecord, parseJson } from '../../../lib/json.ts'
import { type MutableJsonObject, mergeDelta } from '../merge-delta.ts'
import { type JsonObject, ModelError } from '../provider.ts'
import { type CountChars, createResponseSizeLimit } from '../response-size-limit.ts'
import type { ResponseAggregator } from '../stream-response.ts'

const MAX_INDEX = 1000

interface ContentBlock {
  readonly fields: MutableJsonObject
  /** The input of a tool as it is written, piece by piece. */
  json: string
}

export function createAnthropicAggregator(maxChars: number): ResponseAggregator {
  const spend = createResponseSizeLimit(maxChars)
  const blocks = new Map<number, ContentBlock>()
  let message: MutableJsonObject | undefined
  let isStopped = false

  const takeEvent = (event: JsonObject): void => {
    switch (event['type']) {
      case 'message_start':
        message = copyObject(event['message'], 'message', spend)
        return
      case 'content_block_start': {
        const fields = copyObject(event['content_block'], 'content_block', spend)
        blocks.set(parseIndex(event), { fields, json: '' })
        return
      }
      case 'content_block_delta': {
        const block = blocks.get(parseIndex(event))
        if (block === undefined || !isRecord(event['delta'])) throw invalidEvent('a content_block_delta')
        addToBlock(block, event['delta'], spend)
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
  }

  return {
    add: takeEvent,
    markDone: () => undefined,
    get isDone() {
      return isStopped
    },
    result() {
      if (!isStopped) return null
      if (message === undefined) throw invalidEvent('a stream without a message')
      const ordered = [...blocks.entries()].sort(([a], [b]) => a - b)
      return { ...message, content: ordered.map(([, block]) => finishBlock(block)) }
    },
  }
}

function addToBlock(block: ContentBlock, delta: JsonObject, spend: CountChars): void {
  const { type, ...fields } = delta
  if (type === 'input_json_delta') {
    const piece = fields['partial_json']
    if (typeof piece !== 'string') throw invalidEvent('an input_json_delta')
    spend(piece.length)
    block.json += piece
  } else if (type === 'citations_delta') {
    mergeDelta(block.fields, { citations: [fields['citation']] }, spend)
  } else {
    // text_delta, thinking_delta and signature_delta name the field that grows.
    for (const key of ['text', 'thinking', 'signature']) {
      if (fields[key] !== undefined && typeof fields[key] !== 'string') throw invalidEvent(`the ${key} of a delta`)
    }
    mergeDelta(block.fields, fields, spend)
  }
}

/** Counts and reasons so far; later ones replace earlier ones and null replaces nothing. */
function addToMessage(message: MutableJsonObject, event: JsonObject): void {
  const { type: _type, delta, usage, ...rest } = event
  const counted = isRecord(message['usage']) ? message['usage'] : {}
  Object.assign(message, withoutNulls(rest), withoutNulls(delta), { usage: { ...counted, ...withoutNulls(usage) } })
}

function withoutNulls(value: unknown): JsonObject {
  if (!isRecord(value)) return {}
  return Object.fromEntries(Object.entries(value).filter(([key, entry]) => entry !== null && key !== '__proto__'))
}

function finishBlock(block: ContentBlock): JsonObject {
  if (block.json === '') return block.fields
  const input = parseJson(block.json)
  // An input that was cut off or is not JSON is kept as the text it is: the loop tells the model what was wrong.
  return { ...block.fields, input: isRecord(input) ? input : block.json }
}

function copyObject(value: unknown, what: string, spend: CountChars): MutableJsonObject {
  if (!isRecord(value)) throw invalidEvent(`the ${what}`)
  const copy: MutableJsonObject = {}
  mergeDelta(copy, value, spend)
  return copy
}

function parseIndex(event: JsonObject): number {
  const { index } = event
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= MAX_INDEX) {
    throw invalidEvent('the index of a content block')
  }
  return index
}

function invalidEvent(what: string): ModelError {
  return new ModelError('bad-response', `The model sent an event it should not have sent: ${asString(what)}.`)
}
