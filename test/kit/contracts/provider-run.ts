/**
 * Runs one call of a provider. Shared by the promises of the provider contract.
 */
import assert from 'node:assert/strict'
import {
  ModelError,
  type ModelErrorKind,
  type ModelOutput,
  type Provider,
  type RequestInput,
  type TextDelta,
} from '../../../src/agent/models/provider.ts'
import type { ModelRequest } from '../../../src/agent/support/model-request.ts'
import type { JsonObject } from '../../../src/lib/json.ts'
import type { RecordedRequest } from '../servers/model-script.ts'
import type { ModelServer } from '../servers/sse.ts'

export interface ProviderLimits {
  readonly idleTimeoutMs?: number
  readonly maxChars?: number
}

/** The context of promises about a connection. */
export interface ProviderTest {
  build(limits?: ProviderLimits): Provider
  server(): ModelServer
}

/** The API key that `build` must pass to its provider. */
export const CONTRACT_KEY = 'sk-contract-0123456789abcdef'

export const contractInput: RequestInput = {
  model: 'test-model',
  system: 'Be brief.',
  messages: [{ role: 'user', content: 'Hello' }],
  tools: [{ name: 'terminal', description: 'Runs a command.', parameters: { type: 'object', properties: {} } }],
}

export interface ProviderRun {
  readonly chunks: readonly JsonObject[]
  readonly deltas: readonly TextDelta[]
  readonly response: JsonObject
  readonly output: ModelOutput
}

/** Runs a call to its end. Awaits `onChunk` after each chunk. */
export async function runCall(
  provider: Provider,
  request: ModelRequest,
  signal: AbortSignal = new AbortController().signal,
  onChunk?: (chunk: JsonObject) => unknown,
): Promise<ProviderRun> {
  const stream = provider.stream(request, signal)
  const chunks: JsonObject[] = []
  for (;;) {
    const step = await stream.next()
    if (step.done)
      return {
        chunks,
        deltas: deltasOf(provider, chunks),
        response: step.value,
        output: provider.parseResponse(step.value),
      }
    chunks.push(step.value)
    await onChunk?.(step.value)
  }
}

/** The response that the provider aggregates from chunks. */
export function collected(provider: Provider, chunks: readonly JsonObject[]): JsonObject {
  const collector = provider.createCollector()
  for (const chunk of chunks) collector.add(chunk)
  return collector.finish()
}

function deltasOf(provider: Provider, chunks: readonly JsonObject[]): TextDelta[] {
  return chunks.map((chunk) => provider.parseDelta(chunk)).filter((delta) => delta !== null)
}

export function textOf(deltas: readonly TextDelta[], kind: TextDelta['kind'] = 'text'): string {
  return deltas
    .filter((delta) => delta.kind === kind)
    .map((delta) => delta.text)
    .join('')
}

/** Runs a call with `contractInput`. */
export function callOnce(provider: Provider, signal?: AbortSignal): Promise<ProviderRun> {
  return runCall(provider, provider.buildRequest(contractInput), signal)
}

export function lastRequest(server: ModelServer): RecordedRequest {
  const request = server.requests.at(-1)
  assert.ok(request !== undefined, 'no request was received')
  return request
}

/** For `assert.rejects`: a `ModelError` of this kind, with this status and text. */
export function matchesProviderError(
  kind: ModelErrorKind,
  status?: number,
  text: RegExp = /./,
): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof ModelError, `expected a ModelError, received ${String(error)}`)
    assert.equal(error.kind, kind, error.message)
    if (status !== undefined) assert.equal(error.status, status)
    assert.match(error.message, text)
    return true
  }
}
