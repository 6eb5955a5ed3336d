/**
 * The facts of a turn, a model call and a tool call in the keys of the contract (§2.6).
 */
import type { RequestFacts, ToolEnding, ToolFacts, TurnFacts } from '../../agent/points.ts'
import type { Happening } from '../hooks/hooks.ts'

export function happeningIn({ route, sessionKey }: TurnFacts): Happening {
  return { route, order: sessionKey }
}

export function turnKeys({ sessionId, taskId, turnId, model, platform }: TurnFacts) {
  return { session_id: sessionId, task_id: taskId, turn_id: turnId, model, platform }
}

export function requestKeys({ turn, apiRequestId, apiCallCount, retryCount }: RequestFacts) {
  const { provider, baseUrl, apiMode } = turn
  return {
    ...turnKeys(turn),
    api_request_id: apiRequestId,
    provider,
    base_url: baseUrl,
    api_mode: apiMode,
    api_call_count: apiCallCount,
    retry_count: retryCount,
  }
}

export function streamKeys({ turn, iteration }: RequestFacts) {
  const { sessionId, turnId, model, provider, platform } = turn
  const surface = platform === 'cli' ? 'cli' : 'gateway'
  return { session_id: sessionId, turn_id: turnId, iteration, model, provider, surface }
}

export function toolKeys({ turn, toolName, toolCallId, apiRequestId }: ToolFacts) {
  const { taskId, sessionId, turnId } = turn
  return {
    tool_name: toolName,
    task_id: taskId,
    session_id: sessionId,
    tool_call_id: toolCallId,
    turn_id: turnId,
    api_request_id: apiRequestId,
  }
}

export function endingKeys({ result, status, errorType, errorMessage, durationMs }: ToolEnding) {
  return { result, status, error_type: errorType, error_message: errorMessage, duration_ms: durationMs }
}
