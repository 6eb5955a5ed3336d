/**
 * Stand-ins for what a plugin in Python registers, apart from middleware: each calls its callback over there.
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
 * After the time in which the answer counts: whoever waited has gone on by then, and a callback that spins for ever is
 * ended with its process.
 */
const deadlineMarginMs = 100

export function registerHook(
  { key, name, parts }: SpecOf<'hook'>,
  context: NamedRegistrar,
  process: PythonProcess,
  timeoutMs: () => number,
): Registration {
  const wanted = parts['call'] ?? null
  const kind = hookKindOf(name)
  const callback: AnyCallback = async (payload: object) => {
    const ms = kind === 'notices' ? 0 : timeoutMs()
    const answer = await process.call(`${key} call`, {
      keywords: toKeywordArguments(payload, wanted),
      discardResult: kind !== 'decides',
      ...(ms === 0 ? {} : { deadlineMs: ms + deadlineMarginMs }),
    })
    return answer ?? undefined
  }
  return context.registerHook(name, callback)
}

/** @param environment what `requires_env` is looked up in */
export function registerTool(
  { key, name, parts, toolset, schema, description, override, requires_env: requiredVariables }: SpecOf<'tool'>,
  context: PluginContext,
  process: PythonProcess,
  environment: () => Readonly<Record<string, string>>,
): Registration {
  // A function as vendors describe it, or the JSON Schema of its arguments.
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
    ...(hint ? { argsHint: hint } : {}),
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
      ...(ms === 0 ? {} : { deadlineMs: ms + deadlineMarginMs }),
    })
    return typeof section === 'string' ? truncate(section) : null
  })
}

/** One that is up is started again in each later process; it ended with the one before. */
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
      // With its process everything has ended that there was to end.
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
