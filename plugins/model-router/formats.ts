/**
 * Reads an answer and prolongs a request in each of the three wire formats, which the shape of the answer tells apart.
 */
import { type Fields, isRecord, list, record, str } from '#sdk'

/** Of the request: `messages` of chat completions and of Anthropic, `input` of OpenAI's responses. */
type Conversation = 'messages' | 'input'

export interface ReadAnswer {
  readonly text: string
  /** The request with this answer and what is said to it at the end of its conversation: the keys that differ. */
  followUp(request: Fields, instruction: string): Fields
}

/** Undefined for what is no whole answer in words: a call of a tool, an answer that was cut off or refused. */
export function readAnswer(response: Fields): ReadAnswer | undefined {
  if (Array.isArray(response['choices'])) return chatAnswer(record(list(response['choices'])[0]))
  if (Array.isArray(response['output'])) return responsesAnswer(response)
  if (Array.isArray(response['content'])) return anthropicAnswer(response)
  return undefined
}

function chatAnswer(choice: Fields): ReadAnswer | undefined {
  const message = record(choice['message'])
  if (list(message['tool_calls']).length > 0 || choice['finish_reason'] !== 'stop') return undefined
  const { content } = message
  return answer(typeof content === 'string' ? content : textsOf(list(content)), 'messages', (text) => text)
}

function responsesAnswer(response: Fields): ReadAnswer | undefined {
  const items = list(response['output']).filter(isRecord)
  if (response['status'] !== 'completed' || items.some(({ type }) => str(type).endsWith('_call'))) return undefined
  const parts = items.filter(({ type }) => type === 'message').flatMap(({ content }) => list(content))
  return answer(textsOf(parts), 'input', (text) => text)
}

function anthropicAnswer(response: Fields): ReadAnswer | undefined {
  const blocks = list(response['content']).filter(isRecord)
  const ended = response['stop_reason'] === 'end_turn' || response['stop_reason'] === 'stop_sequence'
  if (!ended || blocks.some(({ type }) => type === 'tool_use')) return undefined
  return answer(textsOf(blocks), 'messages', (text) => [{ type: 'text', text }])
}

function textsOf(parts: readonly unknown[]): string {
  return parts.map((part) => (typeof part === 'string' ? part : str(record(part)['text']))).join('')
}

function answer(text: string, conversation: Conversation, content: (text: string) => unknown): ReadAnswer | undefined {
  // Nothing said is nothing that a larger model could put right, and vendors refuse an empty message.
  if (text.trim() === '') return undefined
  return {
    text,
    followUp: (request, instruction) => ({
      [conversation]: [
        ...list(request[conversation]),
        { role: 'assistant', content: content(text.trim()) },
        { role: 'user', content: content(instruction) },
      ],
    }),
  }
}
