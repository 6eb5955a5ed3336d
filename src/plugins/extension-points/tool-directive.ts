/**
 * What several `pre_tool_call` answers come to: a block outranks an approval, an approval outranks running, and changes of
 * the arguments add up.
 */
import type { ToolDirective } from '../../agent/agent-hooks.ts'
import type { JsonObject } from '../../agent/models/provider.ts'
import { isRecord } from '../../lib/json.ts'
import type { HookResult } from '../hooks/plugin-hooks.ts'
import type { OnInvalidResult } from './hook-results.ts'

const expected =
  'expected { action: "block", message }, { action: "approve", message?, rule_key? } or { action: "modify", args }'

/** Without a change the arguments are the very same object. */
export function resolveToolDirective(
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
        message: isNonEmptyText(message) ? message : `The plugin ${owner} wants a person to decide about ${toolName}.`,
        ruleKey: isNonEmptyText(ruleKey) ? ruleKey : toolName,
      }
    else if (action === 'modify' && isRecord(changes)) changed = { ...changed, ...changes }
    else if (action !== undefined || !isRecord(value))
      onInvalidResult(owner, action === 'block' ? 'a block needs a message that is not empty' : expected)
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
