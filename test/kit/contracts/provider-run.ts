/**
 * Plays one call of a provider from beginning to end; what the promises of the contract have in common.
 */
import assert from 'node:assert/strict'
import {
  type Delta,
  type JsonObject,
  type ModelAnswer,
  ModelError,
  type ModelProblem,
  type ModelRequest,
  type Provider,
  type RequestInput,
} from '../../../src/agent/provider.ts'
import type { RecordedRequest } from '../servers/script.ts'
import type { ModelServer } from '../servers/sse.ts'

export interface ProviderLimits {
  readonly idleTimeoutMs?: number
  readonly maxChars?: number
}

/** What a group of promises about a connection works with. */
export interface ProviderBench {
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

export interface Run {
  readonly chunks: readonly JsonObject[]
  readonly deltas: readonly Delta[]
  readonly response: JsonObject
  readonly answer: ModelAnswer
}

/** Plays a whole call. `onChunk` is waited for after each chunk. */
export async function runCall(
  provider: Provider,
  request: ModelRequest,
  signal: AbortSignal = new AbortController().signal,
  onChunk?: (chunk: JsonObject) => unknown,
): Promise<Run> {
  const stream = provider.stream(request, signal)
  const chunks: JsonObject[] = []
  for (;;) {
    const step = await stream.next()
    if (step.done)
      return {
        chunks,
        deltas: deltasOf(provider, chunks),
        response: step.value,
        answer: provider.readAnswer(step.value),
      }
    chunks.push(step.value)
    await onChunk?.(step.value)
  }
}

/** The final JSON of chunks that plugins have changed, as the provider aggregates it. */
export function collected(provider: Provider, chunks: readonly JsonObject[]): JsonObject {
  const collector = provider.collector()
  for (const chunk of chunks) collector.add(chunk)
  return collector.finish()
}

function deltasOf(provider: Provider, chunks: readonly JsonObject[]): Delta[] {
  return chunks.map((chunk) => provider.readDelta(chunk)).filter((delta) => delta !== null)
}

export function textOf(deltas: readonly Delta[], kind: Delta['kind'] = 'text'): string {
  return deltas
    .filter((delta) => delta.kind === kind)
    .map((delta) => delta.text)
    .join('')
}

/** Plays a whole call of the contract's own conversation. */
export function callOnce(provider: Provider, signal?: AbortSignal): Promise<Run> {
  return runCall(provider, provider.buildRequest(contractInput), signal)
}

export function lastRequest(server: ModelServer): RecordedRequest {
  const request = server.requests.at(-1)
  assert.ok(request !== undefined, 'a request came in')
  return request
}

/** For `assert.rejects`: a `ModelError` with this problem, status and text. */
export function isProblem(problem: ModelProblem, status?: number, text: RegExp = /./): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof ModelError, `a ModelError, not ${String(error)}`)
    assert.equal(error.problem, problem, error.message)
    if (status !== undefined) assert.equal(error.status, status)
    assert.match(error.message, text)
    return true
  }
}
