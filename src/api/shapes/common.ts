/**
 * The answers that many routes share.
 */
import { z } from 'zod'

export const okResponse = z.object({ ok: z.boolean() })

export const errorShape = z.object({
  error: z.object({
    code: z.string().nullable().describe('Stable; docs/reference/errors.md lists them.'),
    former_code: z.string().optional(),
    message: z.string(),
    hint: z.string().optional(),
    type: z.string(),
    param: z.string().nullable(),
  }),
})

/** A state of a platform in `/readyz` and in the status. */
export const platformHealth = z.object({
  state: z.string(),
  reason: z.string().optional(),
  receiving: z.boolean().optional().describe('Whether data arrived within the last 90 seconds.'),
})
