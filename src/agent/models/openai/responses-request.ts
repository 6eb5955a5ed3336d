/**
 * Builds the body of OpenAI's Responses API. Nothing is stored at the vendor: the whole conversation travels each time,
 * reasoning included in encrypted form.
 */

import { asArray, asString, isRecord } from '../../../lib/json.ts'
import { type NormalizedMessage, normalizeMessages } from '../normalize-messages.ts'
import type { JsonObject, ModelRequest, RequestInput } from '../provider.ts'

export function buildResponsesRequest(input: RequestInput): ModelRequest {
  return {
    model: input.model,
    ...(input.system === '' ? {} : { instructions: input.system.toWellFormed() }),
    input: normalizeMessages(input.messages, 'codex_responses').flatMap(toInputItems),
    ...(input.tools.length === 0 ? {} : { tools: input.tools.map(toResponsesTool) }),
    ...(input.reasoningEffort === undefined ? {} : { reasoning: { effort: input.reasoningEffort } }),
    ...(input.maxOutputTokens === undefined ? {} : { max_output_tokens: input.maxOutputTokens }),
    store: false,
    include: ['reasoning.encrypted_content'],
    stream: true,
  }
}

function toResponsesTool(tool: RequestInput['tools'][number]): JsonObject {
  return {
    type: 'function',
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
    // Left out it means true here, and most schemas do not meet what strictness asks of them.
    strict: false,
  }
}

function toInputItems(turn: NormalizedMessage): readonly unknown[] {
  switch (turn.role) {
    case 'user':
      return [{ role: 'user', content: turn.text }]
    case 'results':
      return turn.results.map(({ id, text }) => ({ type: 'function_call_output', call_id: id, output: text }))
    case 'assistant': {
      if (matchesTranscript(turn.items, turn)) return turn.items
      const text = turn.text === '' ? [] : [{ role: 'assistant', content: turn.text }]
      const calls = turn.calls.map((call) => ({
        type: 'function_call',
        call_id: call.id,
        name: call.name,
        arguments: call.arguments,
      }))
      return [...text, ...calls]
    }
  }
}

/**
 * Whether the vendor's own items still tell what the transcript tells. They do not when a text was changed, a call
 * renamed or an id replaced after the answer; reasoning without its encrypted content could not be found by the vendor.
 */
function matchesTranscript(
  items: readonly unknown[],
  turn: Extract<NormalizedMessage, { role: 'assistant' }>,
): boolean {
  const records = items.filter(isRecord)
  if (records.length === 0 || records.length !== items.length) return false
  const sealed = records.every((item) => item['type'] !== 'reasoning' || asString(item['encrypted_content']) !== '')
  const calls = records.filter((item) => item['type'] === 'function_call')
  const sameCalls =
    calls.length === turn.calls.length &&
    turn.calls.every((call, at) => {
      const item = calls[at]
      return item?.['call_id'] === call.id && item['name'] === call.name && item['arguments'] === call.arguments
    })
  return sealed && sameCalls && outputText(records).trim() === turn.text.trim()
}

/** The text of the message items of an output. */
export function outputText(items: readonly JsonObject[]): string {
  return items
    .filter((item) => item['type'] === 'message')
    .flatMap((item) => asArray(item['content']))
    .filter(isRecord)
    .map((part) => asString(part['text']) || asString(part['refusal']))
    .join('')
}
