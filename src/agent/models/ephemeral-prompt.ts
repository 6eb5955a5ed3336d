/**
 * Text that is added to a request when it is sent, and to nothing else: neither the transcript nor what plugins observe has it
 * (seed 004, contract §4.1). It follows the frozen system prompt, so that the cached beginning stays the same.
 */
import { isRecord } from '../../lib/json.ts'
import type { ModelRequest } from '../support/model-request.ts'
import type { ApiMode, Provider } from './provider.ts'

export interface EphemeralPrompt {
  /** Follows the system prompt; '' for nothing. */
  readonly system: string
  /** An example conversation before the first message: user and assistant in turn. */
  readonly prefill: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[]
}

/** The provider, which adds the text to each request that it sends. */
export function withEphemeralPrompt(provider: Provider, ephemeral: EphemeralPrompt): Provider {
  return {
    ...provider,
    stream: (request, signal, sessionId) =>
      provider.stream(addEphemeralPrompt(provider.apiMode, request, ephemeral), signal, sessionId),
  }
}

/** Pure: the same request gives the same bytes. */
export function addEphemeralPrompt(mode: ApiMode, request: ModelRequest, ephemeral: EphemeralPrompt): ModelRequest {
  switch (mode) {
    case 'chat_completions':
      return addToChat(request, ephemeral)
    case 'codex_responses':
      return addToResponses(request, ephemeral)
    case 'anthropic_messages':
      return addToAnthropic(request, ephemeral)
  }
}

function listAt(request: ModelRequest, key: string): readonly unknown[] {
  const list = request[key]
  return Array.isArray(list) ? list : []
}

function addToChat(request: ModelRequest, { system, prefill }: EphemeralPrompt): ModelRequest {
  const [first, ...rest] = listAt(request, 'messages')
  const hasSystem = isRecord(first) && first['role'] === 'system'
  const text = hasSystem && typeof first['content'] === 'string' ? first['content'] : ''
  const messages = hasSystem ? rest : listAt(request, 'messages')
  const joined = joinTexts(text, system)
  const head = joined === '' ? [] : [{ ...(hasSystem ? first : { role: 'system' }), content: joined }]
  return { ...request, messages: [...head, ...prefill, ...messages] }
}

function addToResponses(request: ModelRequest, { system, prefill }: EphemeralPrompt): ModelRequest {
  const { instructions } = request
  const text = joinTexts(typeof instructions === 'string' ? instructions : '', system)
  return {
    ...request,
    ...(text === '' ? {} : { instructions: text }),
    input: [...prefill, ...listAt(request, 'input')],
  }
}

function addToAnthropic(request: ModelRequest, { system, prefill }: EphemeralPrompt): ModelRequest {
  const added = system === '' ? [] : [{ type: 'text', text: system }]
  const blocks = [...listAt(request, 'system'), ...added]
  return {
    ...request,
    ...(blocks.length === 0 ? {} : { system: blocks }),
    messages: [...prefill, ...listAt(request, 'messages')],
  }
}

function joinTexts(...texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n')
}
