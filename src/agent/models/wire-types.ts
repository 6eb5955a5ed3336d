/**
 * The types of requests, chunks and responses of each API mode, for plugins.
 *
 * They contain what the gateway sends and what models of the vendors respond, and are checked against the types of the
 * vendors' SDKs (`test/plugins/wire-types.test.ts`). Servers may send further fields; `asRecord` of `#sdk` reads them.
 * Objects that are passed back as a request are aliases, because an interface is not assignable to `Fields`.
 */

import type { ModelRequest } from '../support/model-request.ts'
import type { ApiMode } from './provider.ts'

type Json = Readonly<Record<string, unknown>>

/** The keys that are not sent as fields of the body. */
type TransportKeys = {
  readonly [Key in 'extra_body' | 'extra_headers' | 'extra_query' | 'timeout']?: ModelRequest[Key]
}

// `chat_completions`: OpenAI's Chat Completions, and the servers that copy them.

export type ChatCompletionsRequest = TransportKeys & {
  readonly model: string
  readonly messages: readonly ChatCompletionsMessage[]
  readonly tools?: readonly ChatCompletionsTool[]
  readonly reasoning_effort?: string
  readonly max_completion_tokens?: number
  readonly max_tokens?: number
  readonly stream: true
  readonly stream_options?: { readonly include_usage?: boolean }
}

export interface ChatCompletionsMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  /** Null for an assistant that only calls tools. Parts in a message of a user with pictures. */
  readonly content: string | readonly ChatCompletionsPart[] | null
  readonly tool_calls?: readonly ChatCompletionsToolCall[]
  /** The call that a message of the role `tool` responds to. */
  readonly tool_call_id?: string
}

/** The address of a picture is `hermes-picture:<file>`, which the gateway replaces by its content, or one that a plugin has written. */
export type ChatCompletionsPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string; readonly detail?: string } }

export interface ChatCompletionsToolCall {
  readonly id: string
  readonly type: 'function'
  /** `arguments` is JSON text as the model wrote it. */
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface ChatCompletionsTool {
  readonly type: 'function'
  readonly function: { readonly name: string; readonly description: string; readonly parameters: Json }
}

export interface ChatCompletionsChunk {
  readonly id: string
  readonly object: 'chat.completion.chunk'
  readonly created: number
  readonly model: string
  /** Empty in the chunk with the usage. */
  readonly choices: readonly {
    readonly index: number
    readonly delta: ChatCompletionsDelta
    readonly finish_reason: string | null
  }[]
  readonly usage?: ChatCompletionsUsage | null
}

export interface ChatCompletionsDelta {
  readonly role?: string
  readonly content?: string | null
  readonly refusal?: string | null
  /** The reasoning has one of these two names. */
  readonly reasoning_content?: string | null
  readonly reasoning?: string | null
  readonly tool_calls?: readonly {
    readonly index: number
    readonly id?: string
    readonly type?: string
    readonly function?: { readonly name?: string; readonly arguments?: string }
  }[]
}

export type ChatCompletionsResponse = {
  readonly id: string
  readonly object: 'chat.completion'
  readonly created: number
  readonly model: string
  readonly choices: readonly {
    readonly index: number
    readonly message: {
      readonly role: 'assistant'
      readonly content: string | null
      readonly refusal?: string | null
      readonly reasoning_content?: string | null
      readonly reasoning?: string | null
      readonly tool_calls?: readonly ChatCompletionsToolCall[]
    }
    readonly finish_reason: string
  }[]
  readonly usage?: ChatCompletionsUsage | null
}

export interface ChatCompletionsUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number } | null
}

// `anthropic_messages`: Anthropic's Messages.

export type AnthropicRequest = TransportKeys & {
  readonly model: string
  readonly max_tokens: number
  readonly system?: readonly AnthropicText[]
  readonly messages: readonly AnthropicMessage[]
  readonly tools?: readonly { readonly name: string; readonly description: string; readonly input_schema: Json }[]
  readonly thinking?: {
    readonly type: 'enabled' | 'adaptive'
    readonly budget_tokens?: number
    readonly display?: 'summarized' | 'omitted'
  }
  readonly output_config?: { readonly effort?: string }
  readonly stream: true
}

export interface AnthropicMessage {
  readonly role: 'user' | 'assistant'
  readonly content: readonly (AnthropicBlock | AnthropicImage | AnthropicToolResult)[]
}

export interface AnthropicText {
  readonly type: 'text'
  readonly text: string
  readonly cache_control?: { readonly type: 'ephemeral' }
}

/** An address as in `ChatCompletionsPart`, or content that a plugin has written. */
export interface AnthropicImage {
  readonly type: 'image'
  readonly source:
    | { readonly type: 'url'; readonly url: string }
    | { readonly type: 'base64'; readonly media_type: string; readonly data: string }
  readonly cache_control?: { readonly type: 'ephemeral' }
}

export interface AnthropicToolResult {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content: string | readonly (AnthropicText | AnthropicImage)[]
  readonly cache_control?: { readonly type: 'ephemeral' }
}

/** A part of a response. Other types of parts (of the vendor's own tools) are passed on unchanged. */
export type AnthropicBlock =
  | AnthropicText
  /** An input that was cut off stays a text. */
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }

/** An event of the stream. */
export type AnthropicChunk =
  | { readonly type: 'message_start'; readonly message: AnthropicResponse }
  | { readonly type: 'content_block_start'; readonly index: number; readonly content_block: AnthropicBlock }
  | { readonly type: 'content_block_delta'; readonly index: number; readonly delta: AnthropicDelta }
  | { readonly type: 'content_block_stop'; readonly index: number }
  | {
      readonly type: 'message_delta'
      readonly delta: { readonly stop_reason: string | null; readonly stop_sequence: string | null }
      readonly usage: { readonly output_tokens: number }
    }
  | { readonly type: 'message_stop' }
  | { readonly type: 'ping' }

export type AnthropicDelta =
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'input_json_delta'; readonly partial_json: string }
  | { readonly type: 'thinking_delta'; readonly thinking: string }
  | { readonly type: 'signature_delta'; readonly signature: string }
  | { readonly type: 'citations_delta'; readonly citation: unknown }

export type AnthropicResponse = {
  readonly id: string
  readonly type: 'message'
  readonly role: 'assistant'
  readonly model: string
  readonly content: readonly AnthropicBlock[]
  readonly stop_reason: string | null
  readonly stop_sequence: string | null
  readonly usage: {
    readonly input_tokens: number
    readonly output_tokens: number
    readonly cache_creation_input_tokens?: number | null
    readonly cache_read_input_tokens?: number | null
  }
}

// `codex_responses`: OpenAI's Responses.

export type ResponsesRequest = TransportKeys & {
  readonly model: string
  readonly instructions?: string
  /** Messages, calls, results and the vendor's own items. */
  readonly input: readonly unknown[]
  readonly tools?: readonly {
    readonly type: 'function'
    readonly name: string
    readonly description: string
    readonly parameters: Json
    readonly strict: boolean
  }[]
  readonly reasoning?: { readonly effort?: string; readonly summary?: 'auto' | 'concise' | 'detailed' }
  readonly max_output_tokens?: number
  readonly store: boolean
  readonly include?: readonly string[]
  readonly stream: true
}

/** An event of the stream. There are more types, which are passed on unchanged. */
export type ResponsesChunk =
  | { readonly type: 'response.created' | 'response.in_progress'; readonly response: ResponsesResponse }
  | {
      readonly type: 'response.output_item.added' | 'response.output_item.done'
      readonly output_index: number
      readonly item: ResponsesItem
    }
  | {
      readonly type: 'response.output_text.delta' | 'response.refusal.delta'
      readonly item_id: string
      readonly output_index: number
      readonly content_index: number
      readonly delta: string
    }
  | {
      readonly type: 'response.function_call_arguments.delta' | 'response.reasoning_summary_text.delta'
      readonly item_id: string
      readonly output_index: number
      readonly delta: string
    }
  | {
      readonly type: 'response.completed' | 'response.incomplete' | 'response.failed'
      readonly response: ResponsesResponse
    }

export interface ResponsesItem {
  /** `message`, `function_call`, `reasoning` … */
  readonly type: string
}

export type ResponsesResponse = {
  readonly id: string
  readonly object: 'response'
  readonly model: string
  readonly status?: string
  readonly output: readonly ResponsesItem[]
  readonly usage?: {
    readonly input_tokens: number
    readonly output_tokens: number
    readonly total_tokens: number
  } | null
}

// By API mode

interface WireTypes {
  readonly chat_completions: {
    readonly request: ChatCompletionsRequest
    readonly chunk: ChatCompletionsChunk
    readonly response: ChatCompletionsResponse
  }
  readonly anthropic_messages: {
    readonly request: AnthropicRequest
    readonly chunk: AnthropicChunk
    readonly response: AnthropicResponse
  }
  readonly codex_responses: {
    readonly request: ResponsesRequest
    readonly chunk: ResponsesChunk
    readonly response: ResponsesResponse
  }
}

/** The request of a model, by API mode; without a mode, of any mode. */
export type WireRequest<Mode extends ApiMode = ApiMode> = WireTypes[Mode]['request']
/** A chunk of a streamed response. `'choices' in chunk` is true for `chat_completions`; the others have a `type`. */
export type WireChunk<Mode extends ApiMode = ApiMode> = WireTypes[Mode]['chunk']
/** A complete response. */
export type WireResponse<Mode extends ApiMode = ApiMode> = WireTypes[Mode]['response']
