/**
 * Calls the plugin hooks of a tool call and combines the results of `pre_tool_call` into one directive.
 */
import type { AgentHooks, ToolDirective } from '../../agent/support/agent-hooks.ts'
import type { JsonObject } from '../../lib/json.ts'
import { isRecord } from '../../lib/json.ts'
import type { HookResult, PluginHooks } from '../hooks/plugin-hooks.ts'
import { dispatchContextOf, toolKeys, toolResultKeys } from './payload-keys.ts'
import { firstText, type OnInvalidResult, type OnInvalidResultOf } from './results.ts'

type ToolHooks = Pick<AgentHooks, 'beforeToolCall' | 'afterToolCall' | 'transformToolResult'>

export function createToolHooks(hooks: PluginHooks, onInvalidResultOf: OnInvalidResultOf): ToolHooks {
  return {
    async beforeToolCall(info, args, trace) {
      const results = await hooks.collect('pre_tool_call', dispatchContextOf(info.turn), () => ({
        ...toolKeys(info),
        args,
        middleware_trace: trace,
      }))
      return resolveToolDirective(results, info.toolName, args, onInvalidResultOf('pre_tool_call'))
    },

    async afterToolCall(info, args, trace, toolResult) {
      hooks.notify('post_tool_call', dispatchContextOf(info.turn), () => ({
        ...toolKeys(info),
        args,
        ...toolResultKeys(toolResult),
        middleware_trace: trace,
      }))
    },

    async transformToolResult(info, args, toolResult) {
      const results = await hooks.collect('transform_tool_result', dispatchContextOf(info.turn), () => ({
        ...toolKeys(info),
        args,
        ...toolResultKeys(toolResult),
      }))
      return firstText(results, onInvalidResultOf('transform_tool_result')) ?? toolResult.result
    },
  }
}

const expectedDirective =
  'expected { action: "block", message }, { action: "approve", message?, rule_key? } or { action: "modify", args }'

/**
 * A block takes precedence over an approval, and an approval over running the tool. Changes of the arguments are merged;
 * without a change the directive holds the same object.
 */
function resolveToolDirective(
  results: readonly HookResult[],
  toolName: string,
  args: JsonObject,
  onInvalidResult: OnInvalidResult,
): ToolDirective {
  let blocked: string | undefined
  let approval: { readonly message: string; readonly ruleKey: string } | undefined
  let changed = args
  for (const { owner, value } of results) {
    const { action, message, rule_key: ruleKey, args: changes } = directiveFieldsOf(value)
    if (action === 'block' && isNonEmptyText(message)) blocked ??= message
    else if (action === 'approve')
      approval ??= {
        message: isNonEmptyText(message) ? message : `The plugin ${owner} requires an approval of ${toolName}.`,
        ruleKey: isNonEmptyText(ruleKey) ? ruleKey : toolName,
      }
    else if (action === 'modify' && isRecord(changes)) changed = { ...changed, ...changes }
    else if (action !== undefined || !isRecord(value))
      onInvalidResult(owner, action === 'block' ? 'a block needs a non-empty message' : expectedDirective)
  }
  if (blocked !== undefined) return { kind: 'block', message: blocked }
  return approval === undefined ? { kind: 'run', args: changed } : { kind: 'approve', ...approval, args: changed }
}

interface DirectiveFields {
  readonly action?: unknown
  readonly message?: unknown
  readonly rule_key?: unknown
  readonly args?: unknown
}

function directiveFieldsOf(value: unknown): DirectiveFields {
  return isRecord(value) ? value : {}
}

function isNonEmptyText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}
