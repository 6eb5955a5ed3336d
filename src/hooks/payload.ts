/**
 * The JSON that programs and webhooks receive for an event (contract §2.7). All events have the same form.
 */
export interface HookPayload {
  readonly hook_event_name: string
  /** Null for gateway events, which concern no tool. */
  readonly tool_name: string | null
  readonly tool_input: Readonly<Record<string, unknown>> | null
  readonly session_id: string
  readonly cwd: string
  readonly profile: string
  /** The context of the event. */
  readonly extra: unknown
}

export function createHookPayload(event: string, context: unknown, cwd: string): HookPayload {
  const session = propertyOf(context, 'session_id')
  return {
    hook_event_name: event,
    tool_name: null,
    tool_input: null,
    session_id: typeof session === 'string' ? session : '',
    cwd,
    profile: 'default',
    extra: context,
  }
}

/** Matches the command of an event, or its platform if it has no command. */
export function matchesPattern(matcher: string | undefined, context: unknown): boolean {
  if (matcher === undefined || matcher === '' || matcher === '*') return true
  const subject = propertyOf(context, 'command') ?? propertyOf(context, 'platform') ?? ''
  return new RegExp(`^(?:${matcher})$`).test(String(subject))
}

function propertyOf(context: unknown, key: string): unknown {
  if (typeof context !== 'object' || context === null) return undefined
  return Object.entries(context).find(([name]) => name === key)?.[1]
}
