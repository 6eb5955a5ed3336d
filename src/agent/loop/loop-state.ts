/**
 * The progress of a turn: its conversation, the text so far, and the tool calls without a result.
 */
import { createHash } from 'node:crypto'
import type { ChatMessage, ToolCall, ToolMessage, Usage } from '../../message/transcript.ts'

/** The tokens of the latest request and of its response. */
export interface CountedContext {
  readonly tokens: number
  /** So many messages of the conversation are in it. */
  readonly messages: number
}

/** What earlier runs of an interrupted turn have stored. */
export interface EarlierResponses {
  readonly count: number
  /** The ids of all their tool calls. */
  readonly callIds: readonly string[]
}

export interface LoopState {
  readonly messages: ChatMessage[]
  /** The ids of tool calls that no other call may have, also where the call has left the conversation. */
  readonly callIds: Set<string>
  /** What the newest results say about the limit of iterations; '' for nothing. */
  notice: string
  /** The newest text of the earlier responses of this turn; '' if there is none. */
  lastText: string
  /** Tool calls without a result. */
  pendingCalls: readonly ToolCall[]
  lastToolResults: readonly { readonly name: string; readonly result: string }[]
  iteration: number
  /** Model calls of this turn, reissues included. */
  modelCalls: number
  /** The id of the last model call; '' if the process that made it has ended. */
  apiRequestId: string
  /** When the provider stopped answering, ms; null while it answers. */
  outageSince: number | null
  /** The newest tool calls with their results, as hashes. */
  readonly recentCalls: string[]
  /** The tokens of the responses of this turn and of its sub-agents. */
  tokens: number
  /** What the provider counted last; null if it has not, or if the conversation has changed since. */
  counted: CountedContext | null
}

/** An interrupted turn resumes at the first tool call without a result. Without such a call the model is called. */
export function restoreLoopState({
  transcript,
  turnStart,
  outageSince = null,
  storedResponses,
}: {
  readonly transcript: readonly ChatMessage[]
  readonly turnStart: number
  readonly outageSince?: number | null
  readonly storedResponses?: EarlierResponses | undefined
}): LoopState {
  const turnMessages = transcript.slice(turnStart)
  const responses = turnMessages.filter((message) => message.role === 'assistant')
  const completedCalls = new Set(
    turnMessages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])),
  )
  const responseCount = Math.max(responses.length, storedResponses?.count ?? 0)
  const pendingCalls = (responses.at(-1)?.toolCalls ?? []).filter((call) => !completedCalls.has(call.id))
  return {
    messages: [...transcript],
    callIds: new Set([...(storedResponses?.callIds ?? []), ...resultIds(transcript)]),
    notice: '',
    lastText: responses.map(({ content }) => content).findLast((text) => text.trim() !== '') ?? '',
    pendingCalls,
    lastToolResults: collectLastToolResults(turnMessages),
    iteration: responseCount,
    modelCalls: responseCount,
    apiRequestId: '',
    outageSince,
    recentCalls: [],
    tokens: 0,
    counted: null,
  }
}

/** The results of the tool calls in the last response, in the order of the calls, including those of an interrupted run. */
export function collectLastToolResults(messages: readonly ChatMessage[]): LoopState['lastToolResults'] {
  const at = messages.findLastIndex((message) => message.role === 'assistant')
  const response = messages[at]
  if (response?.role !== 'assistant') return []
  const results = messages.slice(at + 1).filter((message) => message.role === 'tool')
  return (response.toolCalls ?? []).flatMap((call) =>
    results.filter(({ toolCallId }) => toolCallId === call.id).map(({ name, content }) => ({ name, result: content })),
  )
}

/** Some servers restart the numbering of calls in every response, but an id must be unique within the conversation. */
export function withUniqueIds(calls: readonly ToolCall[], { callIds }: LoopState): ToolCall[] {
  return calls.map((call) => {
    const base = call.id === '' ? 'call' : call.id
    let id = base
    for (let copy = 2; callIds.has(id); copy++) id = `${base}_${copy}`
    callIds.add(id)
    return { ...call, id }
  })
}

function resultIds(messages: readonly ChatMessage[]): string[] {
  return messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []))
}

/** Adds the tokens of a response. */
export function countTokens(state: LoopState, { inputTokens, outputTokens }: Usage): void {
  state.tokens += inputTokens + outputTokens
}

/** Remembers the last calls, twice as many as may be identical: two calls that alternate repeat, too. */
export function recordCalls(
  { recentCalls }: LoopState,
  calls: readonly ToolCall[],
  results: readonly ToolMessage[],
  maxIdentical: number,
): void {
  for (const { id, name, arguments: args } of calls) {
    const result = results.find(({ toolCallId }) => toolCallId === id)?.content ?? ''
    recentCalls.push(
      createHash('sha256')
        .update(JSON.stringify([name, args, result]))
        .digest('base64'),
    )
  }
  recentCalls.splice(0, recentCalls.length - 2 * maxIdentical)
}

export interface TurnLimits {
  readonly max_identical_calls: number
  readonly max_turn_tokens?: number | undefined
}

export interface Runaway {
  readonly reason: 'identical_calls' | 'token_limit'
  /** For the person who waits. */
  readonly notice: string
}

/** Why the turn must end although the model wants to go on; undefined if it may. */
export function findRunaway(
  { recentCalls, tokens, lastToolResults }: LoopState,
  { max_identical_calls: maxIdentical, max_turn_tokens: maxTokens }: TurnLimits,
): Runaway | undefined {
  const last = recentCalls.at(-1)
  if (maxIdentical > 0 && recentCalls.filter((call) => call === last).length >= maxIdentical) {
    const tool = lastToolResults.at(-1)?.name ?? 'a tool'
    return {
      reason: 'identical_calls',
      notice: `⚠️ I stopped: I called ${tool} ${maxIdentical} times with the same arguments and got the same result each time. Tell me how to go on. (agent.max_identical_calls)`,
    }
  }
  if (maxTokens === undefined || tokens < maxTokens) return undefined
  return {
    reason: 'token_limit',
    notice: `⚠️ I stopped: this turn has used ${tokens.toLocaleString('en-US')} tokens, and the limit is ${maxTokens.toLocaleString('en-US')}. Write to me to go on. (agent.max_turn_tokens)`,
  }
}
