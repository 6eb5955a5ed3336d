/**
 * What plugins hear of sub-agents; the hooks within one are those of any turn, with the session of its parent.
 */
import type { AgentPoints, ChildFacts, TurnFacts } from '../../agent/points.ts'
import type { PluginHooks } from '../hooks/hooks.ts'
import { happeningIn } from './keys.ts'

type SubagentPoints = Pick<AgentPoints, 'subagentStarted' | 'subagentStopped'>

export function createSubagentPoints(hooks: Pick<PluginHooks, 'tell'>): SubagentPoints {
  return {
    subagentStarted(parent, child) {
      hooks.tell('subagent_start', happeningIn(parent), () => ({
        ...familyKeys(parent, child),
        // A sub-agent makes no others.
        parent_subagent_id: null,
        child_subagent_id: child.subagentId,
        child_goal: child.goal,
      }))
    },

    subagentStopped(parent, child, { status, summary, calls, durationMs }) {
      hooks.tell('subagent_stop', happeningIn(parent), () => ({
        ...familyKeys(parent, child),
        child_summary: summary,
        child_status: status,
        tool_call_history: calls.map(({ name, arguments: args, ok }) => ({ tool_name: name, arguments: args, ok })),
        duration_ms: durationMs,
      }))
    },
  }
}

function familyKeys({ sessionId, turnId }: TurnFacts, child: ChildFacts) {
  return {
    parent_session_id: sessionId,
    parent_turn_id: turnId,
    child_session_id: child.sessionId,
    child_role: child.role,
  }
}
