/**
 * Builds the `message` out of the events of Anthropic's stream.
 */
import { type JsonObject, ModelError } from '../provider.ts'
import { isRecord, parseJson, str } from './json.ts'
import { type MutableJson, mergeDelta } from './merge-delta.ts'
import type { Aggregate } from './stream-call.ts'
import { createTextBudget, type SpendChars } from './text-budget.ts'

const MAX_INDEX = 1000

interface Block {
  readonly fields: MutableJson
  /** The input of a tool as it is written, piece by piece. */
  json: string
}

export function createAnthropicAggregate(maxChars: number): Aggregate {
  const spend = createTextBudget(maxChars)
  const blocks = new Map<number, Block>()
  let message: MutableJson | undefined
  let isStopped = false

  const takeEvent = (event: JsonObject): void => {
    switch (event['type']) {
      case 'message_start':
        message = copyOf(event['message'], 'message', spend)
        return
      case 'content_block_start': {
        const fields = copyOf(event['content_block'], 'content_block', spend)
        blocks.set(indexOf(event), { fields, json: '' })
        return
      }
      case 'content_block_delta': {
        const block = blocks.get(indexOf(event))
        if (block === undefined || !isRecord(event['delta'])) throw wrong('a content_block_delta')
        addToBlock(block, event['delta'], spend)
        return
      }
      case 'message_delta':
        if (message === undefined) throw wrong('a message_delta before the message')
        addToMessage(message, event)
        return
      case 'message_stop':
        isStopped = true
        return
      default:
        // Pings, ends of blocks, and events that are newer than this code.
        if (typeof event['type'] !== 'string') throw wrong('an event without a type')
    }
  }

  return {
    add: takeEvent,
    mark: () => undefined,
    get isDone() {
      return isStopped
    },
    result() {
      if (!isStopped) return null
      if (message === undefined) throw wrong('a stream without a message')
      const ordered = [...blocks.entries()].sort(([a], [b]) => a - b)
      return { ...message, content: ordered.map(([, block]) => finished(block)) }
    },
  }
}

function addToBlock(block: Block, delta: JsonObject, spend: SpendChars): void {
  const { type, ...fields } = delta
  if (type === 'input_json_delta') {
    const piece = fields['partial_json']
    if (typeof piece !== 'string') throw wrong('an input_json_delta')
    spend(piece.length)
    block.json += piece
  } else if (type === 'citations_delta') {
    mergeDelta(block.fields, { citations: [fields['citation']] }, spend)
  } else {
    // text_delta, thinking_delta and signature_delta name the field that grows.
    for (const key of ['text', 'thinking', 'signature']) {
      if (fields[key] !== undefined && typeof fields[key] !== 'string') throw wrong(`the ${key} of a delta`)
    }
    mergeDelta(block.fields, fields, spend)
  }
}

/** Counts and reasons so far; later ones replace earlier ones and null replaces nothing. */
function addToMessage(message: MutableJson, event: JsonObject): void {
  const { type: _type, delta, usage, ...rest } = event
  const counted = isRecord(message['usage']) ? message['usage'] : {}
  Object.assign(message, withoutNulls(rest), withoutNulls(delta), { usage: { ...counted, ...withoutNulls(usage) } })
}

function withoutNulls(value: unknown): JsonObject {
  if (!isRecord(value)) return {}
  return Object.fromEntries(Object.entries(value).filter(([key, entry]) => entry !== null && key !== '__proto__'))
}

function finished(block: Block): JsonObject {
  if (block.json === '') return block.fields
  const input = parseJson(block.json)
  // An input that was cut off or is not JSON is kept as the text it is: the loop tells the model what was wrong.
  return { ...block.fields, input: isRecord(input) ? input : block.json }
}

function copyOf(value: unknown, what: string, spend: SpendChars): MutableJson {
  if (!isRecord(value)) throw wrong(`the ${what}`)
  const copy: MutableJson = {}
  mergeDelta(copy, value, spend)
  return copy
}

function indexOf(event: JsonObject): number {
  const { index } = event
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= MAX_INDEX) {
    throw wrong('the index of a content block')
  }
  return index
}

function wrong(what: string): ModelError {
  return new ModelError('bad-response', `The model sent an event it should not have sent: ${str(what)}.`)
}
