/**
 * The shapes of `/api/models`.
 */
import { z } from 'zod'

export const offersResponse = z.object({
  current: z.object({ provider: z.string(), model: z.string() }).describe('`demo` is the offline demonstration.'),
  providers: z.array(
    z.object({
      name: z.string(),
      label: z.string(),
      is_ready: z.boolean().describe('It has a key, or needs none.'),
      is_local: z.boolean().describe('It runs on this machine.'),
    }),
  ),
})

const connection = {
  provider: z.string().min(1).max(200).optional().describe('A name of `GET /api/models`.'),
  key: z
    .string()
    .regex(/^[\x21-\x7e]{8,20000}$/, 'a key is one line without spaces')
    .optional()
    .describe('A key that is not stored yet.'),
  base_url: z.string().min(1).max(2_000).optional().describe('In place of `provider`: the address of another server.'),
}
/** A variable would be replaced in config.yaml. */
const model = z
  .string()
  .max(500)
  .regex(/^(?!.*\$\{)[^\p{Cc}]+$/u, 'a model is one line without variables')

export const listBody = z.strictObject(connection)
export const listResponse = z.object({ models: z.array(z.string()) })
export const connectBody = z.strictObject({ ...connection, model })
export const triedResponse = z.object({ answer: z.string() })
export const connectedResponse = z.object({ provider: z.string(), model: z.string() })
