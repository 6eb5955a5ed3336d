/**
 * Handles the requests of plugins in Python other than registrations: settings, state, models, tools, messages.
 */
import { z } from 'zod'
import { HermesError } from '../../lib/errors.ts'
import type { PluginContext } from '../contract.ts'

/** Returns undefined for an unknown method. */
export type RequestHandler = (
  method: string,
  args: readonly unknown[],
  signal: AbortSignal,
) => Promise<unknown> | undefined

export function createRequestHandler(context: PluginContext): RequestHandler {
  const { state } = context
  const handlers: Readonly<Record<string, (args: readonly unknown[], signal: AbortSignal) => Promise<unknown>>> = {
    config: async () => context.config.all,
    async hasPlugin(args) {
      const [id] = parseArgs(keyArgsSchema, args)
      return context.hasPlugin(id)
    },
    async 'state.get'(args) {
      const [key] = parseArgs(keyArgsSchema, args)
      const value = await state.get(key)
      return [value !== undefined, value ?? null]
    },
    async 'state.set'(args) {
      const [key, value] = parseArgs(keyValueArgsSchema, args)
      await state.set(key, value)
    },
    async 'state.delete'(args) {
      const [key] = parseArgs(keyArgsSchema, args)
      await state.delete(key)
    },
    'state.keys': () => state.keys(),
    async complete(args, signal) {
      const [prompt, options] = parseArgs(completionArgsSchema, args)
      return await context.llm.complete(prompt, { ...options, signal })
    },
    async inject(args) {
      const [content, role, sessionKey] = parseArgs(messageArgsSchema, args)
      return await context.injectMessage(content, { role, ...(sessionKey !== null && { sessionKey }) })
    },
    async dispatchTool(args) {
      const [name, toolArgs] = parseArgs(toolCallArgsSchema, args)
      return await context.dispatchTool(name, toolArgs)
    },
    async callMcp(args) {
      const [server, tool, toolArgs, timeout] = parseArgs(mcpCallArgsSchema, args)
      return await context.callMcp(server, tool, toolArgs, { timeout })
    },
  }
  return (method, args, signal) => (Object.hasOwn(handlers, method) ? handlers[method]?.(args, signal) : undefined)
}

const fieldsSchema = z.record(z.string(), z.unknown())
const keyArgsSchema = z.tuple([z.string()])
const keyValueArgsSchema = z.tuple([z.string(), z.unknown()])
const completionArgsSchema = z.tuple([
  z.union([z.string(), z.array(fieldsSchema)]),
  z.object({
    system: z.string().optional(),
    model: z.string().optional(),
    maxOutputTokens: z.int().positive().optional(),
  }),
])
const messageArgsSchema = z.tuple([z.string(), z.enum(['user', 'system']), z.string().nullable()])
const mcpCallArgsSchema = z.tuple([z.string(), z.string(), fieldsSchema, z.number()])
const toolCallArgsSchema = z.tuple([z.string(), fieldsSchema])

function parseArgs<Schema extends z.ZodType>(schema: Schema, args: readonly unknown[]): z.output<Schema> {
  const parsed = schema.safeParse(args)
  if (parsed.success) return parsed.data
  throw new HermesError('plugins/bad-request', z.prettifyError(parsed.error))
}
