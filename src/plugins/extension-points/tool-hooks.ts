/**
 * What plugins hear and say of a tool call.
 */
import type { AgentHooks } from '../../agent/agent-hooks.ts'
import type { PluginHooks } from '../hooks/plugin-hooks.ts'
import { firstText, type OnInvalidResult } from './hook-results.ts'
import { dispatchContextOf, toolKeys, toolResultKeys } from './payload-keys.ts'
import { resolveToolDirective } from './tool-directive.ts'

type ToolHooks = Pick<AgentHooks, 'beforeToolCall' | 'afterToolCall' | 'transformToolResult'>

export function createToolHooks(hooks: PluginHooks, onInvalidResultAt: (point: string) => OnInvalidResult): ToolHooks {
  return {
    async beforeToolCall(facts, args, trace) {
      const answers = await hooks.collect('pre_tool_call', dispatchContextOf(facts.turn), () => ({
        ...toolKeys(facts),
        args,
        middleware_trace: trace,
      }))
      return resolveToolDirective(answers, facts.toolName, args, onInvalidResultAt('pre_tool_call'))
    },

    async afterToolCall(facts, args, trace, ending) {
      hooks.notify('post_tool_call', dispatchContextOf(facts.turn), () => ({
        ...toolKeys(facts),
        args,
        ...toolResultKeys(ending),
        middleware_trace: trace,
      }))
    },

    async transformToolResult(facts, args, ending) {
      const answers = await hooks.collect('transform_tool_result', dispatchContextOf(facts.turn), () => ({
        ...toolKeys(facts),
        args,
        ...toolResultKeys(ending),
      }))
      return firstText(answers, onInvalidResultAt('transform_tool_result')) ?? ending.result
    },
  }
}
