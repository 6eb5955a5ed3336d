/**
 * Converts the information about a turn, a model call and a tool call into the payload keys of the contract (§2.6).
 */

import type { RequestInfo, ToolInfo, ToolResult, TurnInfo } from '../../agent/support/agent-hooks.ts'
import { commandLinePlatform } from '../../message/source.ts'
import type { HookDispatchContext } from '../hooks/plugin-hooks.ts'

export function dispatchContextOf({ route, sessionKey }: TurnInfo): HookDispatchContext {
  return { route, queueKey: sessionKey }
}

export function turnKeys({ sessionId, taskId, turnId, model, platform }: TurnInfo) {
  return { session_id: sessionId, task_id: taskId, turn_id: turnId, model, platform }
}

export function requestKeys({ turn, apiRequestId, apiCallCount, retryCount }: RequestInfo) {
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

export function streamKeys({ turn, iteration }: RequestInfo) {
  const { sessionId, turnId, model, provider, platform } = turn
  const surface = platform === commandLinePlatform ? 'cli' : 'gateway'
  return { session_id: sessionId, turn_id: turnId, iteration, model, provider, surface }
}

export function toolKeys({ turn, toolName, toolCallId, apiRequestId }: ToolInfo) {
  const { taskId, sessionId, turnId } = turn
  return {
    tool_name: toolName,
    task_id: taskId,
    session_id: sessionId,
    tool_call_id: toolCallId,
    turn_id: turnId,
    api_request_id: apiRequestId,
    role: turn.role,
  }
}

export function toolResultKeys({ result, status, errorType, errorMessage, durationMs }: ToolResult) {
  return { result, status, error_type: errorType, error_message: errorMessage, duration_ms: durationMs }
}
