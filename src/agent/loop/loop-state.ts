/**
 * How far a turn has come: its conversation, what it has said, and the calls that have no result yet.
 */
import type { ChatMessage, ToolCall } from '../../message/transcript.ts'

export interface LoopState {
  readonly messages: ChatMessage[]
  /** What the earlier answers of this turn said. */
  readonly texts: string[]
  /** Calls that have no result yet. */
  pendingCalls: readonly ToolCall[]
  lastToolResults: readonly { readonly name: string; readonly result: string }[]
  iteration: number
  /** Model calls of this turn, reissues included. */
  modelCalls: number
  /** Of the call whose answer counted last; '' while an earlier life made it. */
  apiRequestId: string
}

/** A turn that was cut off goes on at the first tool call without a result; the model is called only if there is none. */
export function restoreLoopState(transcript: readonly ChatMessage[], turnStart: number): LoopState {
  const own = transcript.slice(turnStart)
  const answers = own.filter((message) => message.role === 'assistant')
  const answered = new Set(own.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])))
  const pendingCalls = (answers.at(-1)?.toolCalls ?? []).filter((call) => !answered.has(call.id))
  return {
    messages: [...transcript],
    texts: answers.map((answer) => answer.content).filter((text) => text !== ''),
    pendingCalls,
    lastToolResults: collectLastToolResults(own),
    iteration: answers.length,
    modelCalls: answers.length,
    apiRequestId: '',
  }
}

/** What the tools of the last answer gave, in the order in which it asked for them: also those that an earlier try ran. */
export function collectLastToolResults(messages: readonly ChatMessage[]): LoopState['lastToolResults'] {
  const at = messages.findLastIndex((message) => message.role === 'assistant')
  const answer = messages[at]
  if (answer?.role !== 'assistant') return []
  const results = messages.slice(at + 1).filter((message) => message.role === 'tool')
  return (answer.toolCalls ?? []).flatMap((call) =>
    results.filter(({ toolCallId }) => toolCallId === call.id).map(({ name, content }) => ({ name, result: content })),
  )
}

/** Some servers number their calls anew in every answer; within a turn each call needs a name of its own. */
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
