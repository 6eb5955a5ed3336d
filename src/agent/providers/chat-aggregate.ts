/**
 * Builds the `chat.completion` out of its `chat.completion.chunk`s.
 */
import { type JsonObject, ModelError } from '../provider.ts'
import { isRecord, str } from './json.ts'
import { type MutableJson, mergeDelta } from './merge-delta.ts'
import type { Aggregate } from './stream-call.ts'
import { createTextBudget, type SpendChars } from './text-budget.ts'

/** More alternatives or calls than any request asks for: an index beyond is garbage. */
const MAX_INDEX = 1000

interface Choice {
  readonly fields: MutableJson
  readonly message: MutableJson
  readonly calls: MutableJson[]
}

export function createChatAggregate(maxChars: number): Aggregate {
  const spend = createTextBudget(maxChars)
  const top: MutableJson = {}
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
      for (const part of listOr(parts, 'choices')) addChoice(part, choiceAt, spend)
    },
    mark() {
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
      const ordered = [...choices.entries()].sort(([a], [b]) => a - b).map(([, choice]) => finished(choice))
      return { ...top, object: 'chat.completion', choices: ordered }
    },
  }
}

function addChoice(part: unknown, choiceAt: (index: number) => Choice, spend: SpendChars): void {
  if (!isRecord(part)) throw wrong('a choice')
  const { index = 0, delta, ...rest } = part
  if (!isIndex(index)) throw wrong('the index of a choice')
  const choice = choiceAt(index)
  mergeDelta(choice.fields, rest, spend)
  if (delta === null || delta === undefined) return
  if (!isRecord(delta)) throw wrong('a delta')
  const { tool_calls: calls, ...fields } = delta
  const { content } = fields
  if (content !== null && content !== undefined && typeof content !== 'string' && !Array.isArray(content)) {
    throw wrong('the content of a delta')
  }
  mergeDelta(choice.message, fields, spend)
  for (const call of listOr(calls, 'tool_calls')) addCall(choice.calls, call, spend)
}

function addCall(calls: MutableJson[], fragment: unknown, spend: SpendChars): void {
  if (!isRecord(fragment)) throw wrong('a tool call')
  const { index, ...fields } = fragment
  if (index !== undefined && index !== null && !isIndex(index)) throw wrong('the index of a tool call')
  const fn = fields['function']
  if (fn !== undefined && fn !== null && !isRecord(fn)) throw wrong('the function of a tool call')
  mergeDelta(callFor(calls, fields, index), fields, spend)
}

/**
 * Which call a fragment continues. Servers number calls badly: some give every call the index 0, some give none, some
 * repeat the id. A fragment with another id and a name is a new call whatever its index says.
 */
function callFor(calls: MutableJson[], fields: JsonObject, index: unknown): MutableJson {
  const id = str(fields['id'])
  const name = isRecord(fields['function']) ? str(fields['function']['name']) : ''
  const last = calls.at(-1)
  const sameIndex = typeof index === 'number' ? calls.findLast((call) => call['index'] === index) : last
  const isNewCall = sameIndex !== undefined && id !== '' && name !== '' && str(sameIndex['id']) !== id
  if (sameIndex !== undefined && !isNewCall) return sameIndex
  const call: MutableJson = typeof index === 'number' ? { index } : {}
  calls.push(call)
  return call
}

function finished(choice: Choice): JsonObject {
  // The index orders the stream; a finished message has none.
  const calls = choice.calls.map(({ index: _index, ...call }) => ({ type: 'function', ...call }))
  const message = calls.length === 0 ? choice.message : { ...choice.message, tool_calls: calls }
  return { ...choice.fields, message }
}

function isIndex(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < MAX_INDEX
}

function listOr(value: unknown, what: string): readonly unknown[] {
  if (value === null || value === undefined) return []
  if (!Array.isArray(value)) throw wrong(what)
  return value
}

function wrong(what: string): ModelError {
  return new ModelError('bad-response', `The model sent a chunk in which ${what} has a wrong type.`)
}
