/**
 * Builds the `chat.completion` out of its `chat.completion.chunk`s.
 */

import { asString, isRecord } from '../../../lib/json.ts'
import { type MutableJsonObject, mergeDelta } from '../merge-delta.ts'
import { type JsonObject, ModelError } from '../provider.ts'
import { type CountChars, createResponseSizeLimit } from '../response-size-limit.ts'
import type { ResponseAggregator } from '../stream-response.ts'

/** More alternatives or calls than any request asks for: an index beyond is garbage. */
const MAX_INDEX = 1000

interface Choice {
  readonly fields: MutableJsonObject
  readonly message: MutableJsonObject
  readonly calls: MutableJsonObject[]
}

export function createChatAggregator(maxChars: number): ResponseAggregator {
  const spend = createResponseSizeLimit(maxChars)
  const top: MutableJsonObject = {}
  const choices = new Map<number, Choice>()
  let isMarked = false

  const choiceAt = (index: number): Choice => {
    let choice = choices.get(index)
    if (choice === undefined) {
      choice = { fields: { index, finish_reason: null }, message: { role: 'assistant', content: null }, calls: [] }
      choices.set(index, choice)
    }
    return choice
  }

  return {
    add(chunk) {
      const { choices: parts, obfuscation: _padding, ...rest } = chunk
      // Top-level fields describe the whole answer and are repeated (id, model, usage so far): the last one counts.
      for (const [key, value] of Object.entries(rest)) {
        if (key !== '__proto__' && (value !== null || top[key] === undefined)) top[key] = value
      }
      for (const part of arrayOrThrow(parts, 'choices')) addChoice(part, choiceAt, spend)
    },
    markDone() {
      isMarked = true
    },
    get isDone() {
      return isMarked
    },
    result() {
      // Some servers leave out `[DONE]`, some the finish reason; one of the two is enough, neither is a cut stream.
      const isFinished = isMarked || [...choices.values()].some((choice) => choice.fields['finish_reason'] !== null)
      if (!isFinished) return null
      if (choices.size === 0) throw new ModelError('bad-response', 'The model ended its stream without an answer.')
      const ordered = [...choices.entries()].sort(([a], [b]) => a - b).map(([, choice]) => finishChoice(choice))
      return { ...top, object: 'chat.completion', choices: ordered }
    },
  }
}

function addChoice(part: unknown, choiceAt: (index: number) => Choice, spend: CountChars): void {
  if (!isRecord(part)) throw invalidChunk('a choice')
  const { index = 0, delta, ...rest } = part
  if (!isIndex(index)) throw invalidChunk('the index of a choice')
  const choice = choiceAt(index)
  mergeDelta(choice.fields, rest, spend)
  if (delta === null || delta === undefined) return
  if (!isRecord(delta)) throw invalidChunk('a delta')
  const { tool_calls: calls, ...fields } = delta
  const { content } = fields
  if (content !== null && content !== undefined && typeof content !== 'string' && !Array.isArray(content)) {
    throw invalidChunk('the content of a delta')
  }
  mergeDelta(choice.message, fields, spend)
  for (const call of arrayOrThrow(calls, 'tool_calls')) addToolCallFragment(choice.calls, call, spend)
}

function addToolCallFragment(calls: MutableJsonObject[], fragment: unknown, spend: CountChars): void {
  if (!isRecord(fragment)) throw invalidChunk('a tool call')
  const { index, ...fields } = fragment
  if (index !== undefined && index !== null && !isIndex(index)) throw invalidChunk('the index of a tool call')
  const fn = fields['function']
  if (fn !== undefined && fn !== null && !isRecord(fn)) throw invalidChunk('the function of a tool call')
  mergeDelta(findOrAddToolCall(calls, fields, index), fields, spend)
}

/**
 * Which call a fragment continues. Servers number calls badly: some give every call the index 0, some give none, some
 * repeat the id. A fragment with another id and a name is a new call whatever its index says.
 */
function findOrAddToolCall(calls: MutableJsonObject[], fields: JsonObject, index: unknown): MutableJsonObject {
  const id = asString(fields['id'])
  const name = isRecord(fields['function']) ? asString(fields['function']['name']) : ''
  const last = calls.at(-1)
  const sameIndex = typeof index === 'number' ? calls.findLast((call) => call['index'] === index) : last
  const isNewCall = sameIndex !== undefined && id !== '' && name !== '' && asString(sameIndex['id']) !== id
  if (sameIndex !== undefined && !isNewCall) return sameIndex
  const call: MutableJsonObject = typeof index === 'number' ? { index } : {}
  calls.push(call)
  return call
}

function finishChoice(choice: Choice): JsonObject {
  // The index orders the stream; a finished message has none.
  const calls = choice.calls.map(({ index: _index, ...call }) => ({ type: 'function', ...call }))
  const message = calls.length === 0 ? choice.message : { ...choice.message, tool_calls: calls }
  return { ...choice.fields, message }
}

function isIndex(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < MAX_INDEX
}

function arrayOrThrow(value: unknown, what: string): readonly unknown[] {
  if (value === null || value === undefined) return []
  if (!Array.isArray(value)) throw invalidChunk(what)
  return value
}

function invalidChunk(what: string): ModelError {
  return new ModelError('bad-response', `The model sent a chunk in which ${what} has a wrong type.`)
}
