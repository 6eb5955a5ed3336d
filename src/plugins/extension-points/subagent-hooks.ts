/**
 * What plugins hear of sub-agents; the hooks within one are those of any turn, with the session of its parent.
 */
import type { AgentHooks, SubagentInfo, TurnInfo } from '../../agent/agent-hooks.ts'
import type { PluginHooks } from '../hooks/plugin-hooks.ts'
import { dispatchContextOf } from './payload-keys.ts'

type SubagentHooks = Pick<AgentHooks, 'onSubagentStart' | 'onSubagentStop'>

export function createSubagentHooks(hooks: Pick<PluginHooks, 'notify'>): SubagentHooks {
  return {
    onSubagentStart(parent, child) {
      hooks.notify('subagent_start', dispatchContextOf(parent), () => ({
        ...subagentKeys(parent, child),
        // A sub-agent makes no others.
        parent_subagent_id: null,
        child_subagent_id: child.subagentId,
        child_goal: child.goal,
      }))
    },

    onSubagentStop(parent, child, { status, summary, toolCalls, durationMs }) {
      hooks.notify('subagent_stop', dispatchContextOf(parent), () => ({
        ...subagentKeys(parent, child),
        child_summary: summary,
        child_status: status,
        tool_call_history: toolCalls.map(({ name, arguments: args, ok }) => ({ tool_name: name, arguments: args, ok })),
        duration_ms: durationMs,
      }))
    },
  }
}

function subagentKeys({ sessionId, turnId }: TurnInfo, child: SubagentInfo) {
  return {
    parent_session_id: sessionId,
    parent_turn_id: turnId,
    child_session_id: child.sessionId,
    child_role: child.role,
  }
}
