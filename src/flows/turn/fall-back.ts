/**
 * Another model finishes a turn whose own model has failed (contract agent.md S6). The person gets one line about it; the log says
 * what the first provider answered.
 */

import type { ChosenModel } from '../../agent/models/chosen-model.ts'
import type { ModelError } from '../../agent/models/provider.ts'
import type { Logger } from '../../lib/log.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { AgentModels } from '../models/agent-models.ts'
import type { TurnNotices } from './turn-notices.ts'

export interface FallBackDeps {
  readonly models: Pick<AgentModels, 'fallback'>
  readonly notices: Pick<TurnNotices, 'fellBack'>
  readonly log: Logger
}

/**
 * Null when no other model can help. Never rejects.
 * @param failure absent when all keys of the model rest
 */
export async function fallBack(
  { models, notices, log }: FallBackDeps,
  turn: Turn,
  failed: ChosenModel,
  failure?: ModelError,
): Promise<ChosenModel | null> {
  const next = await models.fallback(failed, failure)
  if (next === null) return null
  const restsUntil = failed.provider.restsUntil?.() ?? 0
  const fields = { turn: turn.id, failed: nameOf(failed), next: nameOf(next) }
  if (failure === undefined)
    log.info({ event: 'model.rests', ...fields, restsUntil }, 'another model answers while the keys rest')
  else log.warn({ event: 'model.fallback', ...fields, err: failure }, 'another model finishes the turn')
  try {
    await notices.fellBack(turn.event, turn.id, { failed: nameOf(failed), next: nameOf(next), restsUntil })
  } catch (error) {
    log.warn({ event: 'model.fallback_notice_failed', turn: turn.id, err: error }, 'the notice could not be stored')
  }
  return next
}

function nameOf({ provider, model }: ChosenModel): string {
  return `${model} (${provider.name})`
}
