/**
 * What several `pre_tool_call` answers come to: a block outranks an approval, an approval outranks running, and changes of
 * the arguments add up.
 */
import type { ToolDirective } from '../../agent/points.ts'
import type { JsonObject } from '../../agent/provider.ts'
import { isRecord } from '../../lib/record.ts'
import type { HookAnswer } from '../hooks/hooks.ts'
import type { Misfit } from './answers.ts'

const expected =
  'expected { action: "block", message }, { action: "approve", message?, rule_key? } or { action: "modify", args }'

/** Without a change the arguments are the very same object. */
export function directiveOf(
  answers: readonly HookAnswer[],
  toolName: string,
  args: JsonObject,
  misfit: Misfit,
): ToolDirective {
  let blocked: string | undefined
  let approval: { readonly message: string; readonly ruleKey: string } | undefined
  let changed = args
  for (const { owner, value } of answers) {
    const { action, message, rule_key: ruleKey, args: changes } = fieldsOf(value)
    if (action === 'block' && isText(message)) blocked ??= message
    else if (action === 'approve')
      approval ??= {
        message: isText(message) ? message : `The plugin ${owner} wants a person to decide about ${toolName}.`,
        ruleKey: isText(ruleKey) ? ruleKey : toolName,
      }
    else if (action === 'modify' && isRecord(changes)) changed = { ...changed, ...changes }
    else if (action !== undefined || !isRecord(value))
      misfit(owner, action === 'block' ? 'a block needs a message that is not empty' : expected)
  }
  if (blocked !== undefined) return { kind: 'block', message: blocked }
  return approval === undefined ? { kind: 'run', args: changed } : { kind: 'approve', ...approval, args: changed }
}

interface Answer {
  readonly action?: unknown
  readonly message?: unknown
  readonly rule_key?: unknown
  readonly args?: unknown
}

function fieldsOf(value: unknown): Answer {
  return isRecord(value) ? value : {}
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}
