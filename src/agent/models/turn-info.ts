/**
 * What plugins learn about a turn.
 */
import type { BackgroundDelegation, MessageEvent } from '../../message/event.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { TurnInfo } from '../support/agent-hooks.ts'
import type { ChosenModel } from './chosen-model.ts'

export type TurnInfoFactory = (
  turn: Pick<Turn, 'id' | 'sessionId' | 'sessionKey' | 'event' | 'authority'>,
  chosen: ChosenModel,
) => TurnInfo

/** @param routeOf `<platform>_<chat_type>`, or the route of a background task; '' on the command line. */
export function createTurnInfoFactory(routeOf: (event: MessageEvent) => string): TurnInfoFactory {
  return ({ id, sessionId, sessionKey, event, authority }, { provider, model }) => ({
    sessionId,
    sessionKey,
    turnId: id,
    taskId: event.task?.id ?? sessionId,
    platform: event.source.platform,
    route: routeOf(event),
    senderId: event.source.userId ?? '',
    role: authority.role,
    ...(authority.userId === undefined ? {} : { causedBy: `${authority.platform}:${authority.userId}` }),
    parentSessionId: event.task?.delegation?.sessionId ?? '',
    ...(event.task?.delegation && subagentFieldsOf(event.task.delegation, sessionId)),
    model,
    provider: provider.name,
    baseUrl: provider.baseUrl,
    apiMode: provider.apiMode,
  })
}

/** What a sub-agent in the background uses counts for the turn that has started it, too. */
function subagentFieldsOf(
  { turnId: rootTurnId, subagentId, role, depth, goal }: BackgroundDelegation,
  sessionId: string,
): Pick<TurnInfo, 'rootTurnId' | 'subagent'> {
  return { rootTurnId, subagent: { sessionId, subagentId, role, depth, goal } }
}
