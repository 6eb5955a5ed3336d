/**
 * Calls the plugin hooks of a turn and of its sub-agents. The hooks inside a sub-agent are those of any other turn, with
 * the session of its parent.
 */
import type { AgentHooks, SubagentInfo, TurnInfo } from '../../agent/support/agent-hooks.ts'
import type { PluginHooks } from '../hooks/plugin-hooks.ts'
import type { TurnMemory } from '../plugin-memory.ts'
import { dispatchContextOf, turnKeys } from './payload-keys.ts'
import { firstNonEmptyText, joinContexts, type OnInvalidResultOf } from './results.ts'

type TurnHooks = Pick<
  AgentHooks,
  'onSessionStart' | 'collectContext' | 'transformOutput' | 'onTurnResponse' | 'onTurnEnd'
>

export function createTurnHooks(
  hooks: PluginHooks,
  memory: TurnMemory,
  onInvalidResultOf: OnInvalidResultOf,
): TurnHooks {
  return {
    async onSessionStart(turn) {
      const { sessionId, model, platform } = turn
      hooks.notify('on_session_start', dispatchContextOf(turn), () => ({ session_id: sessionId, model, platform }))
    },

    async collectContext(turn, { userMessage, history, isFirstTurn }) {
      const [recalled, results] = await Promise.all([
        memory.recall(turn, userMessage),
        hooks.collect('pre_llm_call', dispatchContextOf(turn), () => ({
          ...turnKeys(turn),
          user_message: userMessage,
          conversation_history: history(),
          is_first_turn: isFirstTurn,
          parent_session_id: turn.parentSessionId,
          sender_id: turn.senderId,
          role: turn.role,
        })),
      ])
      const context = joinContexts(results, onInvalidResultOf('pre_llm_call'))
      return [recalled, context].filter((part) => part !== '').join('\n\n')
    },

    async transformOutput(turn, text) {
      const { sessionId, model, platform } = turn
      const results = await hooks.collect('transform_llm_output', dispatchContextOf(turn), () => ({
        response_text: text,
        session_id: sessionId,
        model,
        platform,
      }))
      return firstNonEmptyText(results, onInvalidResultOf('transform_llm_output')) ?? text
    },

    async onTurnResponse(turn, about) {
      const { userMessage, response, history } = about
      memory.syncTurn(turn, about)
      hooks.notify('post_llm_call', dispatchContextOf(turn), () => ({
        ...turnKeys(turn),
        user_message: userMessage,
        assistant_response: response,
        conversation_history: history(),
      }))
    },

    async onTurnEnd(turn, { completed, failed, interrupted, reason }) {
      hooks.notify('on_session_end', dispatchContextOf(turn), () => ({
        ...turnKeys(turn),
        completed,
        failed,
        interrupted,
        turn_exit_reason: reason,
      }))
    },
  }
}

type SubagentHooks = Pick<AgentHooks, 'onSubagentStart' | 'onSubagentStop'>

export function createSubagentHooks(
  hooks: Pick<PluginHooks, 'notify'>,
  memory: Pick<TurnMemory, 'delegated'>,
): SubagentHooks {
  return {
    onSubagentStart(parent, child) {
      hooks.notify('subagent_start', dispatchContextOf(parent), () => ({
        ...subagentKeys(parent, child),
        parent_subagent_id: parent.subagent?.subagentId ?? null,
        child_subagent_id: child.subagentId,
        child_goal: child.goal,
      }))
    },

    onSubagentStop(parent, child, { status, summary, toolCalls, durationMs }) {
      // The text of an error is no result, and after an outage of the model the sub-agent may go on.
      if (status === 'completed' || status === 'failed') memory.delegated(parent, child, summary)
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
