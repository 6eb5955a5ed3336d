/**
 * What plugins are told of a turn wherever it asks them.
 */
import type { TurnInfo } from '../../agent/agent-hooks.ts'
import type { Provider } from '../../agent/models/provider.ts'
import type { MessageEvent } from '../../message/event.ts'
import type { Turn } from './journal.ts'

/** Who answers in a turn. */
export interface ChosenModel {
  readonly provider: Provider
  readonly model: string
}

export type TurnInfoFactory = (turn: Turn, chosen: ChosenModel) => TurnInfo

/** @param routeOf `<platform>_<chat_type>`, or how a background task is marked; '' on the command line. */
export function createTurnInfoFactory(routeOf: (event: MessageEvent) => string): TurnInfoFactory {
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
