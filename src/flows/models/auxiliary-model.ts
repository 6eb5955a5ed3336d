/**
 * The client of all auxiliary models (contract agent.md S7): chooses the model of a task, calls it within its time, and tries another
 * one when it fails. Loaded with the first call.
 */
import type { AgentConfig } from '../../agent/config.ts'
import type { AuxiliaryRequest, AuxiliaryResponse, AuxiliaryTask, MainModel } from '../../agent/models/auxiliary.ts'
import { type CompletionCalls, complete } from '../../agent/models/completion.ts'
import { ModelError, type ModelOutput } from '../../agent/models/provider.ts'
import { retryRulesOf } from '../../agent/models/retry-policy.ts'
import { withCost } from '../../agent/models/run-model-call.ts'
import { isHermesError, messageOf } from '../../lib/errors.ts'
import { linkAbortSignal } from '../../lib/timers.ts'
import type { AuxiliaryCall } from '../../sessions/auxiliary-calls.ts'
import { auxiliarySettings, isOwnModel, type ModelMaker, otherModelSettings } from './other-model.ts'

/** The parts of a managed call. */
export type AuxiliaryCalls = Omit<CompletionCalls, 'log'> & Pick<AuxiliaryModelDeps, 'record'>

export interface AuxiliaryModelDeps extends CompletionCalls, ModelMaker {
  readonly settings: () => AgentConfig
  /** The configured model. Rejects `config/…`. */
  main(): Promise<MainModel>
  /** The model of `fallback_providers` after this failure; null when none can help. Never rejects. */
  fallback(failed: MainModel, failure: ModelError): Promise<MainModel | null>
  /** Stores what a call has used. Rejects `store/…`. */
  record(call: AuxiliaryCall): Promise<void>
}

/** Rejects as `AuxiliaryModel.complete`. */
export async function callAuxiliaryModel(
  deps: AuxiliaryModelDeps,
  task: AuxiliaryTask,
  request: AuxiliaryRequest,
): Promise<AuxiliaryResponse> {
  const seconds = deps.settings().auxiliary[task].timeout
  const linked = linkAbortSignal(request.signal)
  const timeout = new ModelError(
    'timeout',
    `The model for ${task} did not answer within ${seconds} seconds (auxiliary.${task}.timeout).`,
    { maxTries: 1 },
  )
  const timer = setTimeout(() => linked.abort(timeout), seconds * 1_000)
  try {
    const response = await callWithFallback(deps, task, { ...request, signal: linked.signal })
    if (request.storesUsage !== true) await record(deps, task, request, response)
    return response
  } catch (error) {
    request.signal.throwIfAborted()
    // A provider may report the end of the time in its own words.
    throw linked.signal.aborted ? timeout : error
  } finally {
    clearTimeout(timer)
    linked.release()
  }
}

/** A response is not lost because it cannot be counted. */
async function record(
  { record: store, log }: AuxiliaryModelDeps,
  task: AuxiliaryTask,
  { turn, countedFor = turn }: AuxiliaryRequest,
  { usage, provider, model }: AuxiliaryResponse,
): Promise<void> {
  const { sessionId = '', turnId = null } = countedFor ?? {}
  try {
    await store({ sessionId, turnId, task, provider: provider.name, model, usage })
  } catch (error) {
    log.warn({ event: 'model.usage_not_stored', task, err: error }, 'the tokens of a call could not be stored')
  }
}

async function callWithFallback(
  deps: AuxiliaryModelDeps,
  task: AuxiliaryTask,
  request: AuxiliaryRequest,
): Promise<AuxiliaryResponse> {
  const main = async () => request.main ?? (await deps.main())
  let chosen: MainModel
  try {
    const model = await chooseModel(deps, task, main)
    chosen = request.model === undefined ? model : { ...model, model: request.model }
  } catch (error) {
    // The work of people does not depend on a second model that cannot be used.
    if (!isHermesError(error) || !isOwnModel(deps.settings(), task)) throw error
    return await call(deps, replacing(deps, task, await usableMain(request, main, error), error), request)
  }
  try {
    return await call(deps, chosen, request)
  } catch (error) {
    request.signal.throwIfAborted()
    if (!(error instanceof ModelError) || request.triesOnce === true) throw error
    const other = isOwnModel(deps.settings(), task)
      ? await usableMain(request, main, error)
      : await deps.fallback(chosen, error)
    const isSame = other?.model === chosen.model && other.provider.baseUrl === chosen.provider.baseUrl
    if (other === null || isSame || request.canUse?.(other) === false) throw error
    return await call(deps, replacing(deps, task, other, error), request)
  }
}

/** Throws the failure when the main model cannot do the work. */
async function usableMain(request: AuxiliaryRequest, main: () => Promise<MainModel>, failure: unknown) {
  const model = await main()
  if (request.canUse?.(model) === false) throw failure
  return model
}

function replacing({ log }: AuxiliaryModelDeps, task: AuxiliaryTask, other: MainModel, failure: unknown): MainModel {
  log.warn(
    { event: 'model.auxiliary_replaced', task, provider: other.provider.name, model: other.model, err: failure },
    `the model for ${task} cannot be used, ${other.model} is used: ${messageOf(failure)}`,
  )
  return other
}

/** The model that the configuration names for a task, at the provider of the conversation unless it names another one. */
async function chooseModel(
  deps: AuxiliaryModelDeps,
  task: AuxiliaryTask,
  main: () => Promise<MainModel>,
): Promise<MainModel> {
  const named = auxiliarySettings(deps.settings(), task)
  const isMainProvider = named.provider === 'auto' || named.provider === 'main'
  // The key and the connection of the conversation.
  if (isMainProvider && named.base_url === '' && named.api_key === '') {
    const { provider, model } = await main()
    return { provider, model: named.model || model }
  }
  return await deps.create(otherModelSettings(deps.selection(), named))
}

async function call(
  deps: AuxiliaryModelDeps,
  { provider, model }: MainModel,
  { input, turn, triesOnce, countedFor, signal }: AuxiliaryRequest,
): Promise<AuxiliaryResponse> {
  const named = { ...input, model }
  if (turn === undefined)
    return { ...(await callOnce({ provider, model }, named, signal, countedFor?.sessionId)), provider, model }
  const { name, apiMode, baseUrl } = provider
  const info = { ...turn, provider: name, apiMode, baseUrl, model }
  const retry = () => (triesOnce === true ? { windowMs: 0, maxRetries: 0 } : briefRetryRules(deps.settings()))
  const { rotate: _anotherKey, ...withOneKey } = provider
  const sender = triesOnce === true ? withOneKey : provider
  const output = await complete(deps, { provider: sender, input: named, turn: info, signal, retry })
  return { ...output, provider, model }
}

/** Without plugins. Only another key is tried. */
async function callOnce(
  { provider }: MainModel,
  input: Parameters<MainModel['provider']['buildRequest']>[0],
  signal: AbortSignal,
  sessionId?: string,
): Promise<ModelOutput> {
  for (;;) {
    try {
      const stream = provider.stream(provider.buildRequest(input), signal, sessionId)
      for (;;) {
        const { done, value } = await stream.next()
        if (done !== true) continue
        const output = provider.parseResponse(value)
        return { ...output, usage: withCost(output.usage, provider, input.model) }
      }
    } catch (error) {
      if (signal.aborted || !(error instanceof ModelError) || provider.rotate?.(error) !== true) throw error
    }
  }
}

/** The work goes on without it, so it does not wait for the end of an outage. */
const maxRetryMs = 15_000

function briefRetryRules({ agent }: AgentConfig) {
  const { windowMs, maxRetries } = retryRulesOf(agent)
  return { windowMs: Math.min(windowMs, maxRetryMs), maxRetries }
}
