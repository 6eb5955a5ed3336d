/**
 * Parses responses and extends requests in the three wire formats. The shape of the response determines the format.
 */
import { asArray, asRecord, asString, type Fields, isRecord } from '#sdk'

/** `messages` for Chat Completions and Anthropic, `input` for OpenAI Responses. */
type ConversationKey = 'messages' | 'input'

export interface ParsedResponse {
  readonly text: string
  /** Returns the changed fields of the request: the conversation with this response and the instruction added. */
  followUp(request: Fields, instruction: string): Fields
}

/** Undefined unless the response is a complete text, without tool calls, truncation or refusal. */
export function parseResponse(response: Fields): ParsedResponse | undefined {
  if (Array.isArray(response['choices'])) return parseChatCompletion(asRecord(asArray(response['choices'])[0]))
  if (Array.isArray(response['output'])) return parseOpenAIResponse(response)
  if (Array.isArray(response['content'])) return parseAnthropicMessage(response)
  return undefined
}

function parseChatCompletion(choice: Fields): ParsedResponse | undefined {
  const message = asRecord(choice['message'])
  if (asArray(message['tool_calls']).length > 0 || choice['finish_reason'] !== 'stop') return undefined
  const { content } = message
  return createParsedResponse(
    typeof content === 'string' ? content : joinTexts(asArray(content)),
    'messages',
    (text) => text,
  )
}

function parseOpenAIResponse(response: Fields): ParsedResponse | undefined {
  const items = asArray(response['output']).filter(isRecord)
  if (response['status'] !== 'completed' || items.some(({ type }) => asString(type).endsWith('_call'))) return undefined
  const parts = items.filter(({ type }) => type === 'message').flatMap(({ content }) => asArray(content))
  return createParsedResponse(joinTexts(parts), 'input', (text) => text)
}

function parseAnthropicMessage(response: Fields): ParsedResponse | undefined {
  const blocks = asArray(response['content']).filter(isRecord)
  const ended = response['stop_reason'] === 'end_turn' || response['stop_reason'] === 'stop_sequence'
  if (!ended || blocks.some(({ type }) => type === 'tool_use')) return undefined
  return createParsedResponse(joinTexts(blocks), 'messages', (text) => [{ type: 'text', text }])
}

function joinTexts(parts: readonly unknown[]): string {
  return parts.map((part) => (typeof part === 'string' ? part : asString(asRecord(part)['text']))).join('')
}

function createParsedResponse(
  text: string,
  conversation: ConversationKey,
  content: (text: string) => unknown,
): ParsedResponse | undefined {
  // A large model cannot improve an empty response, and vendors reject empty messages.
  if (text.trim() === '') return undefined
  return {
    text,
    followUp: (request, instruction) => ({
      [conversation]: [
        ...asArray(request[conversation]),
        { role: 'assistant', content: content(text.trim()) },
        { role: 'user', content: content(instruction) },
      ],
    }),
  }
}
