/**
 * One attempt at the model on its whole way (design, "Managed calls"): what plugins may rewrite, refuse, wrap and watch,
 * with the provider in the middle.
 */
import { messageOf } from '../lib/errors.ts'
import type { Middleware, Trace } from '../middleware/contract.ts'
import type { AgentPoints, RequestFacts, RequestFailure } from './points.ts'
import { type JsonObject, type ModelAnswer, ModelError, type ModelRequest, type Provider } from './provider.ts'
import { isRecord } from './providers/json.ts'

export interface ManagedModelDeps {
  readonly middleware: Middleware
  readonly points: AgentPoints
  /** ms */
  readonly clock: () => number
  /** Named points for crash tests; does nothing in production. */
  probe(point: string): void
}

export interface Attempt {
  readonly provider: Provider
  readonly facts: RequestFacts
  readonly request: ModelRequest
  /** The request of a reissue is the word of the plugin that asks for it: Kora's rewrite, of the same kind, is not asked. */
  readonly reissued: boolean
  readonly signal: AbortSignal
  /** The answer's text so far. */
  onText(textSoFar: string): void
}

export interface Answered {
  readonly facts: RequestFacts
  /** As it went out. */
  readonly request: ModelRequest
  readonly trace: Trace
  readonly response: JsonObject
  readonly answer: ModelAnswer
  readonly durationMs: number
}

/** What the observers are told of: unknown until every rewrite is done, and then no attempt is left without an end. */
interface Announced {
  readonly request: ModelRequest
  readonly trace: Trace
  text: string
}

/**
 * Rejects with `ModelError`, with what a guardrail or a plugin throws, or with the signal's reason when aborted.
 */
export async function attemptModel(deps: ManagedModelDeps, attempt: Attempt): Promise<Answered> {
  const { middleware, points } = deps
  const { provider, facts, signal } = attempt
  const begun = deps.clock()
  const mayChange = middleware.changesAnswers()
  let announced: Announced | undefined
  try {
    const response: unknown = await middleware.model({
      provider: provider.name,
      model: attempt.request.model,
      request: attempt.request,
      signal,
      fields: () => fieldsOf(facts),
      ...(attempt.reissued ? {} : { rewrite: (request: ModelRequest) => points.rewriteRequest(facts, request) }),
      announce(request, trace) {
        announced = { request, trace, text: '' }
        points.requestStarts(facts, request, trace)
        points.streamStarted(facts)
      },
      stream: (request, until) => provider.stream(request, until),
      collector: () => provider.collector(),
      onChunk: (chunk) => announced !== undefined && hear(deps, attempt, announced, chunk),
    })
    // The end of an answer can look like any other one; that of a stopped turn must never pass for a good one.
    signal.throwIfAborted()
    if (announced === undefined) throw new Error('a model was asked before anybody knew the request')
    const { request, trace, text } = announced
    const { answer, json } = read(provider, response, mayChange)
    points.streamEnded(facts, text, null)
    return { facts, request, trace, response: json, answer, durationMs: deps.clock() - begun }
  } catch (error) {
    if (announced !== undefined) {
      const { request, trace, text } = announced
      points.streamEnded(facts, text, messageOf(error))
      // A stop is nobody's failure.
      if (!signal.aborted) points.requestFailed(facts, request, trace, failureOf(error, deps.clock() - begun))
    }
    throw error
  }
}

function hear({ points, probe }: ManagedModelDeps, attempt: Attempt, announced: Announced, chunk: JsonObject): void {
  const delta = attempt.provider.readDelta(chunk)
  if (delta === null) return
  points.streamDelta(attempt.facts, delta.kind, delta.text)
  if (delta.kind !== 'text') return
  announced.text += delta.text
  probe('agent:streaming')
  attempt.onText(announced.text)
}

/** Plugins may put anything in the place of an answer: at this border it is the vendor's format, or an error that says whose. */
function read(
  provider: Provider,
  response: unknown,
  mayBeChanged: boolean,
): { readonly json: JsonObject; readonly answer: ModelAnswer } {
  if (!isRecord(response)) {
    throw new ModelError('bad-response', `A plugin answered for the model with no JSON object (${provider.apiMode}).`)
  }
  try {
    return { json: response, answer: provider.readAnswer(response) }
  } catch (error) {
    if (!mayBeChanged || !(error instanceof ModelError) || error.problem !== 'bad-response') throw error
    throw new ModelError(
      'bad-response',
      `A plugin may have changed what the model answered, and it is not of the format ${provider.apiMode}: ${error.message}`,
      { cause: error },
    )
  }
}

function failureOf(error: unknown, durationMs: number): RequestFailure {
  if (!(error instanceof ModelError)) return { error, statusCode: null, retryable: false, reason: 'error', durationMs }
  const { status, retryable, problem } = error
  return { error, statusCode: status ?? null, retryable, reason: problem, durationMs }
}

function fieldsOf({ turn, apiRequestId, iteration, apiCallCount, retryCount }: RequestFacts): JsonObject {
  return {
    session_id: turn.sessionId,
    session_key: turn.sessionKey,
    sender_id: turn.senderId,
    task_id: turn.taskId,
    turn_id: turn.turnId,
    api_request_id: apiRequestId,
    provider: turn.provider,
    model: turn.model,
    api_mode: turn.apiMode,
    base_url: turn.baseUrl,
    platform: turn.platform,
    route: turn.route,
    iteration,
    api_call_count: apiCallCount,
    retry_count: retryCount,
  }
}
