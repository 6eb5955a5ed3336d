/**
 * Collects the tools of plugins as tool definitions of the agent. The agent opens its tools after plugins were loaded, and
 * again after each change of the configuration, so the definitions are stored here.
 */
import { z } from 'zod'
import { builtInTools } from '../agent/tools/built-in-tools.ts'
import type { ToolDefinition } from '../agent/tools/tool.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import { isRecord } from '../lib/json.ts'
import type { Logger } from '../lib/log.ts'
import { withTimeout } from '../lib/timers.ts'
import type { ToolMode } from '../message/transcript.ts'
import type { Fields, Registration } from '../middleware/contract.ts'
import type { PluginTool } from './contract.ts'

export interface PluginToolEntry {
  /** The plugin's id. */
  readonly owner: string
  readonly definition: ToolDefinition
  readonly override: boolean
}

export interface PluginTools {
  /** Throws `plugins/tool-taken` or `plugins/invalid-registration`. */
  register(owner: string, tool: PluginTool, run: PluginTool['run']): Registration
  /** Throws as `register` does. Names that the plugin itself has registered are free. */
  check(owner: string, tool: PluginTool): void
  /** In the order of registration. */
  list(): readonly PluginToolEntry[]
}

/**
 * @param mayOverride `plugins.entries.<id>.allow_tool_override`
 * @param onChange called after a tool was added or removed
 */
export function createPluginTools(
  mayOverride: (owner: string) => boolean,
  onChange: () => void,
  log: Logger,
): PluginTools {
  let entries: readonly PluginToolEntry[] = []

  function checkName(owner: string, { name, override = false }: PluginTool, others: readonly PluginToolEntry[]): void {
    if (!/^[\w-]{1,64}$/.test(name)) {
      throw invalidRegistration(
        `expected a tool name of at most 64 letters, digits, _ and -, found ${JSON.stringify(name)} (${owner})`,
      )
    }
    const taken = builtInTools.has(name) || others.some(({ definition }) => definition.name === name)
    if (!taken) return
    if (!override) throw new HermesError('plugins/tool-taken', `(${name}, requested by ${owner})`)
    if (mayOverride(owner)) return
    throw new HermesError('plugins/tool-taken', `(${name}, requested by ${owner})`, {
      hint: `\`plugins.entries.${owner}.allow_tool_override: true\` in config.yaml allows it to replace the tool.`,
    })
  }

  return {
    register(owner, tool, run) {
      checkName(owner, tool, entries)
      const entry: PluginToolEntry = {
        owner,
        definition: toToolDefinition(owner, tool, run, log),
        override: tool.override ?? false,
      }
      entries = [...entries, entry]
      onChange()
      return {
        name: tool.name,
        remove() {
          const remaining = entries.filter((pluginToolEntry) => pluginToolEntry !== entry)
          const removed = remaining.length < entries.length
          entries = remaining
          if (removed) onChange()
          return removed
        },
      }
    },
    check(owner, tool) {
      checkName(
        owner,
        tool,
        entries.filter((entry) => entry.owner !== owner),
      )
      toToolDefinition(owner, tool, tool.run, log)
    },
    list: () => entries,
  }
}

/** Timeout of `check` of a tool. Every turn waits for it. */
const checkTimeoutMs = 10_000

function toToolDefinition(owner: string, tool: PluginTool, run: PluginTool['run'], log: Logger): ToolDefinition {
  const { name, description } = tool
  if (typeof description !== 'string') throw invalidRegistration(`the tool ${name} of ${owner} needs a description`)
  return {
    name,
    toolset: tool.toolset ?? owner,
    description,
    ...toToolParameters(owner, tool, log),
    mode: modeOf(owner, tool),
    // Undefined would hide what is known of a built-in tool in whose place this one is.
    ...(tool.runsInParallel === undefined ? {} : { runsInParallel: tool.runsInParallel === true }),
    ...(Array.isArray(tool.leftOutOf) ? { leftOutOf: tool.leftOutOf.map(String) } : {}),
    ...(tool.check === undefined ? {} : { check: () => runCheck(tool) }),
    ...(tool.label === undefined ? {} : { label: (args) => labelOf(tool, args) }),
    ...(tool.summarize === undefined ? {} : { summarize: (result, args) => tool.summarize?.(result, args) ?? '' }),
    async run(args, { sessionId, turnId, callId: toolCallId, signal }) {
      const callLog = log.child({ turn: turnId, tool: name, plugin: owner })
      const result = await run(args, { sessionId, turnId, toolCallId, signal, log: callLog })
      return toModelText(result)
    },
  }
}

/** '' when the plugin throws: a label must not fail the call. */
function labelOf(tool: PluginTool, args: unknown): string {
  try {
    return String(tool.label?.(args) ?? '')
  } catch {
    return ''
  }
}

/** Rejects after a timeout. */
async function runCheck(tool: PluginTool): Promise<boolean> {
  const result = await withTimeout(Promise.resolve(tool.check?.()), checkTimeoutMs)
  if (!result.done) throw new Error(`check() took longer than ${checkTimeoutMs} ms`)
  return result.value ?? true
}

/** Checks the mode at run time, because plugins may be written without types. */
function modeOf(owner: string, { name, mode = 'effect' }: PluginTool): ToolMode {
  if (mode === 'pure' || mode === 'idempotent' || mode === 'effect') return mode
  throw invalidRegistration(
    `the tool ${name} of ${owner} has mode ${JSON.stringify(mode)}; expected pure, idempotent or effect`,
  )
}

type ToolParameters = Pick<ToolDefinition, 'parameters' | 'jsonSchema'>

function toToolParameters(owner: string, { name, parameters: declared }: PluginTool, log: Logger): ToolParameters {
  if (isZodSchema(declared)) return { parameters: declared }
  const parameters = toJsonObject(declared, `the \`parameters\` of the tool ${name} of ${owner} are not JSON`)
  if (parameters['type'] !== 'object') {
    throw invalidRegistration(
      `the tool ${name} of ${owner} needs \`parameters\`: a zod object, or JSON Schema of type object`,
    )
  }
  try {
    return { parameters: z.fromJSONSchema(parameters), jsonSchema: parameters }
  } catch (error) {
    const reason = messageOf(error)
    log.warn(
      { event: 'plugin.tool_schema_unsupported', plugin: owner, tool: name, reason },
      'the JSON Schema of a plugin tool is not supported; its arguments are not validated',
    )
    return { parameters: z.looseObject({}), jsonSchema: parameters }
  }
}

/** Returns a copy, because the schema in requests must be JSON and must not change. */
function toJsonObject(value: unknown, message: string): Fields {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value ?? null))
    return isRecord(copy) ? copy : {}
  } catch (error) {
    throw invalidRegistration(`${message}: ${messageOf(error)}`)
  }
}

/** Checks the shape, because a plugin may bundle its own copy of zod. */
function isZodSchema(value: unknown): value is z.ZodType {
  return typeof value === 'object' && value !== null && '_zod' in value && 'safeParse' in value
}

/** The text for the model. */
function toModelText(result: unknown): string {
  if (typeof result === 'string') return result
  return JSON.stringify(result) ?? 'null'
}

function invalidRegistration(detail: string): HermesError {
  return new HermesError('plugins/invalid-registration', detail)
}
