/**
 * Defines for each hook whether the caller waits for its callbacks and uses their results (contract §2.5, §2.6).
 */
import { findClosestMatch } from '../../lib/did-you-mean.ts'
import type { HookName } from '../hook-map.ts'

/**
 * - `decision`: the caller waits for the results; a callback that times out is skipped.
 * - `observer`: the caller does not wait; a callback may time out.
 * - `notification`: the caller does not wait; callbacks have no timeout.
 * - `stream`: as `observer`, in a separate queue, so that many chunks do not displace other notifications.
 */
export type HookKind = 'decision' | 'observer' | 'notification' | 'stream'

export const hookKinds: Readonly<Record<HookName, HookKind>> = {
  pre_tool_call: 'decision',
  post_tool_call: 'observer',
  transform_tool_result: 'decision',
  pre_llm_call: 'decision',
  post_llm_call: 'observer',
  transform_llm_output: 'decision',
  on_session_start: 'observer',
  on_session_end: 'observer',
  on_session_finalize: 'notification',
  on_session_reset: 'notification',
  pre_api_request: 'observer',
  post_api_request: 'observer',
  api_request_error: 'observer',
  pre_api_request_mutable: 'decision',
  pre_tool_list_finalized: 'decision',
  post_llm_call_can_reissue: 'decision',
  on_stream_start: 'stream',
  on_stream_delta: 'stream',
  on_stream_end: 'stream',
  // The contract defines no timeout here. A callback that hangs would block all messages of a platform, so there is one.
  pre_gateway_dispatch: 'decision',
  gateway_platform_event: 'notification',
  pre_command: 'notification',
  pre_approval_request: 'notification',
  post_approval_response: 'notification',
  subagent_start: 'notification',
  subagent_stop: 'notification',
}

/** Undefined for unknown names. */
export function hookKindOf(name: string): HookKind | undefined {
  return isHookName(name) ? hookKinds[name] : undefined
}

export function isHookName(name: string): name is HookName {
  return Object.hasOwn(hookKinds, name)
}

/** The most similar known name. */
export function suggestHookName(name: string): string | null {
  return findClosestMatch(name, Object.keys(hookKinds))
}
