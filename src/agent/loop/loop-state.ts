/**
 * The progress of a turn: its conversation, the text so far, and the tool calls without a result.
 */
import type { ChatMessage, ToolCall } from '../../message/transcript.ts'

export interface LoopState {
  readonly messages: ChatMessage[]
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
}

/** An interrupted turn resumes at the first tool call without a result. Without such a call the model is called. */
export function restoreLoopState(
  transcript: readonly ChatMessage[],
  turnStart: number,
  outageSince: number | null,
): LoopState {
  const own = transcript.slice(turnStart)
  const responses = own.filter((message) => message.role === 'assistant')
  const completedCalls = new Set(own.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])))
  const pendingCalls = (responses.at(-1)?.toolCalls ?? []).filter((call) => !completedCalls.has(call.id))
  return {
    messages: [...transcript],
    lastText: responses.map(({ content }) => content).findLast((text) => text.trim() !== '') ?? '',
    pendingCalls,
    lastToolResults: collectLastToolResults(own),
    iteration: responses.length,
    modelCalls: responses.length,
    apiRequestId: '',
    outageSince,
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
export function withUniqueIds(calls: readonly ToolCall[], { messages }: LoopState): ToolCall[] {
  const taken = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])))
  return calls.map((call) => {
    const base = call.id === '' ? 'call' : call.id
    let id = base
    for (let copy = 2; taken.has(id); copy++) id = `${base}_${copy}`
    taken.add(id)
    return { ...call, id }
  })
}
