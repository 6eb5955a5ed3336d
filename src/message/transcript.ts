/**
 * The messages of a conversation as they are stored and as the model sees them: OpenAI's chat format (contract §4.1).
 * The system prompt is never among them.
 */
export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON text exactly as the model wrote it; it may be malformed. */
  readonly arguments: string
}

export interface UserMessage {
  readonly role: 'user'
  readonly content: string
}

export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: string
  readonly toolCalls?: readonly ToolCall[]
  /**
   * What the provider wants back unchanged with the next request (reasoning items, signed thinking blocks).
   * Kept with the api mode that made it, and sent only to that one.
   */
  readonly providerData?: { readonly apiMode: string; readonly items: readonly unknown[] }
}

export interface ToolMessage {
  readonly role: 'tool'
  readonly toolCallId: string
  readonly name: string
  readonly content: string
}

export type ChatMessage = UserMessage | AssistantMessage | ToolMessage

/** Tokens of one or several model calls, as the provider counted them. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens: number
}

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 }

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
  }
}
