/**
 * The tools that a model may call: loads the built-in ones, binds each to its schema, and finds them by name.
 */
import type { z } from 'zod'
import { HermesError, messageOf } from '../../lib/errors.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { Logger } from '../../lib/log.ts'
import type { ToolMode } from '../../message/transcript.ts'
import type { ToolSchema } from '../models/provider.ts'
import {
  type ArgumentsErrorCode,
  decodeArguments,
  type ParsedArguments,
  parseArguments,
  toJsonSchema,
} from '../support/parse-arguments.ts'
import { storedCharsOf, summarizeResult, truncateMiddle } from '../support/result-json.ts'
import { builtInTools, loadBuiltInTools, type ToolServices } from './built-in-tools.ts'
import type { ApprovalNeed, ToolContext, ToolDefinition, ToolFacts } from './tool.ts'

export interface ToolRegistryOptions {
  /** For the built-in tools. Absent: there are none. */
  readonly services?: ToolServices | undefined
  /** Additional tools. */
  readonly definitions?: readonly ToolDefinition[] | undefined
  /** Whether the configuration takes a tool away. Absent: it takes none. */
  isDisabled?(tool: ToolFacts): boolean
  readonly log: Logger
}

type ToolCallParseResult =
  | { readonly ok: true; readonly call: ParsedToolCall }
  /** `error` tells the model which arguments were expected. */
  | { readonly ok: false; readonly code: 'unknown_tool' | ArgumentsErrorCode; readonly error: string }

/** The loaded tools, including later registrations. */
export interface LoadedTools {
  /** Sorted by name: equal tools give equal bytes, so that prompt caches stay valid. */
  schemas(): readonly ToolSchema[]
  resolve(name: string): RegisteredTool | undefined
  /** `args` is the JSON text of the model, or an object that a plugin has rewritten. Never throws. */
  parse(name: string, args: string | Readonly<Record<string, unknown>>): ToolCallParseResult
}

export interface ToolRegistry {
  /** Loads the tools on the first call. Later calls return the same object. */
  load(): Promise<LoadedTools>
  /**
   * Adds a tool, before or after loading. Throws `plugins/tool-taken` when the name exists, unless `override` is set. The returned function
   * removes the tool and restores the one that it replaced; it may be called twice.
   */
  register<Schema extends z.ZodType>(
    definition: ToolDefinition<Schema>,
    options?: { override?: boolean },
  ): Promise<() => void>
}

export function createToolRegistry(options: ToolRegistryOptions): ToolRegistry {
  const { log } = options
  /** Tools by name; the last one of each stack is active. */
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

  const isEnabled = async (tool: RegisteredTool): Promise<boolean> => {
    if (options.isDisabled?.(tool.facts) === true) return false
    try {
      return await tool.isAvailable()
    } catch (error) {
      log.error(
        { event: 'tool.check_failed', tool: tool.name, err: error },
        'availability check of a tool failed; skipping it',
      )
      return false
    }
  }

  const loaded: LoadedTools = {
    schemas() {
      sorted ??= [...stacks.keys()].sort().flatMap((name) => current(name)?.schema ?? [])
      return sorted
    },
    resolve: current,
    parse(name, args) {
      const tool = current(name)
      if (tool === undefined) {
        const names = loaded.schemas().map((schema) => schema.name)
        const error = `There is no tool ${JSON.stringify(name)}. There are: ${names.join(', ')}.`
        return { ok: false, code: 'unknown_tool', error }
      }
      const parsed = tool.parse(args)
      if (parsed.ok)
        for (const warning of parsed.call.warnings) log.warn({ event: 'tool.argument_ignored', tool: name }, warning)
      return parsed
    },
  }

  const bindOrSkip = (definition: ToolDefinition): RegisteredTool | undefined => {
    try {
      return bindTool(definition)
    } catch (error) {
      log.error(
        { event: 'tool.schema_invalid', tool: definition.name, err: error },
        'tool has no valid schema; skipping it',
      )
      return undefined
    }
  }

  const load = async (): Promise<LoadedTools> => {
    const builtIn = options.services === undefined ? [] : await loadBuiltInTools(options.services, log)
    for (const definition of [...builtIn, ...(options.definitions ?? [])]) {
      const tool = bindOrSkip(definition)
      if (tool !== undefined && (await isEnabled(tool)))
        updateStack(tool.name, (stack) => insertBuiltIn(tool, stack, log))
    }
    for (const name of [...stacks.keys()])
      if (current(name)?.facts.requires?.some((other) => !stacks.has(other)) === true) updateStack(name, () => [])
    return loaded
  }

  return {
    load() {
      loading ??= load()
      return loading
    },
    async register(definition, { override = false } = {}) {
      // What is known of a built-in tool holds for the one in its place, unless that says otherwise.
      const tool = bindTool(override ? { ...builtInTools.get(definition.name), ...definition } : definition)
      if (!override && current(tool.name) !== undefined) {
        throw new HermesError('plugins/tool-taken', `(${tool.name})`)
      }
      if (!(await isEnabled(tool))) return () => undefined
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

/** Inserts a built-in tool below the tools that may override it, and above earlier registrations that may not. */
function insertBuiltIn(tool: RegisteredTool, stack: readonly RegistryEntry[], log: Logger): readonly RegistryEntry[] {
  const hidden = stack.filter((entry) => !entry.override)
  if (hidden.length > 0)
    log.warn({ event: 'tool.hidden', tool: tool.name }, 'built-in tool hides a registered tool of the same name')
  return [...hidden, { tool, override: false }, ...stack.filter((entry) => entry.override)]
}

/** A tool call with typed arguments, ready to run. */
export interface ParsedToolCall {
  readonly facts: ToolFacts
  /** The arguments as JSON, for plugins; they can be parsed again. */
  readonly jsonArguments: JsonObject
  readonly mode: ToolMode
  /** See `ToolDefinition.label`; '' when the name is enough. */
  readonly label: string
  /** One line for the user about a result of this call. Never throws. */
  summarize(result: string): string
  /** Messages about arguments that were ignored. */
  readonly warnings: readonly string[]
  /** Why a user must allow the call first; absent for tools that never ask. */
  approval?(context: ToolContext): ApprovalNeed | Promise<ApprovalNeed | undefined> | undefined
  /** Truncates a result that is too long (`ToolLimits`). Rejects as the tool does. */
  run(context: ToolContext): Promise<string>
}

export interface RegisteredTool {
  readonly name: string
  readonly facts: ToolFacts
  readonly schema: ToolSchema
  /** Undefined if it depends on the arguments. */
  readonly mode: ToolMode | undefined
  isAvailable(): Promise<boolean>
  /** Never throws. */
  parse(
    args: string | Readonly<Record<string, unknown>>,
  ):
    | { readonly ok: true; readonly call: ParsedToolCall }
    | { readonly ok: false; readonly code: ArgumentsErrorCode; readonly error: string }
}

/** Joins a definition with its schema. Throws when the arguments have no JSON Schema. */
export function bindTool<Schema extends z.ZodType>(definition: ToolDefinition<Schema>): RegisteredTool {
  const { name, description, parameters: type, jsonSchema } = definition
  const parameters = jsonSchema ?? toJsonSchema(type)
  let accepted = definition.acceptsUndescribed === true ? undefined : parameters
  return {
    name,
    facts: definition,
    schema: { name, description, parameters },
    mode: typeof definition.mode === 'function' ? undefined : definition.mode,
    isAvailable: async () => (await definition.check?.()) ?? true,
    parse(input) {
      const decoded = typeof input === 'string' ? decodeArguments(name, input) : ({ ok: true, value: input } as const)
      if (!decoded.ok) return decoded
      try {
        accepted ??= toJsonSchema(type)
        const parsed = parseArguments(name, decoded.value, type, accepted)
        return parsed.ok ? { ok: true, call: bindCall(definition, parsed) } : parsed
      } catch (error) {
        const reason = `The arguments of ${name} could not be validated: ${messageOf(error)}`
        return { ok: false, code: 'invalid_arguments', error: reason }
      }
    },
  }
}

function bindCall<Schema extends z.ZodType>(
  definition: ToolDefinition<Schema>,
  { args, jsonArguments, warnings }: Extract<ParsedArguments<z.output<Schema>>, { ok: true }>,
): ParsedToolCall {
  return {
    facts: definition,
    jsonArguments,
    mode: typeof definition.mode === 'function' ? definition.mode(args) : definition.mode,
    label: definition.label?.(args) ?? '',
    summarize: (result) => summarizeResult(result, (value) => definition.summarize?.(value, args)),
    warnings,
    ...(definition.approval === undefined ? {} : { approval: (context) => definition.approval?.(args, context) }),
    async run(context) {
      return truncateMiddle(await definition.run(args, context), storedCharsOf(context.limits))
    },
  }
}
