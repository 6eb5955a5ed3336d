/**
 * Models for work beside the conversation: pictures, long pages, summaries, the judgement of commands, titles (contract
 * agent.md S7). The client is in flows/auxiliary-model.ts.
 */
import type { TurnInfo } from '../support/agent-hooks.ts'
import type { ModelOutput, Provider, RequestInput } from './provider.ts'

export type AuxiliaryTask = 'vision' | 'web_extract' | 'compression' | 'approval' | 'title_generation' | 'mcp'

/** The model of a conversation, which `auto` and `main` name. */
export interface MainModel {
  readonly provider: Provider
  readonly model: string
}

export interface AuxiliaryRequest {
  readonly input: Omit<RequestInput, 'model'>
  /** The model of the conversation; when omitted, the configured one. */
  readonly main?: MainModel
  /** The name of the model, in place of the one of the task. A model that replaces it after a failure keeps its own name. */
  readonly model?: string | undefined
  /**
   * The turn for which the call is made. The call is then a managed one, with retries, and plugins see the model that answers.
   * Without it, no plugin sees or changes the call.
   */
  readonly turn?: TurnInfo
  /** The turn that pays for a call without `turn`. */
  readonly countedFor?: Pick<TurnInfo, 'sessionId' | 'turnId'>
  /** The caller stores the usage with what the model answered. Otherwise the client stores it. */
  readonly storesUsage?: boolean
  /** The work may as well be left out: no retry, no other model, and no key rests because of it. */
  readonly triesOnce?: boolean
  readonly signal: AbortSignal
  /** Whether a model can do this work at all. Absent: every model can. */
  canUse?(model: MainModel): boolean
}

export interface AuxiliaryResponse extends ModelOutput {
  /** The model that answered. */
  readonly model: string
  readonly provider: Provider
}

export interface AuxiliaryModel {
  /** Whether the configuration names a model, a provider or an address for this task. Otherwise the main model does the work. */
  isConfigured(): Promise<boolean>
  /**
   * Calls the model of the task within `auxiliary.<task>.timeout` seconds. When it fails, another one is tried once: the main model,
   * or else the first usable entry of `fallback_providers`. Rejects with `ModelError` (`timeout` when the time is over), `config/…`,
   * what a guardrail or a plugin throws, or the signal's reason.
   */
  complete(request: AuxiliaryRequest): Promise<AuxiliaryResponse>
}

/** Loads nothing before the first call. */
export type Auxiliary = (task: AuxiliaryTask) => AuxiliaryModel

/** For whom a tool calls a model. */
export type AuxiliaryCaller = Pick<AuxiliaryRequest, 'main' | 'turn'>
