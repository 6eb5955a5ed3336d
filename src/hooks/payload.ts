/**
 * The JSON that programs and webhooks receive for an event (contract §2.7). All events have the same form.
 */
import { asRecord } from '../lib/json.ts'
import { locateProfile } from '../lib/profiles.ts'

export interface HookPayload {
  readonly hook_event_name: string
  /** The tool and its arguments of a plugin event such as `pre_tool_call`; null for other events. */
  readonly tool_name: string | null
  readonly tool_input: Readonly<Record<string, unknown>> | null
  readonly session_id: string
  readonly cwd: string
  readonly profile: string
  /** The context of the event. */
  readonly extra: unknown
}

/** @param cwd the home */
export function createHookPayload(event: string, context: unknown, cwd: string): HookPayload {
  const session = propertyOf(context, 'session_id')
  const common = {
    hook_event_name: event,
    session_id: typeof session === 'string' ? session : '',
    cwd,
    profile: locateProfile(cwd).profile,
  }
  const { tool_name: toolName, args, ...rest } = asRecord(context)
  if (typeof toolName !== 'string') return { ...common, tool_name: null, tool_input: null, extra: context }
  return { ...common, tool_name: toolName, tool_input: asRecord(args), extra: rest }
}

/** Matches the tool of an event, or else its command, or else its platform. */
export function matchesPattern(matcher: string | undefined, context: unknown): boolean {
  if (matcher === undefined || matcher === '' || matcher === '*') return true
  const subject =
    propertyOf(context, 'tool_name') ?? propertyOf(context, 'command') ?? propertyOf(context, 'platform') ?? ''
  return new RegExp(`^(?:${matcher})$`).test(String(subject))
}

function propertyOf(context: unknown, key: string): unknown {
  if (typeof context !== 'object' || context === null) return undefined
  return Object.entries(context).find(([name]) => name === key)?.[1]
}
