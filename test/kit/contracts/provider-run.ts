/**
 * Plays one call of a provider from beginning to end; what the promises of the contract have in common.
 */
import assert from 'node:assert/strict'
import {
  type JsonObject,
  ModelError,
  type ModelErrorKind,
  type ModelOutput,
  type ModelRequest,
  type Provider,
  type RequestInput,
  type TextDelta,
} from '../../../src/agent/models/provider.ts'
import type { RecordedRequest } from '../servers/model-script.ts'
import type { ModelServer } from '../servers/sse.ts'

export interface ProviderLimits {
  readonly idleTimeoutMs?: number
  readonly maxChars?: number
}

/** What a group of promises about a connection works with. */
export interface ProviderTest {
  build(limits?: ProviderLimits): Provider
  server(): ModelServer
}

/** The key that `build` must give its provider. */
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
  readonly answer: ModelOutput
}

/** Plays a whole call. `onChunk` is waited for after each chunk. */
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
        answer: provider.parseResponse(step.value),
      }
    chunks.push(step.value)
    await onChunk?.(step.value)
  }
}

/** The final JSON of chunks that plugins have changed, as the provider aggregates it. */
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

/** Plays a whole call of the contract's own conversation. */
export function callOnce(provider: Provider, signal?: AbortSignal): Promise<ProviderRun> {
  return runCall(provider, provider.buildRequest(contractInput), signal)
}

export function lastRequest(server: ModelServer): RecordedRequest {
  const request = server.requests.at(-1)
  assert.ok(request !== undefined, 'a request came in')
  return request
}

/** For `assert.rejects`: a `ModelError` with this problem, status and text. */
export function matchesProviderError(
  problem: ModelErrorKind,
  status?: number,
  text: RegExp = /./,
): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof ModelError, `a ModelError, not ${String(error)}`)
    assert.equal(error.kind, problem, error.message)
    if (status !== undefined) assert.equal(error.status, status)
    assert.match(error.message, text)
    return true
  }
}
