/**
 * The shapes of `/api/settings`.
 */
import { z } from 'zod'

const problems = z.array(
  z.object({
    file: z.string(),
    line: z.int().optional(),
    column: z.int().optional(),
    path: z.string(),
    message: z.string(),
  }),
)
const revision = z.string().min(1).max(64).describe('Identifies the content of config.yaml.')
const paths = z.array(z.string())

export const settingsResponse = z.object({
  revision,
  file: z.string(),
  values: z.array(
    z.object({
      path: z.array(z.string()),
      value: z.unknown().describe('As it is written in the file, else what is in effect. Null for a secret.'),
      is_secret: z.boolean().describe('It is or has a secret: it can be replaced and is never shown.'),
      source: z.enum(['default', 'file', 'variable']),
      origin: z.string().describe('`config.yaml:3`, or `OPENAI_API_KEY in .env:2`.'),
      needs_restart: z.boolean(),
    }),
  ),
  variables: z
    .array(z.object({ name: z.string(), is_set: z.boolean(), origin: z.string().nullable() }))
    .describe('Their values are never shown.'),
  problems,
  notices: z.array(z.string()),
  pending_restart: paths,
})

export const schemaResponse = z.looseObject({ properties: z.record(z.string(), z.unknown()) })

const changes = z
  .array(
    z.strictObject({
      path: z.tuple([z.string().min(1).max(200)], z.string().min(1).max(200)),
      value: z.unknown().optional().describe('Without it, the key is removed and the default counts.'),
    }),
  )
  .min(1)
  .max(200)

export const previewBody = z.strictObject({ changes })
export const saveBody = z.strictObject({ revision, changes })

const consequences = {
  revision,
  changed: paths.describe('The values that are others.'),
  restart: paths.describe('What applies after a restart; the rest applies at once.'),
  overruled: z
    .array(z.object({ path: z.string(), variable: z.string() }))
    .describe('Variables that decide in place of the file.'),
}
export const previewResponse = z.object({ ...consequences, diff: z.string(), problems })
export const savedResponse = z.object(consequences)

export const variableBody = z.strictObject({
  name: z.string().regex(/^[A-Za-z_]\w{0,127}$/, 'a name has letters, digits and _'),
  value: z
    .string()
    .max(20_000)
    .regex(/^[^\p{Cc}]+$/u, 'a value is one line')
    .nullable()
    .describe('Null removes it.'),
})
export const variableResponse = z.object({
  is_effective: z.boolean().describe('False when a variable of the process decides.'),
})
