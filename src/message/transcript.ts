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

/**
 * A picture of a message: a reference to a file that is stored once (`media/pictures.ts`). The file is read when a request is
 * sent, so that no message holds its content.
 */
export interface ImagePart {
  readonly type: 'image'
  /** Its name in the folder of pictures: `<SHA-256 of the content>.<extension of the type>`. */
  readonly file: string
  readonly mimeType: ImageType
  readonly bytes: number
  /** Pixels. */
  readonly width: number
  /** Pixels. */
  readonly height: number
}

/** The types that models of all vendors read. */
export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'

export interface UserMessage {
  readonly role: 'user'
  /** All text of the message. Each picture has a line with its path in it, which is what a model that cannot see receives. */
  readonly content: string
  /** What a model that can see receives besides the text. Absent in a message without pictures. */
  readonly images?: readonly ImagePart[]
}

export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: string
  readonly toolCalls?: readonly ToolCall[]
  /**
   * Data that the provider requires unchanged in the next request (reasoning items, signed thinking blocks).
   * Sent only to the model that created it.
   */
  readonly providerData?: ProviderData
}

export interface ProviderData {
  readonly apiMode: string
  /** The address of the API. Absent in messages of earlier versions, as is the model. */
  readonly baseUrl?: string
  readonly model?: string
  readonly items: readonly unknown[]
}

export interface ToolMessage {
  readonly role: 'tool'
  readonly toolCallId: string
  readonly name: string
  readonly content: string
  /** The pictures, like those of a user. */
  readonly images?: readonly ImagePart[]
}

export type ChatMessage = UserMessage | AssistantMessage | ToolMessage

export function hasImages(message: ChatMessage): boolean {
  return message.role !== 'assistant' && message.images !== undefined
}

/** The messages as a model that does not see gets them. */
export function withoutImages(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!messages.some(hasImages)) return messages
  return messages.map((message) => {
    if (message.role === 'assistant' || message.images === undefined) return message
    const { images: _images, ...rest } = message
    return rest
  })
}

/** Tokens of one or several model calls, as the provider counted them. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens: number
  /** US dollars, of the tokens whose price is known. Absent when none is. */
  readonly cost?: number
  /** Tokens in a sum with a `cost` whose price is not known; absent for none. */
  readonly unpricedTokens?: number
}

/** The tokens whose price is not known. */
export function unpricedTokens({ inputTokens, outputTokens, cost, unpricedTokens: unpriced = 0 }: Usage): number {
  return cost === undefined ? inputTokens + outputTokens : unpriced
}

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 }

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    ...addCost(a, b),
  }
}

function addCost(a: Usage, b: Usage): Pick<Usage, 'cost' | 'unpricedTokens'> {
  if (a.cost === undefined && b.cost === undefined) return {}
  const unpriced = unpricedTokens(a) + unpricedTokens(b)
  return { cost: (a.cost ?? 0) + (b.cost ?? 0), ...(unpriced === 0 ? {} : { unpricedTokens: unpriced }) }
}

/**
 * `pure`: only reads; runs again after a crash. `idempotent`: running twice equals running once.
 * `effect`: never runs twice; after a crash its result is reported as unknown.
 */
export type ToolMode = 'pure' | 'idempotent' | 'effect'
