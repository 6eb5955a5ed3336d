/**
 * The requests that `ctx.register_*` in Python sends.
 */
import { z } from 'zod'

/** The keyword arguments of each callback, by its role; null for all of them. */
const callbackPartsSchema = z.record(z.string(), z.array(z.string()).nullable())
/** `late`: the request was sent after `register` had returned. */
const commonFields = { key: z.string(), name: z.string(), parts: callbackPartsSchema, late: z.boolean() }
const optionalTextSchema = z.string().nullish()
const durationMsSchema = z.number().nonnegative()

export const registrationSpecSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('hook'), ...commonFields }),
  z.object({
    kind: z.literal('middleware'),
    ...commonFields,
    called: z.string(),
    answers: z.enum(['unchanged', 'replaced']).nullish(),
  }),
  z.object({
    kind: z.literal('tool'),
    ...commonFields,
    toolset: optionalTextSchema,
    schema: z.record(z.string(), z.unknown()).nullish(),
    requires_env: z.array(z.string()),
    description: optionalTextSchema,
    override: z.boolean(),
  }),
  z.object({
    kind: z.literal('command'),
    ...commonFields,
    description: optionalTextSchema,
    args_hint: optionalTextSchema,
  }),
  z.object({
    kind: z.literal('daemon'),
    ...commonFields,
    shutdown_ms: durationMsSchema,
    task: z.object({ name: z.string(), interval_ms: z.number().positive(), at_start: z.boolean() }).nullable(),
  }),
  z.object({ kind: z.literal('section'), ...commonFields, text: optionalTextSchema, max_chars: z.number().positive() }),
  z.object({ kind: z.literal('memory'), ...commonFields, methods: z.array(z.string()) }),
  z.object({ kind: z.literal('skill'), ...commonFields, path: z.string(), description: optionalTextSchema }),
  z.object({ kind: z.literal('unload'), ...commonFields }),
])

export type RegistrationSpec = z.output<typeof registrationSpecSchema>
export type SpecOf<Kind extends RegistrationSpec['kind']> = Extract<RegistrationSpec, { kind: Kind }>
