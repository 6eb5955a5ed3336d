/**
 * Tools of plugins, as the agent takes tools. The agent's own are opened long after plugins are loaded, and again whenever
 * the configuration changes: so they are kept here, and handed over each time.
 */
import { z } from 'zod'
import type { ToolDefinition, ToolMode } from '../agent/tools/tool.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import { isRecord } from '../lib/json.ts'
import type { Logger } from '../lib/log.ts'
import { withTimeout } from '../lib/timers.ts'
import type { Fields, Registration } from '../middleware/contract.ts'
import type { PluginTool } from './contract.ts'

export interface PluginToolsDeps {
  /** The names of the agent's own tools. */
  readonly builtInNames: ReadonlySet<string>
  /** `plugins.entries.<id>.allow_tool_override`. */
  mayOverride(owner: string): boolean
  /** The tools are others now. */
  onChange(): void
  readonly log: Logger
}

export interface PluginToolEntry {
  readonly definition: ToolDefinition
  readonly override: boolean
}

export interface PluginTools {
  /** Throws `plugins/tool-taken`, or `plugins/invalid-registration`. */
  register(owner: string, tool: PluginTool, run: PluginTool['run']): Registration
  /** In the order of registration. */
  list(): readonly PluginToolEntry[]
}

export function createPluginTools({ builtInNames: builtIn, mayOverride, onChange, log }: PluginToolsDeps): PluginTools {
  let entries: readonly PluginToolEntry[] = []

  function checkName(owner: string, { name, override = false }: PluginTool): void {
    if (!/^[\w-]{1,64}$/.test(name)) {
      throw invalidRegistration(
        `a tool is named with at most 64 letters, digits, _ and -, found ${JSON.stringify(name)} (${owner})`,
      )
    }
    const taken = builtIn.has(name) || entries.some(({ definition }) => definition.name === name)
    if (!taken) return
    if (!override) throw new HermesError('plugins/tool-taken', `(${name}, wanted by ${owner})`)
    if (mayOverride(owner)) return
    throw new HermesError('plugins/tool-taken', `(${name}, wanted by ${owner})`, {
      hint: `\`plugins.entries.${owner}.allow_tool_override: true\` in config.yaml lets it take that place.`,
    })
  }

  return {
    register(owner, tool, run) {
      checkName(owner, tool)
      const entry: PluginToolEntry = {
        definition: toToolDefinition(owner, tool, run, log),
        override: tool.override ?? false,
      }
      entries = [...entries, entry]
      onChange()
      return {
        name: tool.name,
        remove() {
          const left = entries.filter((one) => one !== entry)
          const removed = left.length < entries.length
          entries = left
          if (removed) onChange()
          return removed
        },
      }
    },
    list: () => entries,
  }
}

/** How long a tool may look whether it can be used; every turn waits for it. */
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
    ...(tool.check === undefined ? {} : { check: () => runCheck(tool) }),
    async run(args, { sessionId, turnId, callId: toolCallId, signal, log: callLog }) {
      const result = await run(args, { sessionId, turnId, toolCallId, signal, log: callLog.child({ plugin: owner }) })
      return toModelText(result)
    },
  }
}

/** Rejects when it takes too long. */
async function runCheck(tool: PluginTool): Promise<boolean> {
  const looked = await withTimeout(Promise.resolve(tool.check?.()), checkTimeoutMs)
  if (!looked.done) throw new Error(`check() took longer than ${checkTimeoutMs} ms`)
  return looked.value ?? true
}

/** Plugins may be written without types. */
function modeOf(owner: string, { name, mode = 'effect' }: PluginTool): ToolMode {
  if (mode === 'pure' || mode === 'idempotent' || mode === 'effect') return mode
  throw invalidRegistration(
    `the tool ${name} of ${owner} has mode ${JSON.stringify(mode)}; expected pure, idempotent or effect`,
  )
}

type ToolParameters = Pick<ToolDefinition, 'parameters' | 'jsonSchema'>

function toToolParameters(owner: string, { name, parameters: given }: PluginTool, log: Logger): ToolParameters {
  if (isZodSchema(given)) return { parameters: given }
  const parameters = toJsonObject(given, `the \`parameters\` of the tool ${name} of ${owner} are no JSON`)
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
      { plugin: owner, tool: name },
      `the arguments of ${name} are not checked, its schema says too much: ${reason}`,
    )
    return { parameters: z.looseObject({}), jsonSchema: parameters }
  }
}

/** A copy: what goes out with every request must stay the same, and must be JSON. */
function toJsonObject(given: unknown, message: string): Fields {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(given ?? null))
    return isRecord(copy) ? copy : {}
  } catch (error) {
    throw invalidRegistration(`${message}: ${messageOf(error)}`)
  }
}

/** By its looks: a plugin may bring a zod of its own. */
function isZodSchema(value: unknown): value is z.ZodType {
  return typeof value === 'object' && value !== null && '_zod' in value && 'safeParse' in value
}

/** What the model reads. */
function toModelText(result: unknown): string {
  if (typeof result === 'string') return result
  return JSON.stringify(result) ?? 'null'
}

function invalidRegistration(detail: string): HermesError {
  return new HermesError('plugins/invalid-registration', detail)
}
