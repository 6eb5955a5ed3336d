/**
 * Proxies for the registrations of plugins in Python, except middleware. Each proxy calls its callback in the process.
 */

import { isRecord } from '../../lib/json.ts'
import type { Registration } from '../../middleware/contract.ts'
import type { PluginContext } from '../contract.ts'
import type { AnyCallback } from '../hooks/callback.ts'
import { hookKindOf } from '../hooks/hook-kinds.ts'
import type { NamedRegistrar, PythonProcess } from './contract.ts'
import { pickSignal, toKeywordArguments } from './keyword-arguments.ts'
import type { SpecOf } from './registration-spec.ts'

/**
 * Added to the timeout of a callback. By then the caller has continued, and the process of a callback that never ends is
 * killed.
 */
const deadlineMarginMs = 100

export function registerHook(
  { key, name, parts }: SpecOf<'hook'>,
  context: NamedRegistrar,
  process: PythonProcess,
  timeoutMs: () => number,
): Registration {
  const requested = parts['call'] ?? null
  const kind = hookKindOf(name)
  const callback: AnyCallback = async (payload: object) => {
    const ms = kind === 'notification' ? 0 : timeoutMs()
    const result = await process.call(`${key} call`, {
      keywords: toKeywordArguments(payload, requested),
      discardResult: kind !== 'decision',
      deadlineMs: ms === 0 ? undefined : ms + deadlineMarginMs,
    })
    return result ?? undefined
  }
  return context.registerHook(name, callback)
}

/** @param environment the variables for `requires_env` */
export function registerTool(
  { key, name, parts, toolset, schema, description, override, requires_env: requiredVariables }: SpecOf<'tool'>,
  context: PluginContext,
  process: PythonProcess,
  environment: () => Readonly<Record<string, string>>,
): Registration {
  // Either a function description in the format of vendors, or the JSON Schema of the arguments.
  const isFunction = schema !== null && schema !== undefined && 'parameters' in schema
  const parameters = isFunction ? schema['parameters'] : (schema ?? undefined)
  const schemaDescription = isFunction && typeof schema['description'] === 'string' ? schema['description'] : ''
  const hasCheck = parts['check'] !== undefined
  return context.registerTool({
    name,
    ...(toolset === null || toolset === undefined ? {} : { toolset }),
    description: description || schemaDescription,
    parameters: isRecord(parameters) ? parameters : { type: 'object', properties: {} },
    override,
    async check() {
      if (requiredVariables.some((variable) => (environment()[variable] ?? '') === '')) return false
      return hasCheck ? (await process.call(`${key} check`, {})) !== false : true
    },
    run: (args, { sessionId, turnId, toolCallId, signal }) =>
      process.call(`${key} call`, {
        args: [args],
        keywords: { session_id: sessionId, task_id: sessionId, turn_id: turnId, tool_call_id: toolCallId },
        signal,
      }),
  })
}

export function registerCommand(
  { key, name, description, args_hint: hint }: SpecOf<'command'>,
  context: PluginContext,
  process: PythonProcess,
): Registration {
  return context.registerCommand({
    name,
    description: description ?? '',
    ...(hint && { argsHint: hint }),
    async run(args, { platform, userId, sessionKey, signal }) {
      const keywords = { platform, user_id: userId, session_key: sessionKey }
      const reply = await process.call(`${key} call`, { args: [args], keywords, signal })
      return typeof reply === 'string' || reply === null ? reply : JSON.stringify(reply)
    },
  })
}

export function registerSection(
  { key, name, text, max_chars: maxChars }: SpecOf<'section'>,
  context: PluginContext,
  process: PythonProcess,
  timeoutMs: () => number,
): Registration {
  const truncate = (section: string) => section.slice(0, maxChars)
  if (typeof text === 'string') return context.registerSystemPromptSection(name, truncate(text))
  return context.registerSystemPromptSection(name, async ({ sessionId, platform }) => {
    const ms = timeoutMs()
    const section = await process.call(`${key} call`, {
      keywords: { session_id: sessionId, platform },
      deadlineMs: ms === 0 ? undefined : ms + deadlineMarginMs,
    })
    return typeof section === 'string' ? truncate(section) : null
  })
}

/** A running daemon is started again in each new process. */
export function registerDaemon(
  { key, name, task, shutdown_ms: shutdownTimeoutMs }: SpecOf<'daemon'>,
  context: PluginContext,
  process: PythonProcess,
): Registration {
  const startUp = () => process.call(`${key} startup`, {})
  return context.registerBackgroundDaemon(
    name,
    async () => {
      await startUp()
      process.restartTasks.add(startUp)
    },
    async () => {
      process.restartTasks.delete(startUp)
      // A daemon ends with its process.
      if (process.isRunning()) await process.call(`${key} shutdown`, {})
    },
    {
      shutdownTimeoutMs,
      ...(task === null
        ? {}
        : {
            periodicTask: {
              name: task.name,
              intervalMs: task.interval_ms,
              runAtStart: task.at_start,
              run: (signal) => process.call(`${key} run`, pickSignal({ signal })),
            },
          }),
    },
  )
}

export function registerUnloadCallback(
  { key }: SpecOf<'unload'>,
  context: PluginContext,
  process: PythonProcess,
): void {
  context.onUnload(async () => {
    if (process.isRunning()) await process.call(`${key} call`, {})
  })
}
