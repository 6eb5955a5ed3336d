/**
 * The types of chunks and responses that plugins see agree with the types of the vendors' SDKs (checked by `tsc`), and an
 * intercept receives the mode that tells them apart.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import type { AnthropicBlock, AnthropicChunk, WireChunk, WireResponse } from '../../../src/sdk.ts'
import { modelCall, setUp } from '../../middleware/support.ts'

type Part<Union, Type> = Extract<Union, { readonly type: Type }>
/** The part of a vendor's union that our types name: both may contain more. */
type Named<Vendor, Ours extends { readonly type: string }> = Part<Vendor, Ours['type']>

/** Compiles only if each value of the vendor's type is one of ours. */
export const accepted = {
  chatChunk: (chunk: OpenAI.ChatCompletionChunk): WireChunk<'chat_completions'> => chunk,
  chatUsage: (usage: OpenAI.CompletionUsage): WireResponse<'chat_completions'>['usage'] => usage,
  anthropicBlock: (block: Named<Anthropic.ContentBlock, AnthropicBlock>): AnthropicBlock => block,
  anthropicDelta: (delta: Anthropic.RawContentBlockDelta): Part<AnthropicChunk, 'content_block_delta'>['delta'] =>
    delta,
  anthropicUsage: (usage: Anthropic.Usage): WireResponse<'anthropic_messages'>['usage'] => usage,
  responsesDelta: (
    event: OpenAI.Responses.ResponseTextDeltaEvent | OpenAI.Responses.ResponseFunctionCallArgumentsDeltaEvent,
  ): WireChunk<'codex_responses'> => event,
  responsesEnd: (event: OpenAI.Responses.ResponseCompletedEvent): WireChunk<'codex_responses'> => event,
}

test('an intercept and a guardrail learn the format of a model call', async () => {
  const { middleware } = setUp()
  const seen: string[] = []
  middleware.registerGuardrail('g', 'model', ({ apiMode }) => void seen.push(apiMode))
  middleware.registerIntercept('i', 'model_stream', (call, next) => {
    seen.push(call.apiMode)
    return next()
  })
  await middleware.model(modelCall(['a'], { fields: () => ({ api_mode: 'anthropic_messages' }) }))
  await middleware.model(modelCall(['a']))
  assert.deepEqual(seen, ['anthropic_messages', 'anthropic_messages', '', ''])
})
