/**
 * The tools a model may call: found in a folder, checked, described, and looked up by name.
 */

import type { z } from 'zod'
import type { Logger } from '../../lib/log.ts'
import type { ToolSchema } from '../models/provider.ts'
import { bindTool, type ParsedToolCall, type RegisteredTool } from './bind-tool.ts'
import type { BuiltInToolDeps } from './deps.ts'
import { discoverTools } from './discover-tools.ts'
import type { ToolDefinition } from './tool.ts'

export interface ToolRegistryOptions {
  /** The folder whose files export tools. */
  readonly directory?: URL
  /** Tools given directly, for example by tests. */
  readonly definitions?: readonly ToolDefinition[]
  readonly deps: BuiltInToolDeps
  /** `agent.disabled_toolsets`. */
  readonly disabledToolsets?: readonly string[]
  readonly log: Logger
}

type ToolCallParseResult =
  | { readonly ok: true; readonly call: ParsedToolCall }
  /** `error` tells the model what was expected and what was found. */
  | { readonly ok: false; readonly error: string }

/** The tools once they are loaded. Later registrations show here too. */
export interface LoadedTools {
  /** Sorted by name: the same tools give the same bytes, so that prompt caches hold. */
  schemas(): readonly ToolSchema[]
  resolve(name: string): RegisteredTool | undefined
  /** `args` is the JSON text of the model, or an object that something has rewritten. Never throws. */
  parse(name: string, args: string | Readonly<Record<string, unknown>>): ToolCallParseResult
}

export interface ToolRegistry {
  /** Loads the tools when first called; afterwards the same toolbox. Rejects when the folder cannot be read. */
  load(): Promise<LoadedTools>
  /**
   * Adds a tool, now or before loading. A name that is taken is refused (throws) unless `override` is set; the function
   * returned takes the tool away again and brings back what it had replaced. It may be called twice.
   */
  register<Schema extends z.ZodType>(
    definition: ToolDefinition<Schema>,
    options?: { override?: boolean },
  ): Promise<() => void>
}

export function createToolRegistry(options: ToolRegistryOptions): ToolRegistry {
  const { deps, log } = options
  const disabled = new Set(options.disabledToolsets ?? [])
  /** The last one of each list is in force. */
  const stacks = new Map<string, readonly RegistryEntry[]>()
  let sorted: readonly ToolSchema[] | undefined
  let loading: Promise<LoadedTools> | undefined

  const current = (name: string) => stacks.get(name)?.at(-1)?.tool

  const updateStack = (name: string, edit: (stack: readonly RegistryEntry[]) => readonly RegistryEntry[]) => {
    sorted = undefined
    const stack = edit(stacks.get(name) ?? [])
    if (stack.length === 0) stacks.delete(name)
    else stacks.set(name, stack)
  }

  const isWanted = async (tool: RegisteredTool): Promise<boolean> => {
    if (disabled.has(tool.toolset)) return false
    try {
      return await tool.isAvailable()
    } catch (error) {
      log.error({ tool: tool.name, err: error }, 'the check of a tool failed; it is left out')
      return false
    }
  }

  const toolbox: LoadedTools = {
    schemas() {
      sorted ??= [...stacks.keys()].sort().flatMap((name) => current(name)?.schema ?? [])
      return sorted
    },
    resolve: current,
    parse(name, args) {
      const tool = current(name)
      if (tool === undefined) {
        const names = toolbox.schemas().map((schema) => schema.name)
        return { ok: false, error: `There is no tool ${JSON.stringify(name)}. There are: ${names.join(', ')}.` }
      }
      const parsed = tool.parse(args)
      if (parsed.ok) for (const warning of parsed.call.warnings) log.warn({ tool: name }, warning)
      return parsed
    },
  }

  const bindOrSkip = (definition: ToolDefinition): RegisteredTool | undefined => {
    try {
      return bindTool(definition)
    } catch (error) {
      log.error({ tool: definition.name, err: error }, 'a tool cannot be described to the model; it is left out')
      return undefined
    }
  }

  const load = async (): Promise<LoadedTools> => {
    const found = options.directory === undefined ? [] : await discoverTools(options.directory, deps, log)
    for (const definition of [...found, ...(options.definitions ?? [])]) {
      const tool = bindOrSkip(definition)
      if (tool !== undefined && (await isWanted(tool)))
        updateStack(tool.name, (stack) => insertBuiltIn(tool, stack, log))
    }
    return toolbox
  }

  return {
    load() {
      loading ??= load()
      return loading
    },
    async register(definition, { override = false } = {}) {
      const tool = bindTool(definition)
      if (!override && current(tool.name) !== undefined) {
        throw new Error(`the tool ${tool.name} exists already; set override to replace it`)
      }
      if (!(await isWanted(tool))) return () => undefined
      const entry: RegistryEntry = { tool, override }
      updateStack(tool.name, (stack) => [...stack, entry])
      return () => updateStack(tool.name, (stack) => stack.filter((other) => other !== entry))
    },
  }
}

interface RegistryEntry {
  readonly tool: RegisteredTool
  readonly override: boolean
}

/** A tool of the folder lies below those that may replace it, and above those that came first but may not. */
function insertBuiltIn(tool: RegisteredTool, stack: readonly RegistryEntry[], log: Logger): readonly RegistryEntry[] {
  const hidden = stack.filter((entry) => !entry.override)
  if (hidden.length > 0) log.warn({ tool: tool.name }, 'a registered tool is hidden by the built-in one of its name')
  return [...hidden, { tool, override: false }, ...stack.filter((entry) => entry.override)]
}
