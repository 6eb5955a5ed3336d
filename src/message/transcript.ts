/**
 * The messages of a conversation in the chat format of OpenAI (contract §4.1), as they are stored and sent to the model.
 * The system prompt is not one of them.
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
   * Data that the provider requires unchanged in the next request (reasoning items, signed thinking blocks).
   * Sent only to the API mode that created it.
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
