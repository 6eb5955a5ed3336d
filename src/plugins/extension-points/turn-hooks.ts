/**
 * What plugins hear and say of a whole turn.
 */
import type { AgentHooks } from '../../agent/agent-hooks.ts'
import type { PluginHooks } from '../hooks/plugin-hooks.ts'
import type { TurnMemory } from '../plugin-memory.ts'
import { firstNonEmptyText, joinContexts, type OnInvalidResult } from './hook-results.ts'
import { dispatchContextOf, turnKeys } from './payload-keys.ts'

type TurnHooks = Pick<
  AgentHooks,
  'onSessionStart' | 'collectContext' | 'transformOutput' | 'onTurnResponse' | 'onTurnEnd'
>

export function createTurnHooks(
  hooks: PluginHooks,
  memory: TurnMemory,
  onInvalidResultAt: (point: string) => OnInvalidResult,
): TurnHooks {
  return {
    async onSessionStart(turn) {
      const { sessionId, model, platform } = turn
      hooks.notify('on_session_start', dispatchContextOf(turn), () => ({ session_id: sessionId, model, platform }))
    },

    async collectContext(turn, { userMessage, history, isFirstTurn }) {
      const [recalled, answers] = await Promise.all([
        memory.recall(turn, userMessage),
        hooks.collect('pre_llm_call', dispatchContextOf(turn), () => ({
          ...turnKeys(turn),
          user_message: userMessage,
          conversation_history: history(),
          is_first_turn: isFirstTurn,
          parent_session_id: turn.parentSessionId,
          sender_id: turn.senderId,
        })),
      ])
      const context = joinContexts(answers, onInvalidResultAt('pre_llm_call'))
      return [recalled, context].filter((part) => part !== '').join('\n\n')
    },

    async transformOutput(turn, text) {
      const { sessionId, model, platform } = turn
      const answers = await hooks.collect('transform_llm_output', dispatchContextOf(turn), () => ({
        response_text: text,
        session_id: sessionId,
        model,
        platform,
      }))
      return firstNonEmptyText(answers, onInvalidResultAt('transform_llm_output')) ?? text
    },

    async onTurnResponse(turn, { userMessage, response, history }) {
      memory.syncTurn(turn, userMessage, response)
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
