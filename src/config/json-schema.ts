/**
 * The configuration as JSON Schema, for editors that complete and check config.yaml. Loaded by the command line only.
 */
import { z } from 'zod'
import type { ConfigShape } from './section.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

/** JSON Schema (draft 2020-12) of what may be written into config.yaml; unknown keys are allowed, as they are when loading. */
export function configJsonSchema(shapes: ConfigShape): JsonSchema {
  const schema = z.toJSONSchema(z.object({ ...shapes }), {
    target: 'draft-2020-12',
    io: 'input',
    // A value made by code (a preprocess step) has no schema; anything may stand there.
    unrepresentable: 'any',
  })
  return {
    ...schema,
    title: 'hermes-gateway configuration',
    description: 'config.yaml of the home directory (HERMES_HOME).',
  }
}
