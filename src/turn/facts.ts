/**
 * What plugins are told of a turn wherever it asks them.
 */
import type { TurnFacts } from '../agent/points.ts'
import type { Provider } from '../agent/provider.ts'
import type { MessageEvent } from '../message/event.ts'
import type { Turn } from './journal.ts'

/** Who answers in a turn. */
export interface ChosenModel {
  readonly provider: Provider
  readonly model: string
}

export type FactsOf = (turn: Turn, chosen: ChosenModel) => TurnFacts

/** @param routeOf `<platform>_<chat_type>`, or how a background task is marked; '' on the command line. */
export function createTurnFacts(routeOf: (event: MessageEvent) => string): FactsOf {
  return ({ id, sessionId, sessionKey, event }, { provider, model }) => ({
    sessionId,
    sessionKey,
    turnId: id,
    taskId: event.task?.id ?? sessionId,
    platform: event.source.platform,
    route: routeOf(event),
    senderId: event.source.userId ?? '',
    parentSessionId: '',
    model,
    provider: provider.name,
    baseUrl: provider.baseUrl,
    apiMode: provider.apiMode,
  })
}
