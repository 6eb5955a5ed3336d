/**
 * What becomes of the answers of each hook, and who waits for its callbacks (contract §2.5, §2.6).
 */
import { findClosestMatch } from '../../lib/did-you-mean.ts'
import type { HookName } from '../hook-map.ts'

/**
 * - `decides`: the caller waits for the answers; a callback that takes too long is skipped.
 * - `watches`: nobody waits; a callback that takes too long is given up.
 * - `notices`: nobody waits, and nobody gives a callback up.
 * - `streams`: as `watches`, in a line of their own, so that many chunks displace nothing else.
 */
export type HookKind = 'decides' | 'watches' | 'notices' | 'streams'

export const hookKinds: Readonly<Record<HookName, HookKind>> = {
  pre_tool_call: 'decides',
  post_tool_call: 'watches',
  transform_tool_result: 'decides',
  pre_llm_call: 'decides',
  post_llm_call: 'watches',
  transform_llm_output: 'decides',
  on_session_start: 'watches',
  on_session_end: 'watches',
  on_session_finalize: 'notices',
  on_session_reset: 'notices',
  pre_api_request: 'watches',
  post_api_request: 'watches',
  api_request_error: 'watches',
  pre_api_request_mutable: 'decides',
  pre_tool_list_finalized: 'decides',
  post_llm_call_can_reissue: 'decides',
  on_stream_start: 'streams',
  on_stream_delta: 'streams',
  on_stream_end: 'streams',
  // The contract sets no bound here. A callback that hangs would stop everything a platform delivers, so there is one.
  pre_gateway_dispatch: 'decides',
  gateway_platform_event: 'notices',
  pre_command: 'notices',
  pre_approval_request: 'notices',
  post_approval_response: 'notices',
  subagent_start: 'notices',
  subagent_stop: 'notices',
}

/** Undefined for names that nothing here fires. */
export function hookKindOf(name: string): HookKind | undefined {
  return isHookName(name) ? hookKinds[name] : undefined
}

export function isHookName(name: string): name is HookName {
  return Object.hasOwn(hookKinds, name)
}

/** The known name that may have been meant. */
export function suggestHookName(name: string): string | null {
  return findClosestMatch(name, Object.keys(hookKinds))
}
