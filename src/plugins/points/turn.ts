/**
 * What plugins hear and say of a whole turn.
 */
import type { AgentPoints } from '../../agent/points.ts'
import type { PluginHooks } from '../hooks/hooks.ts'
import type { TurnMemory } from '../memory.ts'
import { firstFullText, joinedContexts, type Misfit } from './answers.ts'
import { happeningIn, turnKeys } from './keys.ts'

type TurnPoints = Pick<AgentPoints, 'sessionStarted' | 'contextFor' | 'transformAnswer' | 'answered' | 'ended'>

export function createTurnPoints(
  hooks: PluginHooks,
  memory: TurnMemory,
  misfitAt: (point: string) => Misfit,
): TurnPoints {
  return {
    async sessionStarted(turn) {
      const { sessionId, model, platform } = turn
      hooks.tell('on_session_start', happeningIn(turn), () => ({ session_id: sessionId, model, platform }))
    },

    async contextFor(turn, { userMessage, history, isFirstTurn }) {
      const [recalled, answers] = await Promise.all([
        memory.recall(turn, userMessage),
        hooks.collect('pre_llm_call', happeningIn(turn), () => ({
          ...turnKeys(turn),
          user_message: userMessage,
          conversation_history: history(),
          is_first_turn: isFirstTurn,
          parent_session_id: turn.parentSessionId,
          sender_id: turn.senderId,
        })),
      ])
      const context = joinedContexts(answers, misfitAt('pre_llm_call'))
      return [recalled, context].filter((part) => part !== '').join('\n\n')
    },

    async transformAnswer(turn, text) {
      const { sessionId, model, platform } = turn
      const answers = await hooks.collect('transform_llm_output', happeningIn(turn), () => ({
        response_text: text,
        session_id: sessionId,
        model,
        platform,
      }))
      return firstFullText(answers, misfitAt('transform_llm_output')) ?? text
    },

    async answered(turn, { userMessage, response, history }) {
      memory.keep(turn, userMessage, response)
      hooks.tell('post_llm_call', happeningIn(turn), () => ({
        ...turnKeys(turn),
        user_message: userMessage,
        assistant_response: response,
        conversation_history: history(),
      }))
    },

    async ended(turn, { completed, failed, interrupted, reason }) {
      hooks.tell('on_session_end', happeningIn(turn), () => ({
        ...turnKeys(turn),
        completed,
        failed,
        interrupted,
        turn_exit_reason: reason,
      }))
    },
  }
}
