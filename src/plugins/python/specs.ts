/**
 * What `ctx.register_*` in Python tells of: one request each.
 */
import { z } from 'zod'

/** By the part a callback plays, the keyword arguments it wants; null for all of them. */
const parts = z.record(z.string(), z.array(z.string()).nullable())
/** `late`: `register` had returned. */
const common = { key: z.string(), name: z.string(), parts, late: z.boolean() }
const text = z.string().nullish()
const ms = z.number().nonnegative()

export const registrationSpec = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('hook'), ...common }),
  z.object({ kind: z.literal('middleware'), ...common, called: z.string() }),
  z.object({
    kind: z.literal('tool'),
    ...common,
    toolset: text,
    schema: z.record(z.string(), z.unknown()).nullish(),
    requires_env: z.array(z.string()),
    description: text,
    override: z.boolean(),
  }),
  z.object({ kind: z.literal('command'), ...common, description: text, args_hint: text }),
  z.object({
    kind: z.literal('daemon'),
    ...common,
    shutdown_ms: ms,
    task: z.object({ name: z.string(), interval_ms: z.number().positive(), at_start: z.boolean() }).nullable(),
  }),
  z.object({ kind: z.literal('section'), ...common, text, max_chars: z.number().positive() }),
  z.object({ kind: z.literal('unload'), ...common }),
])

export type RegistrationSpec = z.output<typeof registrationSpec>
export type SpecOf<Kind extends RegistrationSpec['kind']> = Extract<RegistrationSpec, { kind: Kind }>
