/**
 * What a plugin in Python asks of the gateway beside registering: its settings, its state, models, tools, messages.
 */
import { z } from 'zod'
import { HermesError } from '../../lib/errors.ts'
import type { LlmOptions, PluginContext } from '../contract.ts'

/** Undefined: it is none of these. */
export type Answer = (method: string, args: readonly unknown[], signal: AbortSignal) => Promise<unknown> | undefined

export function createAnswers(context: PluginContext): Answer {
  const { state } = context
  const answers: Readonly<Record<string, (args: readonly unknown[], signal: AbortSignal) => Promise<unknown>>> = {
    config: async () => context.config.all,
    async hasPlugin(args) {
      const [id] = read(one, args)
      return context.hasPlugin(id)
    },
    async 'state.get'(args) {
      const [key] = read(one, args)
      const value = await state.get(key)
      return [value !== undefined, value ?? null]
    },
    async 'state.set'(args) {
      const [key, value] = read(pair, args)
      await state.set(key, value)
    },
    async 'state.delete'(args) {
      const [key] = read(one, args)
      await state.delete(key)
    },
    'state.keys': () => state.keys(),
    async complete(args, signal) {
      const [prompt, { system, model, maxOutputTokens }] = read(question, args)
      const options: LlmOptions = {
        ...(system === undefined ? {} : { system }),
        ...(model === undefined ? {} : { model }),
        ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        signal,
      }
      return await context.llm.complete(prompt, options)
    },
    async inject(args) {
      const [content, role, sessionKey] = read(message, args)
      return await context.injectMessage(content, { role, ...(sessionKey === null ? {} : { sessionKey }) })
    },
    async dispatchTool(args) {
      const [name, given] = read(toolCall, args)
      return await context.dispatchTool(name, given)
    },
  }
  return (method, args, signal) => (Object.hasOwn(answers, method) ? answers[method]?.(args, signal) : undefined)
}

const fields = z.record(z.string(), z.unknown())
const one = z.tuple([z.string()])
const pair = z.tuple([z.string(), z.unknown()])
const question = z.tuple([
  z.union([z.string(), z.array(fields)]),
  z.object({
    system: z.string().optional(),
    model: z.string().optional(),
    maxOutputTokens: z.int().positive().optional(),
  }),
])
const message = z.tuple([z.string(), z.enum(['user', 'system']), z.string().nullable()])
const toolCall = z.tuple([z.string(), fields])

function read<Schema extends z.ZodType>(schema: Schema, args: readonly unknown[]): z.output<Schema> {
  const parsed = schema.safeParse(args)
  if (parsed.success) return parsed.data
  throw new HermesError('plugins/bad-request', z.prettifyError(parsed.error))
}
