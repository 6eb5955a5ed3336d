/**
 * `GET /api/sessions/<id>/trajectory`: a conversation in the ShareGPT form of Hermes, for training and evaluation (Hermes:
 * developer-guide/trajectory-format). It holds no system prompt and nothing else that is only sent to the model. Hermes begins
 * its trajectories with a system message that it writes for the file; here there is none.
 */
import { stripThinking, thinkingIn } from '../../agent/loop/strip-thinking.ts'
import { asArray, asRecord, asString, isRecord, parseJson } from '../../lib/json.ts'
import { ownWords } from '../../message/own-words.ts'
import type { SaidMessage } from '../../sessions/trajectory-messages.ts'
import type { ApiTrajectory } from '../shapes/sessions.ts'

type TrajectoryEntry = ApiTrajectory['conversations'][number]
type ToolCounts = NonNullable<ApiTrajectory['tool_stats'][string]>

/** Pure. */
export function toTrajectory(said: readonly SaidMessage[]): Omit<ApiTrajectory, 'session_id'> {
  const conversations: TrajectoryEntry[] = []
  const stats = new Map<string, ToolCounts>()
  let results: string[] = []
  const endResults = () => {
    if (results.length > 0) conversations.push({ from: 'tool', value: results.join('\n') })
    results = []
  }
  for (const message of said) {
    if (message.role === 'tool') {
      results.push(describeResult(message))
      countCall(stats, message)
      continue
    }
    endResults()
    if (message.role === 'user') conversations.push({ from: 'human', value: ownWords(message.content) })
    else conversations.push({ from: 'gpt', value: describeResponse(message) })
  }
  endResults()
  return {
    conversations,
    api_calls: said.filter(({ role }) => role === 'assistant').length,
    tool_stats: Object.fromEntries(stats),
  }
}

/** Every response has a block of thinking, which may be empty, so that all have the same form. */
function describeResponse({ content, tool_calls, provider_data }: SaidMessage): string {
  const thinking = [reasoningOf(provider_data), thinkingIn(content)].filter((text) => text !== '').join('\n\n')
  const calls = asArray(tool_calls === null ? undefined : parseJson(tool_calls)).map(asRecord)
  const parts = [
    thinking === '' ? '<think>\n</think>' : `<think>\n${thinking}\n</think>`,
    stripThinking(content).trim(),
    ...calls.map(({ name, arguments: written }) => {
      const args = parseJson(asString(written))
      return `<tool_call>\n${JSON.stringify({ name: asString(name), arguments: isRecord(args) ? args : {} })}\n</tool_call>`
    }),
  ]
  return parts.filter((part) => part !== '').join('\n')
}

function describeResult({ content, tool_call_id, tool_name }: SaidMessage): string {
  const value = /^[{[]/.test(content) ? (parseJson(content) ?? content) : content
  const response = { tool_call_id: tool_call_id ?? '', name: tool_name ?? '', content: value }
  return `<tool_response>\n${JSON.stringify(response)}\n</tool_response>`
}

/** The text that vendors let us see, in their items of a response. */
function reasoningOf(stored: string | null): string {
  const items = asArray(asRecord(stored === null ? undefined : parseJson(stored))['items']).map(asRecord)
  const texts = items.flatMap((item) => {
    if (item['type'] === 'reasoning') return partsOf([...asArray(item['summary']), ...asArray(item['content'])])
    if (item['type'] === 'thinking') return [asString(item['thinking'])]
    return [asString(item['reasoning_content'])]
  })
  return texts
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .join('\n\n')
}

function partsOf(parts: readonly unknown[]): string[] {
  return parts.map((part) => asString(asRecord(part)['text']))
}

/** Every failed tool call has such a result. */
function countCall(stats: Map<string, ToolCounts>, { tool_name, content }: SaidMessage): void {
  const name = tool_name ?? ''
  const { count, success, failure } = stats.get(name) ?? { count: 0, success: 0, failure: 0 }
  const failed = content.startsWith('{"error"') ? 1 : 0
  stats.set(name, { count: count + 1, success: success + 1 - failed, failure: failure + failed })
}
