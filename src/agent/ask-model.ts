/**
 * One iteration's question to the model: the tools it offers, its attempts, and the one reissue that a plugin may ask for.
 */
import { messageOf } from '../lib/errors.ts'
import { uuid7 } from '../lib/ids.ts'
import { addUsage, type Usage } from '../message/transcript.ts'
import { type Answered, attemptModel, type ManagedModelDeps } from './managed-model.ts'
import { callModel, type RetryDeps } from './model-call.ts'
import type { AgentPoints, RequestFacts, TurnFacts } from './points.ts'
import {
  type JsonObject,
  type ModelAnswer,
  ModelError,
  type ModelRequest,
  type Provider,
  type RequestInput,
} from './provider.ts'
import { isRecord } from './providers/json.ts'

export interface AskDeps extends ManagedModelDeps, RetryDeps {
  /** Why a guardrail refused; null for any other error. */
  refusal(error: unknown): string | null
}

export interface Question {
  readonly provider: Provider
  readonly turn: TurnFacts
  /** From 1. */
  readonly iteration: number
  /** Model calls of the turn before this one. */
  readonly callsBefore: number
  readonly input: RequestInput
  readonly signal: AbortSignal
  /** The answer's text so far, '' when it begins anew; only while nobody may change it any more. */
  onText(textSoFar: string): void
}

export interface Reply {
  readonly answer: ModelAnswer
  /** Of every answer that was paid for. */
  readonly usage: Usage
  /** Of the call whose answer counts. */
  readonly apiRequestId: string
  /** Model calls of the turn, this iteration's included. */
  readonly calls: number
}

/** Rejects as `attemptModel` does, after the retries. */
export async function askModel(deps: AskDeps, question: Question): Promise<Reply> {
  const { points } = deps
  const first = await ask(deps, question, question.callsBefore + 1)
  const second = await reissue(deps, question, first)
  const last = second ?? first
  const { answer, facts } = last
  points.requestEnded(facts, last.request, last.trace, {
    response: last.response,
    usage: usageFields(answer.usage),
    finishReason: answer.finishReason,
    durationMs: last.durationMs,
  })
  return {
    answer,
    usage: second === null ? answer.usage : addUsage(first.answer.usage, answer.usage),
    apiRequestId: facts.apiRequestId,
    calls: facts.apiCallCount,
  }
}

/** The second call of an iteration, if a plugin wants one. When it fails the first answer, which was good, stays. */
async function reissue(deps: AskDeps, question: Question, first: Answered): Promise<Answered | null> {
  const request = await deps.points.reissue(first.facts, first.request, first.response)
  if (request === null) return null
  try {
    return await ask(deps, question, first.facts.apiCallCount + 1, request)
  } catch (error) {
    question.signal.throwIfAborted()
    const isKnown =
      error instanceof ModelError || deps.refusal(error) !== null || deps.middleware.culprit(error) !== null
    if (!isKnown) throw error
    deps.log.warn({ error }, `a plugin had the model asked once more; the first answer stays: ${messageOf(error)}`)
    return null
  }
}

/** `reissue`: the request of a plugin; without it the one of the question, with the tools it offers now. */
function ask(deps: AskDeps, question: Question, apiCallCount: number, reissue?: ModelRequest): Promise<Answered> {
  const { provider, turn, iteration, signal } = question
  const reissued = reissue !== undefined
  const built = reissue ?? provider.buildRequest(question.input)
  let shows = false
  const onText = (text: string) => {
    if (shows) question.onText(text)
  }
  return callModel(deps, {
    signal,
    again: () => onText(''),
    async attempt(retryCount) {
      const request = reissued ? built : await withFilteredTools(deps.points, question, built)
      const facts: RequestFacts = { turn, apiRequestId: uuid7(deps.clock()), iteration, apiCallCount, retryCount }
      shows = !holdsDrafts(deps)
      return attemptModel(deps, { provider, facts, request, reissued, signal, onText })
    },
  })
}

/** Whether what the model streams is not yet what people may read. */
export function holdsDrafts({ points, middleware }: Pick<AskDeps, 'points' | 'middleware'>): boolean {
  return points.holdsDrafts() || middleware.changesAnswers()
}

/** For this request alone. A vendor refuses an empty list, and some of them a history of calls without any tool. */
async function withFilteredTools(points: AgentPoints, about: Question, built: ModelRequest): Promise<ModelRequest> {
  const given = built['tools']
  const tools = Array.isArray(given) ? given.filter(isRecord) : []
  const offered = await points.filterTools(about.turn, tools)
  if (offered === tools) return built
  if (offered.length > 0) return { ...built, tools: offered }
  return about.provider.buildRequest({ ...about.input, tools: [] })
}

function usageFields({ inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens }: Usage): JsonObject {
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cache_read_tokens: cachedInputTokens,
    cache_write_tokens: cacheWriteTokens,
    total_tokens: inputTokens + outputTokens,
  }
}
