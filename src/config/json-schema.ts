/**
 * Exports the configuration as JSON Schema, for editors that complete and validate config.yaml. Loaded only by commands.
 */
import { z } from 'zod'
import { isSecretName } from './secrets.ts'
import type { ConfigShape } from './section.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

/** JSON Schema (draft 2020-12) of config.yaml. Unknown keys are allowed, as in the loader. */
export function configJsonSchema(shapes: ConfigShape): JsonSchema {
  const schema = z.toJSONSchema(z.object({ ...shapes }), {
    target: 'draft-2020-12',
    io: 'input',
    // A value that code computes (a preprocess step) has no schema, so every value is allowed.
    unrepresentable: 'any',
    override({ jsonSchema: { properties = {} } }) {
      for (const [key, value] of Object.entries(properties))
        if (isSecretName(key) && typeof value === 'object' && value.type === 'string') value.writeOnly = true
    },
  })
  return {
    ...schema,
    title: 'hermes-gateway configuration',
    description: 'config.yaml of the home directory (HERMES_HOME).',
  }
}
