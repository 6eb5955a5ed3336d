/**
 * Chooses the model that finishes a turn after its own has failed (`fallback_providers`, contract agent.md S6). The person gets one
 * line about it; the log says what the first provider answered. Loaded with the first failure.
 */

import type { ChosenModel } from '../../agent/models/chosen-model.ts'
import type { ModelConfig } from '../../agent/models/config.ts'
import type { ModelError } from '../../agent/models/provider.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { MessageEvent } from '../../message/event.ts'
import type { Turn } from '../../sessions/turn.ts'
import { type ModelMaker, withoutForeignKeys } from './other-model.ts'

/** The turn that another model goes on with. */
export type FailedTurn = Pick<Turn, 'id' | 'event'>

/** The names are for people. */
export interface ModelChange {
  readonly failed: string
  readonly next: string
  /** When `failed` accepts a key again, ms; 0 if the failure does not concern its keys. */
  readonly restsUntil: number
}

export interface FallbackNotices {
  /** Another model finishes the turn. Rejects `store/...`. */
  fellBack(event: MessageEvent, turnId: string, change: ModelChange): Promise<void>
}

/** The kinds of failures that concern the provider, and not the conversation. */
const worthy: ReadonlySet<ModelError['kind']> = new Set([
  'auth',
  'billing',
  'rate-limit',
  'overloaded',
  'network',
  'timeout',
  'bad-response',
])

/**
 * Null when no entry can help. Never rejects: an entry that cannot be used is logged and left out.
 * @param failure absent when all keys of the model rest
 */
export async function chooseFallback(
  { selection, create }: ModelMaker,
  { entries, log }: { readonly entries: ModelConfig['fallback_providers']; readonly log: Logger },
  failed: ChosenModel,
  failure?: ModelError,
): Promise<ChosenModel | null> {
  // 404: the provider does not have the model.
  if (failure !== undefined && !worthy.has(failure.kind) && failure.status !== 404) return null
  for (const entry of entries) {
    const { provider, model, base_url: baseUrl = '', api_key, key_env, context_length: contextLength } = entry
    const configured = selection()
    const apiKey = api_key ?? (key_env === undefined ? '' : (configured.variables[key_env] ?? ''))
    const hasOwnKey = apiKey !== ''
    try {
      const named = { ...configured, provider, model, baseUrl, apiKey, apiMode: undefined, hasOwnKey }
      const next = await create(baseUrl === '' ? named : withoutForeignKeys(configured, named))
      // The keys of an entry may rest, too.
      const isOther = hasOwnKey || !isSameModel(next, failed)
      if (isOther && (next.provider.restsUntil?.() ?? 0) === 0) return { ...next, contextLength }
    } catch (error) {
      log.warn(
        { event: 'model.fallback_unusable', provider, model, err: error },
        `an entry of fallback_providers cannot be used: ${messageOf(error)}`,
      )
    }
  }
  return null
}

function isSameModel(a: ChosenModel, b: ChosenModel): boolean {
  return a.model === b.model && a.provider.name === b.provider.name && a.provider.baseUrl === b.provider.baseUrl
}

interface Fallback {
  readonly failed: ChosenModel
  readonly next: ChosenModel
  /** Absent when all keys of the model rest. */
  readonly failure?: ModelError | undefined
}

/** Never rejects. */
export async function reportFallback(
  { notices, log }: { readonly notices: FallbackNotices | undefined; readonly log: Logger },
  { id, event }: FailedTurn,
  { failed, next, failure }: Fallback,
): Promise<void> {
  const restsUntil = failed.provider.restsUntil?.() ?? 0
  const change = { failed: nameOf(failed), next: nameOf(next) }
  const fields = { turn: id, ...change }
  if (failure === undefined)
    log.info({ event: 'model.rests', ...fields, restsUntil }, 'another model answers while the keys rest')
  else log.warn({ event: 'model.fallback', ...fields, err: failure }, 'another model finishes the turn')
  try {
    await notices?.fellBack(event, id, { ...change, restsUntil })
  } catch (error) {
    log.warn({ event: 'model.fallback_notice_failed', turn: id, err: error }, 'the notice could not be stored')
  }
}

function nameOf({ provider, model }: ChosenModel): string {
  return `${model} (${provider.name})`
}
